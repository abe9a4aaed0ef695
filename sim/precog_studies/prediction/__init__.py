"""Study: what predictions of a receiver's load are worth in the closed loop."""
