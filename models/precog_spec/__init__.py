"""What gateware, golden models and host agree on, declared once: standard library only."""
