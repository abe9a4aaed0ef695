"""``emu:``: a device of golden models; one module for each block of its register map."""
