"""`python -m shinari.cli`, the same as `shinari`."""

import sys

from shinari.cli import main

if __name__ == "__main__":
    sys.exit(main())
