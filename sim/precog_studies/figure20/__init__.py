"""Study: figure 20 of the thesis, ordinary flows beside incasts on a fat tree of 320 hosts."""
