"""Mistakes made at random in central blocks, which their tests or proofs must notice."""
