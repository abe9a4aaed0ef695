"""Golden models of the measuring path: features and base RTT."""
