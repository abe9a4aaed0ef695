"""The register bank: AXI4-Lite in front, the register map inside."""
