"""Rate laws: from an RTT, measured or predicted, to a rate and a window."""
