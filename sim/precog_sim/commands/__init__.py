"""What the simulator, the trainer and the gateware add to ``precog`` (entry points precog.cli)."""
