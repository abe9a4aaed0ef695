"""``python -m precog_fleet``: the commands of ``precog fleet``, as `trial` starts them."""

import sys

from precog_host.cli import main

main(["fleet", *sys.argv[1:]])
