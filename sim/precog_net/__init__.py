"""The network simulator as a tool: topologies, workloads, runs of many laws, comparisons.

The event loop itself is `precog_sim.network`.
"""
