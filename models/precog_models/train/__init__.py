"""Training of the RTT predictor, its baselines, and the table of errors. Only this needs torch."""
