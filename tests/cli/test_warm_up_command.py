"""`equieffort warm-up`: what it prints, and what it says where nothing can be kept."""

from __future__ import annotations

from equieffort.results.warming import Warmed


def test_it_says_how_many_and_where(call, monkeypatch, tmp_path):
    monkeypatch.setattr(
        "equieffort.results.warming.compile_everything", lambda progress: Warmed(("a", "b"), ("c",), ("/opt/kept",))
    )
    done = call("warm-up")
    assert done.exit_code == 0
    assert "Kernels compiled: 2, found compiled: 1. They are kept in:\n  /opt/kept\n" in done.stdout
    assert "temporary" not in done.output
    assert call("warm-up", "--quiet").output == ""
    monkeypatch.setattr(
        "equieffort.results.warming.compile_everything", lambda progress: Warmed((), ("c",), (str(tmp_path),))
    )
    assert "temporary files, which may not last" in call("warm-up").output


def test_a_named_folder_that_cannot_be_written_is_said_before_anything_is_compiled(call, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "kept"))
    monkeypatch.setattr("equieffort.results.warming.STEPS", {"nothing": lambda: 1 / 0})
    done = call("warm-up")
    assert done.exit_code == 3
    assert f"NUMBA_CACHE_DIR names {tmp_path}" in done.output
    assert "would be lost" in done.output
    assert "Traceback" not in done.output
