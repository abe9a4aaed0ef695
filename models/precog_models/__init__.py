"""Golden models of Precog: exact integers, one module per gateware block."""
