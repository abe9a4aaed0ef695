"""Acceptance of the network simulator on a fabric: ns-3's 320-host fat tree, flow by flow.

``python -m precog_sim.fabric`` runs the very flows that the HPCC authors' ns-3 simulator was given,
under each of its laws, in ns3 timing and with its hash of equal paths, and holds the slowdowns'
95th percentile against ns-3's.
"""
