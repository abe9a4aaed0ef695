"""Commands of the host package, one file per noun."""
