"""Study: the laws of other authors beside ours on one switch, from two flows to 256."""
