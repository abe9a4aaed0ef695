"""Study: what congestion scores are worth to laws with PSCHED, against each law alone."""
