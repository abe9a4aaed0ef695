"""The register map as data (standard library only): what the bank, the driver and the docs share."""
