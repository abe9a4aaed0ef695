"""What `Device` does in real units: one module for each block of the register map."""
