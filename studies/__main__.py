"""`python -m studies NAME` runs a published experiment again; `python3 dev.py reproduce NAME` does the same."""

import sys

from studies.command import main

if __name__ == "__main__":
    sys.exit(main())
