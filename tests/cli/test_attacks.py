"""Files that attack, at the command line: bad input (exit code 2), told in a few lines, and the process lives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.model_files import CRASHING, forged_xgboost, loop, xgboost_files
from tests.fuzz.worlds import Unwrapped, small_audit


def told(done: Any) -> str:
    assert done.exit_code == 2, done.output
    text = done.output
    assert "Traceback" not in text
    assert "fault of equieffort" not in text
    assert "How to fix it" in text
    return text


@pytest.mark.parametrize("command", ["check", "report"])
def test_a_forged_audit_file(call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.chdir(tmp_path)
    small_audit().save("sound.audit")
    opened = Unwrapped.of(Path("sound.audit").read_bytes())
    opened.arrays["codes"] += 30_000
    Path("forged.audit").write_bytes(opened.bytes())
    assert "AUDIT_FILE" in told(call(command, "forged.audit"))
    assert not Path("forged.html").exists()


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a device")
def test_a_device_is_no_audit_file(call: Any) -> None:
    assert "no audit file" in told(call("check", "/dev/zero"))


SPEC = """
data: {path: people.csv}
model: {path: %s, features: [a, b, c]}
outcome: {favourable: 1}
sensitive: {column: sex, protected: f}
graph: []
features: {a: actionable, b: actionable, c: actionable}
"""


@pytest.mark.parametrize(
    ("name", "code"), [("model.json", "MODEL_FILE"), ("endless.onnx", "MODEL_UNTRUSTED"), ("zero.json", "MODEL_FILE")]
)
def test_a_model_file_that_attacks(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("sex,a,b,c\n" + "f,1.5,2.5,3.5\nm,0.5,1.5,2.5\n" * 20, encoding="utf-8")
    Path("spec.yaml").write_text(SPEC % name, encoding="utf-8")
    Path("model.json").write_bytes(forged_xgboost(CRASHING["wild parents"]))
    Path("endless.onnx").write_bytes(loop(2**62))
    Path("zero.json").symlink_to("/dev/zero")
    assert code in told(call("audit", "spec.yaml", "-o", "out"))
    # The same spec with a sound model is audited: it is the file that was refused.
    Path("spec.yaml").write_text(SPEC % "sound.json", encoding="utf-8")
    Path("sound.json").write_bytes(xgboost_files()[0][1])
    done = call("audit", "spec.yaml", "-o", "out", "--json") if name == "model.json" else None
    assert done is None or done.exit_code in (0, 1, 4), done.output
    assert done is None or json.loads(Path("out.json").read_text(encoding="utf-8"))
