"""The law engine: cores that run programs of rate laws, `precog_models.rate.engine` in gateware."""
