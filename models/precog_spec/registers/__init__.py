"""The register map as data (standard library only): one source for bank, driver and docs."""
