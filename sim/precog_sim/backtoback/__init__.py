"""Two NICs back to back: RC endpoints behind them, a wire between them that does all it may."""
