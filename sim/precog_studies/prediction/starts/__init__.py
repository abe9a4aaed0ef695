"""Predictors of N at the start of a flow, from what its NIC has seen of the destination."""
