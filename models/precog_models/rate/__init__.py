"""Golden models of the rate laws in integers; `reference` holds them in floating point."""
