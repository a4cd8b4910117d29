"""``python -m halftrek`` is the command line."""

import sys

from halftrek.cli import main

if __name__ == "__main__":
    sys.exit(main())
