"""The law compiler: from a file's syntax tree to golden model, real numbers, widths, microcode.

::

    file ─► load ─► lower (inline) ─► blocks ─► intervals ─► optimise ─► emit ─► Program
              └► golden: the functions themselves            └► reals: the same steps over reals
"""
