"""Replay: a capture through the packet path, insertion and extraction, with RTTs on the way."""
