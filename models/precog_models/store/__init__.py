"""Shared packet memory: a queue of packets for every queue pair, in linked cells."""
