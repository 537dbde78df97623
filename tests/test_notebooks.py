"""The committed notebooks, without running them; and their exercises, done as the page says."""

import nbformat
import pytest

from helpers import notebooks_run, notebooks_source
from helpers.notebooks import NOTEBOOKS, built_path, languages_of, names, source_path
from tests import notebook_output_rules, notebook_rules
from tests.solved import exercises, not_right, solved

BUILT = [(name, lang) for name in names() for lang in languages_of(source_path(name))]


@pytest.mark.parametrize("name, lang", BUILT)
def test_committed_notebook_follows_the_rules(name, lang):
    path = built_path(name, lang)
    assert path.exists(), f"{path.name} was not built: python -m helpers build {name}"
    notebook = nbformat.read(path, as_version=4)
    faults = notebook_output_rules.in_step(notebook, notebooks_source.read(name, lang))
    faults += notebook_output_rules.metadata(notebook, path) + notebook_output_rules.outputs(notebook)
    faults += notebook_output_rules.figures(notebook) + notebook_output_rules.links(notebook, path.parent)
    faults += notebook_rules.code(notebook) + notebook_rules.text(notebook) + notebook_rules.practice(notebook)
    if lang == "en":
        faults += notebook_rules.anatomy(notebook, int(name[:2]))
    assert faults == []


def test_no_notebook_is_left_without_its_source():
    built = {
        path.relative_to(NOTEBOOKS) for path in NOTEBOOKS.rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts
    }
    assert built <= {built_path(name, lang).relative_to(NOTEBOOKS) for name, lang in BUILT}


@pytest.mark.parametrize("name", names())
def test_solutions_on_the_page_pass_their_checks(name):
    notebook = notebooks_source.read(name, "en")
    if not exercises(notebook):
        return
    done = solved(notebook)
    notebooks_run.run(done, name, "en", NOTEBOOKS)
    assert not_right(done) == []
