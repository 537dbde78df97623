"""`python start.py` sets everything up and opens the first notebook; `python start.py test` runs the tests.

Standard library only, no syntax newer than Python 3.6: an old Python then gets a sentence, no traceback.
"""

import difflib
import hashlib
import importlib.util
import os
import platform
import shutil
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
NOTEBOOK = "notebooks/00_journey.ipynb"
TORCH = "torch==2.13.0"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
# The environment, the models and pip's temporary files; the tests' Triton comes with torch where there is a GPU.
DISK_GB = {"cpu": 2.5, "test": 3.5, "gpu": 8.0}
EXTRAS = {"": "tokenizers", "test": "tokenizers,test"}  # what a reader needs, what the tests need
MODELS = {"": ["smollm2-135m"], "test": ["smollm2-135m", "gemma3-270m"]}
GO_ON = "the lines above say why. The same command goes on from here."

HELP = f"""\
python start.py [options of JupyterLab]      set up what is missing, then open {NOTEBOOK} in JupyterLab
python start.py test [options of pytest]     set up what is missing, then run all tests
python start.py --no-lab                     set up what is missing, open nothing
Everything goes into the folder .venv beside this file; the model goes into your cache folder."""
WORDS = ("test", "--no-lab", "--help", "-h")
NEXT = "\nAll is set up. Next: `python start.py` opens the first notebook, `python start.py test` runs the tests."


def python_problem(version, is_64bit, system, machine):
    """What is wrong with this Python, in one sentence, or None."""
    if not (3, 11) <= tuple(version[:2]) <= (3, 14):
        found = "{}.{}".format(*version[:2])
        return f"This is Python {found}, but 3.11 to 3.14 is needed: get one from python.org and use that."
    if not is_64bit:
        return "There is no PyTorch for this 32-bit Python: get the 64-bit build from python.org."
    if system == "Darwin" and machine == "x86_64":
        return (
            "PyTorch has no builds for Intel Macs, nor for an Intel build of Python on a newer Mac: "
            "get Python for Apple silicon from python.org, or open the notebooks on Binder or Colab."
        )
    return None


def venv_problem(missing, version):
    """What to install where Python lacks one of the modules that make an environment, or None."""
    if not missing:
        return None
    package = "python{}.{}-venv".format(*version[:2])
    return (
        "This Python lacks its module {}, so no environment can be made: on Debian or Ubuntu run "
        "'sudo apt install {}', elsewhere get Python from python.org."
    ).format(" and ".join(missing), package)


def words_problem(arguments):
    """What is wrong with the command line, in one sentence, or None; options of JupyterLab begin with a dash."""
    first = arguments[0] if arguments else "test"
    likeness = 0.8 if first.startswith("-") else 0.6  # JupyterLab's --no-browser must not be taken for --no-lab
    close = difflib.get_close_matches(first, WORDS, n=1, cutoff=likeness)
    if first == "--no-lab" and len(arguments) > 1:
        return f"--no-lab stands alone: it opens nothing that {arguments[1]!r} could change."
    if first in WORDS or (first.startswith("-") and not close):
        return None
    hint = f" Did you mean {close[0]}?" if close else ""
    return f"start.py does not know {first!r}.{hint} Its words are:\n{HELP}"


def disk_problem(free_bytes, kind):
    """What to do where the disk is too full for the set-up, or None; `kind` is a key of DISK_GB."""
    need = DISK_GB[kind]
    if free_bytes >= need * 1e9:
        return None
    free = free_bytes / 1e9
    return f"The set-up needs {need:.1f} GB of disk, but {free:.1f} GB are free: make room and run it again."


def torch_attempts(system, gpu):
    """The ways to install torch, best first: lists of arguments for `pip install`."""
    if system != "Linux" or gpu:
        return [[TORCH]]
    cpu = TORCH + "+cpu"  # on Linux the plain name brings 3 GB of CUDA libraries
    return [[cpu], [cpu, "--extra-index-url", CPU_INDEX, "--timeout", "15", "--retries", "1"], [TORCH]]


def has_nvidia_gpu():
    """Whether the driver lists a GPU."""
    if shutil.which("nvidia-smi") is None:
        return False
    answer = subprocess.run(["nvidia-smi", "-L"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return answer.returncode == 0 and b"GPU" in answer.stdout


def fingerprint(root):
    """A hash of all that decides what is installed, and where: where it differs, pip must run again."""
    parts = [(root / name).read_bytes() for name in ("pyproject.toml", "constraints.txt")]
    return hashlib.sha256(b"\0".join(parts + [TORCH.encode(), os.fsencode(str(root))])).hexdigest()


def is_installed(venv, extra, mark):
    """Whether an earlier run installed `extra` ("" or "test") to its end, from the same files."""
    stamp = venv / f"installed-{extra or 'base'}"
    return stamp.exists() and stamp.read_text(encoding="utf-8") == mark


def write_stamps(venv, extra, mark):
    """Note that `extra`, and what every extra includes, is installed."""
    for name in {"base", extra or "base"}:
        (venv / f"installed-{name}").write_text(mark, encoding="utf-8")


def run(*arguments, **options):
    """Run the environment's Python in the repository's root; returns its exit status."""
    return subprocess.run([str(PYTHON)] + list(arguments), cwd=str(ROOT), **options).returncode


def pip_install(arguments, **options):
    """`pip install` in the environment; returns its exit status."""
    # PIP_USER: set in some people's configuration, and refused by pip inside an environment
    environment = dict(os.environ, PIP_USER="0", PIP_DISABLE_PIP_VERSION_CHECK="1")
    return run("-m", "pip", "install", "-c", "constraints.txt", *arguments, env=environment, **options)


def stop(sentence):
    """End with one sentence and exit status 1."""
    raise SystemExit(f"\n{sentence}")


def stop_if(problem):
    """End with the sentence `problem`, where there is one."""
    if problem:
        stop(problem)


def check_venv():
    """Stop where this Python cannot make an environment."""
    missing = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
    stop_if(venv_problem(missing, sys.version_info))


def check_disk(kind):
    """Stop where the disk is too full."""
    stop_if(disk_problem(shutil.disk_usage(str(ROOT)).free, kind))


def venv_works():
    """Whether .venv has a fitting Python and pip, as it has not after an interruption."""
    works = "import sys, pip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))"
    return PYTHON.exists() and run("-c", works, stderr=subprocess.DEVNULL) == 0


def make_venv():
    """Make .venv, or make it anew where it does not work."""
    if venv_works():
        return
    check_venv()
    print("Making the environment .venv ...", flush=True)
    if subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)]).returncode:
        stop("The environment .venv could not be made: the lines above say why (is this folder writable?).")


def install_torch(gpu):
    """Install torch, as the CPU build where there is no GPU to use."""
    attempts = torch_attempts(platform.system(), gpu)
    for arguments in attempts[:-1]:
        print(f"Looking for PyTorch's CPU build: {' '.join(arguments)}", flush=True)
        if pip_install(arguments, stderr=subprocess.DEVNULL) == 0:
            return
    if len(attempts) > 1:
        check_disk("gpu")
        print("Not found: taking PyTorch's CUDA build, 3 GB to download and 7 GB on disk.", flush=True)
    if pip_install(attempts[-1]):
        stop(f"pip could not install PyTorch: {GO_ON}")


def install(extra):
    """Install torch, then this package with `extra`."""
    gpu = platform.system() == "Linux" and has_nvidia_gpu()
    kind = "gpu" if gpu else extra or "cpu"
    check_disk(kind)
    print(f"Setting up: 3 to 15 minutes, mostly downloads, and {DISK_GB[kind]} GB of disk.", flush=True)
    make_venv()
    install_torch(gpu)
    if pip_install(["-e", f".[{EXTRAS[extra]}]"]):
        stop(f"pip could not install the packages: {GO_ON}")


def set_up(extra):
    """Install what is missing and fetch the model."""
    mark = fingerprint(ROOT)
    if not (is_installed(VENV, extra, mark) and venv_works()):
        install(extra)
        write_stamps(VENV, extra, mark)
    for model in MODELS[extra]:
        if run("-m", "helpers", "fetch", model):
            stop(f"The model {model} could not be fetched: {GO_ON}")


def open_lab(options):
    """Open JupyterLab on the first notebook; returns when it is closed."""
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl+C is JupyterLab's to handle: it asks first
    print("\nOpening JupyterLab; Ctrl+C in this window ends it.", flush=True)
    quiet = ["--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    return run("-m", "jupyterlab", NOTEBOOK, *quiet, *options)


def run_tests(options):
    """Check the style and run every test and notebook; returns 0 only where all of it passed."""
    steps = [
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        ["pytest", "--nbval", "--nbval-current-env", "--nbval-cell-timeout=300"]
        + ["--nbval-sanitize-with", "tests/nbval.cfg", *options],
    ]
    return max([run("-m", *step) for step in steps], key=abs)  # a crash has a negative status


def main(arguments):
    """Carry out the command line; returns the exit status."""
    if arguments[:1] in (["-h"], ["--help"]):
        print(HELP)
        return 0
    stop_if(words_problem(arguments))
    stop_if(python_problem(sys.version_info, sys.maxsize > 2**32, platform.system(), platform.machine()))
    is_test = arguments[:1] == ["test"]
    set_up("test" if is_test else "")
    if is_test:
        return run_tests(arguments[1:])
    if arguments == ["--no-lab"]:
        print(NEXT)
        return 0
    return open_lab(arguments)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        stop("Stopped. The same command goes on from here.")
