"""The law engine's contract: instructions, events, images and tables."""
