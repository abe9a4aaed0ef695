"""What congestion scores are worth in the closed loop: laws with PSCHED against each law alone."""
