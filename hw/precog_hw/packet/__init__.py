"""The packet path: parse, insert and extract the score, notification point, ICRC check."""
