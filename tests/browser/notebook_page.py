"""One notebook open in JupyterLab, driven from Python."""

import json
import time

NOTEBOOK = "const app = window.jupyterapp, panel = app.shell.currentWidget, notebook = panel.content;"
KERNEL = f"{NOTEBOOK} const kernel = panel.sessionContext.session.kernel;"
PYTHON = (
    "async (code) => {"
    + KERNEL
    + """
  const future = kernel.requestExecute({ code, store_history: false });
  let said = "";
  future.onIOPub = ({ header, content }) => {
    if (header.msg_type === "stream") said += content.text;
    if (header.msg_type === "error") said = "error: " + content.evalue;
  };
  await future.done;
  return said;
}"""
)
SPLASH = "Failed to execute 'removeChild' on 'Node'"
RUNNING = """
  function holdsCode(cell) { return cell.type === "code" && cell.sharedModel.source.trim(); }
  function hasRun(cell) { return cell.executionCount && cell.executionState === "idle"; }
"""


class NotebookPage:
    """`page` is Playwright's; `problems` collects page errors and requests to other machines."""

    def __init__(self, page, lab):
        self.page, self.lab, self.problems = page, lab, []
        page.set_default_timeout(60_000)
        page.on("pageerror", self._note_error)
        page.route("**/*", self._only_here)

    def _note_error(self, error):
        """Every error but one of JupyterLab 4.6: its splash screen removes itself twice where the start is quick."""
        stack = error.stack or str(error)
        if not (SPLASH in stack and stack.count("\n") == 1 and "/static/lab/jlab_core." in stack):
            self.problems.append(f"page error: {stack}")

    def _only_here(self, route):
        if route.request.url.startswith((self.lab.base, "data:", "blob:")):
            return route.continue_()
        self.problems.append(f"outside request: {route.request.url}")
        return route.abort()

    def open(self, name, theme):
        """Show the notebook `name` and wait until its kernel is ready."""
        self.page.goto(f"{self.lab.base}/lab/tree/{name}?reset&token={self.lab.token}")
        self.page.wait_for_selector(".jp-Notebook .jp-Cell")
        self.page.wait_for_function(
            f"() => {{ {NOTEBOOK} const kernel = panel?.sessionContext?.session?.kernel;"
            "return kernel?.connectionStatus === 'connected' && kernel.status === 'idle'; }"
        )
        self.use_theme(theme)
        self.page.evaluate("window.jupyterapp.shell.collapseLeft()")  # leaves the width to the notebook
        return self

    def run_all(self, seconds=120):
        """Run every cell, wait for the last, and fail on a cell that failed."""
        # Not awaited: a dialog would keep it from ever coming back.
        self.page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
        self._wait_until_run("notebook.model.cells", seconds)

    def run_cell(self, index, seconds=120):
        """Run one cell and wait for it."""
        self.page.evaluate(
            f"(i) => {{ {NOTEBOOK} notebook.activeCellIndex = i; notebook.deselectAll();"
            "app.commands.execute('notebook:run-cell'); }",
            index,
        )
        self._wait_until_run(f"[notebook.model.cells.get({index})]", seconds)

    def _wait_until_run(self, cells, seconds):
        run = f"() => {{ {NOTEBOOK} return [...{cells}].filter(holdsCode).every(hasRun); {RUNNING} }}"
        self.page.wait_for_function(run, timeout=1000 * seconds)
        errors = ".flatMap((cell) => cell.outputs.toJSON()).filter((one) => one.output_type === 'error')"
        failed = self.page.evaluate(
            f"() => {{ {NOTEBOOK} return [...{cells}].filter(holdsCode){errors}.map((one) => one.evalue); {RUNNING} }}"
        )
        assert not failed, failed

    def python(self, expression):
        """The value of a Python expression in the kernel, through JSON."""
        said = self.page.evaluate(PYTHON, f"import json; print(json.dumps({expression}))")
        return json.loads(said)

    def settles(self, expression, value, seconds=10):
        """Whether `expression` becomes `value`: a widget holds a message back until the last one is read."""
        end = time.monotonic() + seconds
        while (now := self.python(expression)) != value and time.monotonic() < end:
            time.sleep(0.05)
        assert now == value, f"{expression} is {now}"
        return True

    def start_python(self, code):
        """Run code in the kernel without waiting for it."""
        start = "kernel.requestExecute({ code, store_history: false });"
        self.page.evaluate(f"(code) => {{ {KERNEL} {start} }}", code)

    def stop_kernel(self):
        """Shut the kernel down, for good."""
        self.page.evaluate(f"async () => {{ {NOTEBOOK} await panel.sessionContext.shutdown(); }}")

    def save(self):
        """Save the notebook to its file."""
        self.page.evaluate(f"async () => {{ {NOTEBOOK} await panel.context.save(); }}")

    def use_theme(self, name):
        """Change to "light" or "dark"."""
        theme = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}[name]
        change = "window.jupyterapp.commands.execute('apputils:change-theme', { theme })"
        self.page.evaluate(f"(theme) => {change}", theme)
        wanted = {"light": "true", "dark": "false"}[name]
        self.page.wait_for_selector(f"body[data-jp-theme-light='{wanted}']", state="attached")

    def count_cells(self):
        """How many cells the notebook has."""
        return self.page.evaluate(f"() => {{ {NOTEBOOK} return notebook.model.cells.length; }}")
