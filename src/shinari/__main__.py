"""`python -m shinari`: the command line."""

import sys

from shinari.cli import main

if __name__ == "__main__":
    sys.exit(main())
