"""Adapters between a block and its registers, one module for each block of the register map."""
