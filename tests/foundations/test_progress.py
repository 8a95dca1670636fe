"""Progress: a bar in notebooks, lines or nothing elsewhere; nothing of notebooks is imported by us."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from equieffort.errors import ParameterError
from equieffort.foundations.progress import Lines, NotebookBar, watcher


class Shown:
    """Stands in for IPython's display: what is shown, and in which places."""

    def __init__(self) -> None:
        self.places: list[list[str]] = []

    def __call__(self, text, handle=None):
        if handle is None:
            self.places.append([])
            handle = len(self.places) - 1
        self.places[handle].append(text)
        return handle


@pytest.fixture
def bar():
    shown, now = Shown(), [0.0]
    return shown, now, NotebookBar(shown, lambda: now[0])


def test_a_bar_stands_in_one_place_and_stays_when_done(bar):
    shown, now, tell = bar
    for second, done in enumerate((0, 400, 1000)):
        now[0] = float(second)
        tell("solving", done, 1000, "3 <b> so far")
    ((first, middle, last),) = shown.places
    assert 'value="0" max="1000"' in first
    assert 'value="400" max="1000"' in middle
    assert "400 of 1,000, 400 a second, 2 s left, 3 &lt;b&gt; so far" in middle
    assert "1,000 of 1,000" in last


def test_a_bar_is_not_drawn_for_every_call(bar):
    shown, now, tell = bar
    for k in range(1000):
        now[0] = k / 1000
        tell("solving", k, 1000)
    assert len(shown.places[0]) <= 7


def test_what_is_over_at_once_leaves_nothing(bar):
    shown, now, tell = bar
    tell("solving", 0, 10)
    now[0] = 0.1
    tell("solving", 10, 10)
    assert shown.places[0][-1] == ""
    tell("solving", 0, 10)
    assert len(shown.places) == 2, "the same stage again has a bar of its own"


def test_who_is_told(monkeypatch):
    def mine(stage, done, total, note=""):
        return None

    assert watcher(None) is None
    assert watcher(False) is None
    assert isinstance(watcher(True), Lines)
    assert watcher(mine) is mine
    with pytest.raises(ParameterError, match="progress"):
        watcher("yes")


def test_in_a_notebook_a_bar_is_the_default(monkeypatch):
    shown = []
    handle = SimpleNamespace(update=shown.append)
    display = ModuleType("IPython.display")
    display.HTML = lambda text: text
    display.display = lambda text, display_id: shown.append(text) or handle
    notebook = ModuleType("IPython")
    notebook.get_ipython = lambda: SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    assert isinstance(watcher(None), NotebookBar)
    assert isinstance(watcher(True), NotebookBar)
    assert watcher(False) is None
    watcher(None)("solving", 0, 10)
    assert "<progress" in shown[0]
    # A terminal's IPython has no kernel.
    notebook.get_ipython = lambda: SimpleNamespace()
    assert watcher(None) is None
