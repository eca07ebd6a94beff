"""`python -m naivete` is the command line."""

import sys

from naivete.cli import main

sys.exit(main())
