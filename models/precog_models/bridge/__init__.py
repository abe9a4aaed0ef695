"""Golden models of the bridges between a serial line or UDP and the registers."""
