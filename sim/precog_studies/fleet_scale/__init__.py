"""What a fleet of any size costs: the record logic of `precog_fleet` on a simulated fabric."""
