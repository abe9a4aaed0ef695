"""Golden models of the packet path: parse, CPS insert and extract, CNP, ICRC, QP lookup."""
