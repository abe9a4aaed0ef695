"""Study: the laws of other authors and ours, from two flows on a switch to a fat tree."""
