"""Study: lockstep, the law of cards, against HPCC, Swift and θ-PowerTCP in the same runs."""
