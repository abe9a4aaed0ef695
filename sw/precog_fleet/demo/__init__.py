"""A whole fleet in one process: simulated traffic, real mesh, real releases, measured."""
