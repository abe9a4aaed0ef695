"""From RTT samples to features and base RTT."""
