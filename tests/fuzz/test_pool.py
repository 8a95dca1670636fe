"""The process that may die: that it does is seen, whichever way."""

from __future__ import annotations

import pytest
from tests.fuzz import pool


@pytest.fixture
def server(monkeypatch):
    found = pool.Server()
    yield found
    found.stop()


def test_what_comes_of_a_file(server, tmp_path):
    path = tmp_path / "rule.txt"
    path.write_text("income < 3")
    assert server.ask("rule", path) == "fine"
    path.write_text("income <")
    assert server.ask("rule", path) == "RULE_SYNTAX"
    assert server.ask("no such kind", path).startswith("KeyError")


def test_a_crash_and_a_hang_are_seen(server, tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "PATIENCE", 3.0)
    assert server.ask("die", tmp_path) == "crash -11"
    assert server.ask("sleep", tmp_path) == "hang"
    monkeypatch.setattr(pool, "PATIENCE", 900.0)
    path = tmp_path / "rule.txt"
    path.write_text("income < 3")
    assert server.ask("rule", path) == "fine"
