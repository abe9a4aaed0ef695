"""Prediction: LSTM engine, model sets and output heads."""
