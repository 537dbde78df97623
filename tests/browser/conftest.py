"""Fixtures of the browser tests: JupyterLab in headless Chromium, skipped where there is none."""

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tests.browser.lab import ARTIFACTS, Lab, write_notebook
from tests.browser.notebook_page import NotebookPage
from tests.needs import needs


@pytest.fixture(scope="session")
def browser():
    """Headless Chromium from the system."""
    path = needs("chromium", "google-chrome", "google-chrome-stable", "chromium-browser")
    with sync_playwright() as playwright:
        # The sandbox cannot start as root in a container; the tests open only this machine's pages.
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def lab(tmp_path_factory, browser):
    """A JupyterLab server; it needs `browser` so that it is not started where the tests are skipped."""
    lab = Lab(tmp_path_factory.mktemp("lab"))
    try:
        lab.wait()
        yield lab
    finally:
        lab.stop()


@pytest.fixture(scope="module")
def open_notebook(lab, browser):
    """open_notebook(path or list of code cells, theme="light", width=1000) -> NotebookPage.

    The notebook is copied beside the server first. Afterwards kernels are ended; page errors and requests to
    other machines fail the test.
    """
    opened = []

    def open_one(what, theme="light", width=1000):
        path = lab.folder / f"notebook{len(list(lab.folder.glob('*.ipynb')))}.ipynb"
        shutil.copy(what, path) if isinstance(what, Path) else write_notebook(path, what)
        notebook = NotebookPage(browser.new_page(viewport={"width": width, "height": 900}), lab)
        notebook.file = path
        opened.append(notebook)
        return notebook.open(path.name, theme)

    yield open_one
    lab.end_sessions()
    for notebook in opened:
        notebook.page.close()
    assert not [problem for notebook in opened for problem in notebook.problems]


@pytest.fixture
def screenshot():
    """screenshot(element, name): a picture in artifacts/, for people to look at."""
    ARTIFACTS.mkdir(exist_ok=True)
    return lambda element, name: element.screenshot(path=ARTIFACTS / f"{name}.png", animations="disabled")
