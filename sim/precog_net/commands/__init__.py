"""Commands of the network simulator, one file each."""
