"""A cell that is run again lets go of the explorers it showed before, and of no other: in a real kernel."""

import sys

import pytest
from jupyter_client.manager import start_new_kernel

START = """
import ctypes, gc, sys, psutil, torch
from ipywidgets.widgets.widget import _instances
from tests.test_widgets_attention import random_patterns
from helpers.widgets.attention import AttentionExplorer
from helpers.widgets.base import Explorer

def made(n=5, n_layers=2):
    return AttentionExplorer(random_patterns([str(i) for i in range(n)], n_layers))

def alive():
    return sum(isinstance(one, Explorer) for one in _instances.values())

def held():
    gc.collect()
    return sum(issubclass(type(one), Explorer) for one in gc.get_objects())

def megabytes():
    gc.collect()
    if sys.platform == "linux":  # what is freed goes back to the system, else it counts or not as it happens
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    return psutil.Process().memory_info().rss / 1e6
"""


class Kernel:
    """A kernel whose cells are run as a notebook runs them: each execution names its cell."""

    def __init__(self):
        self.manager, self.client = start_new_kernel(kernel_name="python3")

    def run(self, code, cell=None):
        """Run `code` as the cell `cell`; the messages that came back. AssertionError when it fails."""
        content = dict(code=code, silent=False, store_history=True, user_expressions={}, allow_stdin=False)
        message = self.client.session.msg("execute_request", content, metadata={"cellId": cell} if cell else {})
        self.client.shell_channel.send(message)
        heard = []
        while not heard or heard[-1]["content"].get("execution_state") != "idle":
            if (one := self.client.get_iopub_msg(timeout=120))["parent_header"].get("msg_id") == message["header"][
                "msg_id"
            ]:
                heard.append(one)
        return heard

    def value(self, expression):
        """A number that the kernel works out."""
        heard = self.run(f"print(float({expression}))")
        assert not [one["content"]["evalue"] for one in heard if one["msg_type"] == "error"]
        return float("".join(one["content"]["text"] for one in heard if one["msg_type"] == "stream"))

    def stop(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def started():
    kernel = Kernel()
    yield kernel
    kernel.stop()


@pytest.fixture
def kernel(started):
    """The kernel with no explorer alive."""
    started.run(START)
    started.run("from helpers.widgets import shown; Explorer.close_all(); shown._shown.clear()\n%reset -f out")
    assert started.value("alive()") == 0
    return started


def test_ten_runs_of_a_cell_leave_one_explorer_alive_and_one_in_memory(kernel):
    everything = kernel.value("len(_instances)")
    for _ in range(10):
        kernel.run("explorer = made()\nexplorer", "a")
    assert kernel.value("alive()") == 1 and kernel.value("explorer.comm is not None") == 1
    assert kernel.value("held()") == 1
    assert kernel.value("len(_instances)") == everything + 2  # it and its layout
    assert kernel.value("explorer.row") == 4


def test_the_memory_of_ten_runs_is_that_of_one(kernel):
    """30 blocks of 4 heads over 200 tokens: 19 MB in the kernel."""
    for _ in range(3):
        kernel.run("explorer = made(200, 30)\nexplorer", "a")
    before = kernel.value("megabytes()")
    for _ in range(10):
        kernel.run("explorer = made(200, 30)\nexplorer", "a")
    assert kernel.value("megabytes()") - before < 2 * 19.2


def test_two_explorers_made_in_one_cell_both_live(kernel):
    for _ in range(2):
        kernel.run("first, second = made(), made()\ndisplay(first)\nsecond", "a")
    assert kernel.value("alive()") == 2
    assert kernel.value("first.comm is not None and second.comm is not None") == 1


def test_an_explorer_that_a_later_cell_shows_too_lives_until_that_cell_lets_go(kernel):
    kernel.run("explorer = made()\nexplorer", "a")
    kernel.run("explorer", "b")
    kernel.run("explorer = made()\nexplorer", "a")
    assert kernel.value("alive()") == 2
    kernel.run("explorer", "b")
    assert kernel.value("alive()") == 1


def test_a_cell_that_shows_what_another_made_keeps_it_when_run_again(kernel):
    kernel.run("one, other = made(), made()", "a")
    for _ in range(2):
        kernel.run("display(one)\nother", "b")
    assert kernel.value("alive()") == 2


def test_a_cell_changed_to_show_something_else_lets_go(kernel):
    kernel.run("explorer = made()\nexplorer", "a")
    kernel.run("1 + 1", "a")
    assert kernel.value("alive()") == 0
    kernel.run("explorer = made()\nexplorer", "a")
    kernel.run("1 / 0", "a")
    assert kernel.value("alive()") == 0


def test_an_explorer_that_was_let_go_wakes_when_it_is_shown_again(kernel):
    kernel.run("kept = made()\nkept.row = 2\nkept", "a")
    kernel.run("made()", "a")
    assert kernel.value("kept.comm is None") == 1
    heard = kernel.run("kept", "b")
    (opened,) = [one for one in heard if one["msg_type"] == "comm_open" and "packed" in str(one["content"]["data"])]
    assert opened["content"]["data"]["state"]["row"] == 2
    (shown,) = [one["content"]["data"] for one in heard if one["msg_type"] == "execute_result"]
    view = shown["application/vnd.jupyter.widget-view+json"]
    assert view["model_id"] == opened["content"]["comm_id"]
    assert kernel.value("alive()") == 2 and kernel.value("kept.row") == 2


def test_an_explorer_in_a_box_lives(kernel):
    kernel.run("explorer = made()\nexplorer", "a")
    kernel.run("from ipywidgets import HBox\nbox = HBox([explorer])\nbox", "b")
    kernel.run("explorer = made()\nexplorer", "a")
    assert kernel.value("alive()") == 2 and kernel.value("box.children[0].comm is not None")
    kernel.run("box.close()")


def test_the_front_end_hears_that_the_old_one_is_closed(kernel):
    first = kernel.run("explorer = made()\nexplorer", "a")
    (opened,) = [m for m in first if m["msg_type"] == "comm_open" and "packed" in str(m["content"]["data"])]
    again = kernel.run("explorer = made()\nexplorer", "a")
    assert opened["content"]["comm_id"] in [m["content"]["comm_id"] for m in again if m["msg_type"] == "comm_close"]


def test_without_cell_ids_nothing_is_closed(kernel):
    for _ in range(3):
        kernel.run("explorer = made()\nexplorer")
    assert kernel.value("alive()") == 3


def test_the_reader_s_own_names_are_left_alone(kernel):
    kernel.run("_mine = made()\n_mine", "a")
    kernel.run("made()", "a")
    assert kernel.value("_mine.n_tokens") == 5 and kernel.value("alive()") == 1


def test_outside_a_kernel_nothing_happens():
    from helpers.widgets import shown
    from tests.test_widgets_attention import AttentionExplorer, random_patterns

    explorer = AttentionExplorer(random_patterns(list("abc")))
    explorer._repr_mimebundle_()
    assert explorer.comm is not None and not shown._shown and not shown._fresh
    assert shown.running_cell() is None and "IPython.core.interactiveshell" in sys.modules
