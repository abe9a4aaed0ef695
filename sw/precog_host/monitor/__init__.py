"""The live view of a device: what its queue pairs do, again and again."""
