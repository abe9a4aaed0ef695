"""Host side of Precog: driver, command line, model loading."""
