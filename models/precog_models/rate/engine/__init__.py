"""The law engine: instructions, assembler, and the interpreter, its gateware's golden model."""
