"""Studies: experiments whose figures the documents state."""

import sys
from importlib import import_module

if sys.argv[:1] == ["-m"]:  # python -m precog_studies.sharing, which Python is about to find
    import_module("precog_host.extras").explain_missing()
