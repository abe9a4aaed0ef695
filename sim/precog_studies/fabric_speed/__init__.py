"""How fast and how large the network simulator is: against hosts, senders, ns-3; collectives."""
