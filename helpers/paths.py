"""Where the data lies: inside the package where pip has installed it, beside it in a checkout."""

from pathlib import Path

_HERE = Path(__file__).parent
DATA = next(folder for folder in (_HERE / "data", _HERE.parent / "data") if folder.is_dir())
