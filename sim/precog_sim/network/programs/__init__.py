"""Programs of the laws with their arithmetic in `precog_models.rate.reference`: what calls what.

Their tables are those laws': one row of state, one vector of parameters, rates in bit/s.
"""
