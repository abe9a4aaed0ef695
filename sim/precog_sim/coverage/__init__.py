"""Which lines of the NIC's Verilog the tests run (``make coverage``), counted by Verilator."""
