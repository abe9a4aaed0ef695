"""How the parts of a NIC are joined, a file for each: `precog_hw.nic` is the whole."""
