"""Study: how fairly each law shares one bottleneck, with a device in the loop that decides."""
