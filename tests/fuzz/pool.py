"""A process that may die: it is given files, reads them, and says what came of each. A crash is seen from outside.

Run as a program it serves: a line of JSON with a kind and a path in, a line of JSON with the outcome out.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from equieffort.errors import EquieffortError

ROOT = Path(__file__).parents[2]
PATIENCE = 900.0
"""Seconds to wait for one file, for what sleeps; on a machine that is shared nothing is concluded from less."""
COMPUTING = 60
"""Seconds that one file may be computed with, many times what any needs: who takes more is ended, and so seen."""


class Server:
    """Asks the process, and starts another when it has died; outcomes are "fine", a code, "crash ..." or "hang"."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.answers: queue.Queue[str] = queue.Queue()
        self.seconds = 0.0
        """What the process that lives has computed, with the children it waited for."""

    def start(self) -> subprocess.Popen[str]:
        if self.process is None:
            self.answers, self.seconds = queue.Queue(), 0.0
            self.process = subprocess.Popen(
                [sys.executable, str(Path(__file__))], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True, cwd=ROOT,
            )  # fmt: skip
            self.listener = threading.Thread(target=_listen, args=(self.process, self.answers), daemon=True)
            self.listener.start()
        return self.process

    def ask(self, kind: str, path: Path) -> str:
        process = self.start()
        assert process.stdin is not None
        process.stdin.write(json.dumps([kind, str(path)]) + "\n")
        process.stdin.flush()
        try:
            answer = self.answers.get(timeout=PATIENCE)
        except queue.Empty:
            self.stop()
            return "hang"
        if not answer:
            code = process.wait()
            self.stop()
            return f"crash {code}"
        outcome, self.seconds = json.loads(answer)
        return str(outcome)

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.listener.join()
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            self.process = None


def _listen(process: subprocess.Popen[str], answers: queue.Queue[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        answers.put(line)
    answers.put("")


def outcome(kind: str, path: Path) -> str:
    """What comes of a file: fine, the code of an error of ours, or the name of any other exception."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _read(kind, path)
    except EquieffortError as error:
        return error.code if error.code and error.fix and error.what else f"nothing to do about {error.code}"
    except RecursionError:
        return "RecursionError"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "fine"


def _read(kind: str, path: Path) -> None:
    readers: dict[str, Callable[[Path], None]] = {
        "audit": _audit, "model": _model, "spec": _spec, "csv": _csv, "rule": _rule,
    }  # fmt: skip
    if kind == "die":
        os.kill(os.getpid(), signal.SIGSEGV)
    if kind == "sleep":
        time.sleep(600)
    readers[kind](path)


def _audit(path: Path) -> None:
    from tests.fuzz.worlds import read_all

    from equieffort.report import model_card, render

    audit = read_all(path)
    render(audit)
    model_card(audit)
    _command("check", str(path))


def _model(path: Path) -> None:
    import numpy as np
    import pandas as pd

    from equieffort.models.classifiers import Decision
    from equieffort.models.files import load_model

    trusted = ["sklearn.tree._tree.Tree", "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"]
    model: Any = load_model(path, trusted=trusted)
    width = int(getattr(model, "n_features_in_", 2))
    names = [str(name) for name in getattr(model, "feature_names_in_", [f"x{k}" for k in range(width)])]
    values = np.random.default_rng(0).normal(size=(30, min(width, 50)))
    levels = getattr(model, "levels", {})
    columns = {
        name: np.resize(np.array(levels[k], dtype=object), 30) if k in levels else values[:, k % values.shape[1]]
        for k, name in enumerate(names)
    }
    people = pd.DataFrame(columns)
    classes = getattr(model, "classes_", [1])
    decision = Decision.of(model, classes[-1], people, names)
    decision.is_favourable(people)


def _spec(path: Path) -> None:
    from equieffort.spec import read_spec

    read_spec(path)
    _command("audit", str(path), "-o", str(path.with_name("out")), "--dry-run")


def _csv(path: Path) -> None:
    from equieffort.data.inputs import read_table
    from equieffort.spec import DataSource

    _command("init", str(path), "-o", str(path.with_name("made.yaml")), "--force")
    read_table(DataSource(path, id="applicant"))


def _rule(path: Path) -> None:
    from tests.fuzz.worlds import people, with_rule

    from equieffort.world.rules import parse_rule, read_constraint

    text = path.read_bytes().decode("utf-8", "surrogatepass")
    table = people()
    first: EquieffortError | None = None
    try:
        parse_rule(text).evaluate({name: table[name].to_numpy() for name in table.columns})
    except EquieffortError as error:
        first = error
    read_constraint(text)
    with_rule(text)
    if first is not None:
        raise first


def _command(*words: str) -> None:
    """Run a command; what it prints must be for people, and its exit code one of those there are."""
    from typer.testing import CliRunner

    from equieffort.cli import app

    done = CliRunner().invoke(app, list(words))
    text = done.output
    if done.exit_code not in (0, 1, 2, 4) or "Traceback" in text or "fault of equieffort" in text:
        raise AssertionError(f"exit code {done.exit_code} of {words[0]}: {text[-300:]} {done.exception!r}")


def _serve() -> None:
    sys.path.insert(0, str(ROOT))
    out = sys.stdout
    # What libraries print is no answer.
    sys.stdout = sys.stderr
    for line in sys.stdin:
        kind, path = json.loads(line)
        with contextlib.suppress(ImportError):
            import resource

            spent, hard = sum(os.times()[:2]), resource.getrlimit(resource.RLIMIT_CPU)[1]
            resource.setrlimit(resource.RLIMIT_CPU, (int(spent) + COMPUTING, hard))
        found = outcome(kind, Path(path))
        out.write(json.dumps([found, sum(os.times()[:4])]) + "\n")
        out.flush()


if __name__ == "__main__":
    _serve()
