"""The NIC's Verilog as a shared library: build, drive, compare with the golden model."""
