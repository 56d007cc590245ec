"""Import mode importlib puts no test folder on the path, and the notation is shared."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
