"""Stream plumbing: a register slice and a small queue."""
