"""Forecasts of send queues: scenarios, training, and how good the forecasts are."""
