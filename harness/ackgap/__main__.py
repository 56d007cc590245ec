"""`python -m ackgap`."""

import sys

from ackgap.cli import main

if __name__ == "__main__":
    sys.exit(main())
