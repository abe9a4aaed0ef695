"""A small processor that does the core's arithmetic step by step, for devices with few LUTs."""
