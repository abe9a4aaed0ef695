"""Gigabit Ethernet MAC: GMII at 125 MHz to packet streams of the core's clock."""
