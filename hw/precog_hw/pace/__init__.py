"""The pacer: which queue pair may send how much, and when."""
