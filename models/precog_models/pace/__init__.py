"""Golden models of the pacer: which queue pair may send how much, and when."""
