"""Study: figure 20 of the thesis, ordinary flows with incasts on a fat tree of 320 hosts."""
