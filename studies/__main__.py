"""`python -m studies NAME` runs one of the published experiments again."""

import sys

from naivete.cli import main
from studies.command import COMMAND

if __name__ == "__main__":
    sys.exit(main(["reproduce", *sys.argv[1:]], commands=[COMMAND]))
