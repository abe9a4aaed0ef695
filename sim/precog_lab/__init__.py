"""The live lab: Linux guests with soft-RoCE whose frames pass through Precog devices."""

import sys
from importlib import import_module

if sys.argv[:1] == ["-m"]:  # python -m precog_lab.picture, which Python is about to find
    import_module("precog_host.extras").explain_missing()
