"""Forecasts of queue length as distributions over bins: their use, their scores, what they beat."""
