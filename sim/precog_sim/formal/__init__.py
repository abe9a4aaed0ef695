"""Proofs of the control logic, with mutants that must fail (yosys-smtbmc and z3 from PyPI)."""
