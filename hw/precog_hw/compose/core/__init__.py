"""How the parts of the core are joined, a file for each idea: `precog_hw.core` is the whole."""
