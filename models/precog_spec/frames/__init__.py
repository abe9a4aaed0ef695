"""What stands in a packet, as data (standard library only): gateware and golden models read it."""
