"""The small texts of data/texts, line by line: English and Chinese say the same, code and emoji do not."""

from helpers.errors import ReaderError
from helpers.paths import DATA

FOLDER = DATA / "texts"
N_TRAINING = 36  # lines of a story from which a vocabulary is trained; the rest stays unseen


def read_lines(kind: str) -> list[str]:
    """The lines of "english", "chinese", "code" or "emoji"; line i of the first two says the same."""
    path = FOLDER / f"{kind}.txt"
    if not path.is_file():
        raise ReaderError(f"The text {path.name} is missing: it belongs into the folder data/texts.")
    return path.read_text(encoding="utf-8").splitlines()


def split_corpus() -> tuple[list[str], list[str]]:
    """(lines to train on, lines held out), both English and Chinese."""
    english, chinese = read_lines("english"), read_lines("chinese")
    return english[:N_TRAINING] + chinese[:N_TRAINING], english[N_TRAINING:] + chinese[N_TRAINING:]
