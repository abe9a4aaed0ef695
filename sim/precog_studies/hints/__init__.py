"""Study: lockstep with receivers that say N, against lockstep alone in all of its cases."""
