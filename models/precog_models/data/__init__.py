"""RTT sequences from simulations or captures, and the pairs that a predictor learns from."""
