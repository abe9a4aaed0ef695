"""Golden models of the prediction path."""
