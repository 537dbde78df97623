"""The command line `python -m helpers fetch | doctor | build | bench`: each command has its own module."""

import argparse
import sys
from importlib import import_module

from helpers.errors import ReaderError, missing_package

COMMANDS = {
    "fetch": "fetch a bundled model's weights, once (default: smollm2-135m)",
    "doctor": "say what this machine has, and what is missing",
    "build": "build notebooks from notebooks/source",
    "bench": "check and time the model on a device",
}
MODULES = {"doctor": "helpers.doctor", "build": "helpers.notebooks", "bench": "helpers.bench"}


def fetch_model(arguments: list[str]) -> int:
    """Fetch the named model and print where it lies; returns the exit status."""
    from helpers.fetch import BUNDLES, fetch

    parser = argparse.ArgumentParser(prog="python -m helpers fetch", description=COMMANDS["fetch"])
    parser.add_argument("name", nargs="?", default="smollm2-135m", choices=tuple(BUNDLES))
    print(f"Model: {fetch(parser.parse_args(arguments).name)}")
    return 0


def run(command: str, arguments: list[str]) -> int:
    """Hand the rest of the command line to the command; a reader's mistake becomes one sentence, status 1."""
    try:
        if command == "fetch":
            return fetch_model(arguments)
        return import_module(MODULES[command]).main(arguments) or 0
    except ReaderError as error:
        print(error, file=sys.stderr)
    except ModuleNotFoundError as error:
        if not (sentence := missing_package(error)):
            raise
        print(sentence, file=sys.stderr)
    except KeyboardInterrupt:
        print("\nStopped. The same command goes on from here.", file=sys.stderr)
    return 1


def main(arguments: list[str]) -> int:
    """Carry out one command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m helpers", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for name, what in COMMANDS.items():
        commands.add_parser(name, help=what, add_help=False)  # each command explains itself
    chosen, rest = parser.parse_known_args(arguments)
    return run(chosen.command, rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
