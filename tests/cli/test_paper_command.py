"""`equieffort paper` finds out first whether it can draw."""

from __future__ import annotations

import importlib.util

import pytest


def test_without_matplotlib_nothing_is_begun(call, tmp_path, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "matplotlib" else found(name))
    monkeypatch.setattr("equieffort.paper.reproduce", lambda *_, **__: pytest.fail("work was begun"))
    done = call("paper", "--out", tmp_path / "figures")
    assert done.exit_code == 2
    assert "need the package matplotlib" in done.stderr
    assert "Code: OPTIONAL_DEPENDENCY" in done.stderr
