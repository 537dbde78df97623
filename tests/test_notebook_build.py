"""The build: what it reads from a source, what it writes, what it refuses."""

import base64
import builtins
import difflib
import importlib.util
import os
import re
import subprocess
import sys
import zlib
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_output

import helpers
from helpers import notebooks, notebooks_pictures, notebooks_run
from helpers.errors import ReaderError
from helpers.notebooks_source import ABSENT_ON_COLAB, Published, colab_line, path_strip, read
from tests.needs import needs
from tests.notebook_output_rules import in_step, metadata, outputs
from tests.solved import not_right, solved

HERE = Path(__file__).parent
ON_COLAB = {
    "torch",
    "transformers",
    "tokenizers",
    "huggingface_hub",
    "accelerate",
    "safetensors",
    "numpy",
    "plotly",
}
ON_COLAB |= {
    "ipywidgets",
    "anywidget",
    "matplotlib",
    "psutil",
    "tqdm",
    "filelock",
    "packaging",
    "traitlets",
    "regex",
}
ADDRESS = Published("ada/journey", "v1.0")
PLOTLY, WIDGET = "application/vnd.plotly.v1+json", "application/vnd.jupyter.widget-view+json"


def folder_with(path, *sources):
    """A notebooks folder with these sources: (name, text)."""
    (path / "source").mkdir(parents=True)
    for name, text in sources:
        (path / "source" / f"{name}.py").write_text(text, encoding="utf-8")
    return path


SAMPLE = (HERE / "data" / "90_sample.py").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    """The folder in which the sample was built, in both languages."""
    needs("chromium", "chromium-browser", "google-chrome", "chrome")
    folder = folder_with(tmp_path_factory.mktemp("notebooks"), ("90_sample", SAMPLE))
    assert notebooks.build("90", folder) == [folder / "90_sample.ipynb", folder / "zh" / "90_sample.ipynb"]
    return folder


def built(folder, lang="en"):
    return nbformat.read(notebooks.built_path("90_sample", lang, folder), as_version=4)


def printed(notebook):
    return "".join(out.text for cell in notebook.cells if "outputs" in cell for out in cell.outputs if "text" in out)


def test_build_keeps_what_a_visitor_sees(sample):
    notebook, path = built(sample), sample / "90_sample.ipynb"
    assert in_step(notebook, read("90_sample", "en", sample)) == []
    assert metadata(notebook, path) + outputs(notebook) == []
    table, figure = (out for cell in notebook.cells if "outputs" in cell for out in cell.outputs if "data" in out)
    assert set(table.data) == {"text/html", "text/plain"}
    assert set(figure.data) == {PLOTLY, "image/png"}
    assert figure.metadata["image/png"]["alt"] == "Two bars, the second twice the first."
    assert base64.b64decode(figure.data["image/png"]).startswith(b"\x89PNG")
    assert path.read_text(encoding="utf-8").endswith("}\n")


def test_each_language_has_its_own_prose_and_run(sample):
    assert [cell.source for cell in built(sample).cells if cell.cell_type == "code"] == [
        cell.source for cell in built(sample, "zh").cells if cell.cell_type == "code"
    ]
    assert "France is en" in printed(built(sample)) and "France is zh" in printed(built(sample, "zh"))
    assert "表与图" in (sample / "zh" / "90_sample.ipynb").read_text(encoding="utf-8")


def test_a_rebuild_is_identical_and_a_changed_word_changes_a_handful_of_lines(sample, tmp_path):
    folder = folder_with(tmp_path / "again", ("90_sample", SAMPLE.replace("## 2 · 表与图", "## 2 · 一张表")))
    notebooks.build("sample", folder)
    assert (folder / "90_sample.ipynb").read_bytes() == (sample / "90_sample.ipynb").read_bytes()
    chinese = [(at / "zh" / "90_sample.ipynb").read_text(encoding="utf-8").splitlines() for at in (sample, folder)]
    changes = [line for line in difflib.ndiff(*chinese) if line[0] in "+-"]
    assert 0 < len(changes) <= 6


def test_solutions_replace_the_stubs_and_pass(sample):
    done = solved(read("90_sample", "en", sample))
    notebooks_run.run(done, "90_sample", "en", sample)
    assert not_right(done) == []
    assert not_right(built(sample)) == ["Not done yet: double(x)."]


@pytest.mark.parametrize(
    "code, sentence",
    [
        ("int('one')", "ValueError: invalid literal for int() with base 10: 'one'. Nothing was written."),
        ("import sys; sys.stderr.write('careful\\n')", "wrote to stderr: careful. Nothing was written."),
        ("import time; time.sleep(60)", "it took longer than 2 s. Nothing was written."),
        ("import os; os._exit(1)", "the kernel died"),
    ],
)
def test_failing_cell_is_named_and_nothing_is_written(code, sentence, tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks_run, "CELL_TIMEOUT", 2)
    folder = folder_with(tmp_path / "n", ("07_bad", f'# %% [markdown] tags=["en"]\n# # 7\n\n# %%\n1\n\n# %%\n{code}\n'))
    with pytest.raises(ReaderError) as error:
        notebooks.build("7", folder)
    assert str(error.value).startswith(f"07_bad: code cell 3 ({code[:60]}) ")
    assert sentence in str(error.value)
    assert list(folder.rglob("*.ipynb")) == []


def test_too_large_a_notebook_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks_run, "execute", lambda *args: None)
    monkeypatch.setattr(notebooks, "MAX_BYTES", 500)
    folder = folder_with(tmp_path / "n", ("07_big", '# %% [markdown] tags=["en"]\n# ' + "word " * 100))
    with pytest.raises(ReaderError, match="07_big has .* MB, the limit is"):
        notebooks.build("7", folder)
    assert list(folder.rglob("*.ipynb")) == []


@pytest.mark.parametrize("target", ["3", "03", "attention", "03_attention"])
def test_a_notebook_is_found_by_number_and_by_name(target, tmp_path):
    folder = folder_with(tmp_path / "n", ("03_attention", ""), ("13_performance_map", ""))
    assert notebooks.find(target, folder) == "03_attention"


@pytest.mark.parametrize("target", ["4", "atten", "", "１x"])
def test_unknown_notebook_is_one_sentence(target, tmp_path):
    folder = folder_with(tmp_path / "n", ("03_attention", ""))
    with pytest.raises(ReaderError, match="no notebook .*: choose one of 03_attention"):
        notebooks.find(target, folder)


def test_command_builds_the_named_ones_or_all(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(notebooks, "build", lambda target: asked.append(target) or [Path("x.ipynb")])
    assert notebooks.main(["03", "journey"]) == 0
    assert asked == ["03", "journey"]
    assert notebooks.main([]) == 0
    assert asked[2:] == notebooks.names()
    assert "x.ipynb: built in" in capsys.readouterr().out


TITLE = '# %% [markdown] tags=["en"]\n# # 7 · Why?\n'
EXERCISE, CHECK = '# %% tags=["exercise"]\n1\n', '# %% tags=["check"]\n1\n'
SLIPS = [  # what follows the title, and what is said
    ("# %% [markdown]\n# a", "line 3 (# %% [markdown]): the cell needs the tag of its language, such as"),
    ('# %% [markdown] tags=["de"]', """line 3 (# %% [markdown] tags=["de"]): 'de' is no tag of a prose cell"""),
    ('# %% tags=["en"]\n1', "'en' is no tag of a code cell; there are exercise, check, "),
    ('# %% tags=["exercize"]\n1', "'exercize' is no tag of a code cell"),
    ('# %% tags=["check", "check"]\n1', 'line 3 (# %% tags=["check", "check"]): a tag stands there twice'),
    (EXERCISE + EXERCISE + CHECK, 'line 5 (# %% tags=["exercise"]): cells tagged exercise and check come in pairs'),
    (EXERCISE, "cells tagged exercise and check come in pairs, in this order"),
    (CHECK, "cells tagged exercise and check come in pairs, in this order"),
    ('# %% tags="check"\n1', "a cell's header is # %%, # %% tags=["),
    ("# %% tags=['check']\n1", "a cell's header is # %%, # %% tags=["),
    ('# %% [md] tags=["en"]\n# a', "a cell's header is"),
    ("# %% [raw]\n# a", "a cell's header is"),
    ("# %%\nx = '{{path}}'", "line 4 (x = '{{path}}'): this is a field of prose, and the cell is code"),
    ("# %%\n# see {{nb:05}}", "line 4 (# see {{nb:05}}): this is a field of prose"),
    ("# {{nb:99}}", "the en cell '# 7 · Why?': {{nb:99}} cannot be filled in here; there are {{path}}, {{nb:00}}"),
    ("# {{nb:5}}", "{{nb:5}} cannot be filled in here"),
    ("# {{ path }}", "{{ path }} cannot be filled in here"),
    ('# %% [markdown] tags=["en"]\n# ## Set up\n# {{path}}', "the en cell '## Set up': {{path}} cannot be filled in"),
]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        *((TITLE + slip, said) for slip, said in SLIPS),
        ("# %% [markdown]\n# # 7", "line 1 (# %% [markdown]): the cell needs the tag of its language"),
        ("import os\n" + TITLE, "line 1 (import os): the first cell needs a header"),
        ("# %%\n1", "07_x has no prose, so there is no language to build"),
        ("", "07_x has no prose"),
    ],
    ids=range(len(SLIPS) + 4),
)
def test_a_source_with_a_slip_is_named_with_its_line(source, said, tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks_run, "execute", lambda *args: pytest.fail("must not be executed"))
    folder = folder_with(tmp_path / "n", ("07_x", source))
    with pytest.raises(ReaderError, match="^07_x") as error:
        notebooks.build("7", folder)
    assert said in str(error.value)
    assert list(folder.rglob("*.ipynb")) == []


def test_a_source_in_another_encoding(tmp_path):
    folder = folder_with(tmp_path / "n", ("07_x", ""))
    (folder / "source" / "07_x.py").write_bytes(TITLE.encode("utf-16"))
    with pytest.raises(ReaderError, match="07_x.py is not saved as UTF-8"):
        notebooks.build("7", folder)


def test_two_braces_in_code_are_no_field(tmp_path):
    prose = "```python\n# f'{{x}}'\n# ```\n# and `{{y}}`"
    folder = folder_with(tmp_path / "n", ("07_x", TITLE + "# " + prose))
    assert "f'{{x}}'" in read("07_x", "en", folder).cells[1].source


@pytest.mark.parametrize("module", ["jupytext", "nbclient", "nbformat"])
def test_without_the_extra_test_the_build_says_what_to_install(module, tmp_path, monkeypatch):
    for name in ("helpers.notebooks_run", "helpers.notebooks_source"):
        monkeypatch.delitem(sys.modules, name)
        monkeypatch.delattr(helpers, name.partition(".")[2])
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ReaderError, match=f"package {module} is missing: run `python -m pip install -e '..test.'`"):
        notebooks.build("7", folder_with(tmp_path / "n", ("07_x", TITLE)))


def test_without_a_kernel_the_build_says_what_to_install(tmp_path, monkeypatch):
    def no_kernel(*args, **options):
        raise notebooks_run.NoSuchKernel("python3")

    monkeypatch.setattr(notebooks_run.NotebookClient, "execute", no_kernel)
    with pytest.raises(ReaderError, match="no Jupyter kernel .* pip install ipykernel"):
        notebooks.build("7", folder_with(tmp_path / "n", ("07_x", TITLE)))


def test_a_misspelt_name_is_said_before_the_first_is_built(monkeypatch):
    monkeypatch.setattr(notebooks, "build", lambda target: pytest.fail("must not be built"))
    with pytest.raises(ReaderError, match="no notebook 'attenion'"):
        notebooks.main(["03", "attenion"])


def test_path_strip_marks_this_stage_and_links_only_what_exists(tmp_path):
    english, chinese = ('# %% [markdown] tags=["en"]\n# a\n', '# %% [markdown] tags=["zh"]\n# a\n')
    folder = folder_with(tmp_path / "n", ("03_attention", english + chinese), ("06_sampling", english))
    strip = path_strip("03_attention", "en", folder).split(" · ")
    assert strip[:4] == ["journey", "tokenize", "embed", "**▸ attention**"]
    assert strip[6] == "[sampling](06_sampling.ipynb)"
    assert path_strip("06_sampling", "zh", folder).split(" · ")[3] == "[注意力](03_attention.ipynb)"
    assert "[采样](../06_sampling.ipynb)" in path_strip("03_attention", "zh", folder)


def test_prose_names_another_notebook_and_links_it_once_it_exists(tmp_path):
    prose = '# %% [markdown] tags=["en"]\n# {{nb:03}}, {{nb:05}}\n# %% [markdown] tags=["zh"]\n# {{nb:03}}\n'
    name, folder = "03_attention", folder_with(tmp_path / "n", ("03_attention", prose))
    assert read(name, "en", folder).cells[1].source == "[notebook 3](03_attention.ipynb), notebook 5"
    assert read(name, "zh", folder).cells[1].source == "[第 3 篇](03_attention.ipynb)"


def test_stages_are_the_fourteen_of_the_journey():
    assert [stage.number for stage in notebooks.stages("en")] == list(range(14))
    assert len({stage.label for stage in notebooks.stages("zh")}) == 14


class Colab:
    """What `get_ipython()` is on Colab, as far as the first cell can tell."""

    def __init__(self):
        self.asked = []

    def __str__(self):
        return "<google.colab._shell.Shell object at 0x7f>"

    def run_line_magic(self, name, line):
        self.asked.append((name, line))


def run_first_cell(address, shell, monkeypatch, installed=()):
    monkeypatch.setattr(builtins, "get_ipython", lambda: shell, raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name in installed or None)
    exec(colab_line(address), {})


def test_colab_cell_installs_only_what_colab_lacks(monkeypatch):
    shell = Colab()
    run_first_cell(ADDRESS, shell, monkeypatch)
    ((magic, line),) = shell.asked
    package = "'token-journey @ git+https://github.com/ada/journey@v1.0'"
    assert (magic, line) == ("pip", f"install -q --no-deps {package} {' '.join(ABSENT_ON_COLAB)}")
    assert not ON_COLAB & set(ABSENT_ON_COLAB)
    assert "\n" not in colab_line(ADDRESS)


def test_colab_cell_does_nothing_elsewhere_or_a_second_time(monkeypatch, capsys):
    for address in (ADDRESS, Published("", "main")):
        run_first_cell(address, object(), monkeypatch)
        shell = Colab()
        run_first_cell(address, shell, monkeypatch, installed=("helpers",))
        assert (shell.asked, capsys.readouterr().out) == ([], "")


def test_colab_cell_says_what_to_do_while_nothing_is_published(monkeypatch, capsys):
    shell = Colab()
    run_first_cell(Published("", "main"), shell, monkeypatch)
    assert shell.asked == []
    assert "upload or clone" in (said := capsys.readouterr().out) and "pip install --no-deps -e ." in said


def test_badges_stand_under_the_title_once_there_is_an_address(sample):
    with_address, without = (read("90_sample", "zh", sample, at) for at in (ADDRESS, Published("", "main")))
    title, badges = with_address.cells[1].source.splitlines()[0:3:2]
    assert title.startswith("# 90 · ")
    assert "colab.research.google.com/github/ada/journey/blob/v1.0/notebooks/zh/90_sample.ipynb" in badges
    assert "mybinder.org/v2/gh/ada/journey/v1.0?labpath=notebooks%2Fzh%2F90_sample.ipynb" in badges
    assert "badge" not in "".join(cell.source for cell in without.cells)


def test_a_missing_browser_or_kaleido_is_one_sentence(monkeypatch):
    figure = {"data": [], "layout": {}}
    monkeypatch.setenv("BROWSER_PATH", "/nowhere/chrome")
    with pytest.raises(ReaderError, match="kaleido_get_chrome, or set BROWSER_PATH"):
        notebooks_pictures.render([figure])
    monkeypatch.setitem(sys.modules, "kaleido", None)
    with pytest.raises(ReaderError, match="pip install kaleido"):
        notebooks_pictures.render([figure])


def png(pixels, *notes):
    header = (4).to_bytes(4) + len(pixels).to_bytes(4) + b"\x08\x00\x00\x00\x00"
    parts = [(b"IHDR", header), *notes, (b"IDAT", zlib.compress(pixels, 0)), (b"IEND", b"")]
    return notebooks_pictures.SIGNATURE + b"".join(notebooks_pictures._chunk(*part) for part in parts)


def test_pictures_lose_their_time_stamps_and_no_pixel():
    pixels = b"\x00abcd" * 100
    stamped = png(pixels, (b"tIME", b"\x07\xea\x0b\x1e\x0c\x00\x00"), (b"tEXt", b"Software\x00Chrome 156"))
    small = notebooks_pictures.compact(stamped)
    assert small == notebooks_pictures.compact(png(pixels)) and len(small) < len(stamped)
    assert b"Chrome" not in small and b"tIME" not in small
    start = small.index(b"IDAT") + 4
    assert zlib.decompressobj().decompress(small[start:]) == pixels


def test_too_large_a_picture_is_refused():
    output = new_output("display_data", {"image/png": base64.b64encode(png(os.urandom(70_000))).decode()})
    with pytest.raises(ReaderError, match="07_x: code cell 2 shows a picture of 70 kB, and the limit is 60 kB"):
        notebooks_pictures.add_pictures([("07_x: code cell 2", output)])


def nbval(folder):
    """What strict nbval with the repository's settings says about each cell: {number: PASSED or FAILED}."""
    settings = [
        "--nbval-current-env",
        "--nbval-cell-timeout=60",
        "--nbval-sanitize-with",
        str(HERE / "nbval.cfg"),
    ]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--nbval",
        *settings,
        "-rA",
        "-p",
        "no:cacheprovider",
        "--rootdir=.",
        ".",
    ]
    environment = {**os.environ, "TOKEN_JOURNEY_LANG": "en"}
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=120)
    verdicts = re.findall(r"^(PASSED|FAILED) .*::Cell (\d+)", result.stdout, re.MULTILINE)
    return {int(number): verdict for verdict, number in verdicts}


def test_strict_nbval_passes_a_built_notebook_and_sees_every_changed_number(sample, tmp_path):
    text = (sample / "90_sample.ipynb").read_text(encoding="utf-8")
    altered = {  # what another machine may show in the same cells, then what it must not
        "difference 6e-08, in 12.3 ms": "difference 1.2e-07, in 9 ms",
        '"Rome Madrid': '"Madrid Rome',
        '"tokens: 5': '"tokens: 6',
        '0.772</td></tr></table>"\n': '0.773</td></tr></table>"\n',
        "          0.1,\n": "          0.3,\n",
    }
    for before, after in altered.items():
        head, found, tail = text.partition(before)
        assert found, before
        text = head + after + tail
    (tmp_path / "90_sample.ipynb").write_text(text, encoding="utf-8")
    verdicts = nbval(tmp_path)
    assert len(verdicts) == 10
    assert [number for number, verdict in sorted(verdicts.items()) if verdict == "FAILED"] == [3, 4, 5]
