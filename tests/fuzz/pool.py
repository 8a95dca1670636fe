"""A process that may die: it is given files, reads them, and says what came of each. A crash is seen from outside.

Run as a program it serves: a line of JSON with a kind and a path in, a line of JSON with the outcome out.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0
"""Seconds for one file, many times what any needs on a machine that does nothing else."""


class Server:
    """Asks the process, and starts another when it has died; outcomes are "fine", a code, "crash ..." or "hang"."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.answers: queue.Queue[str] = queue.Queue()

    def start(self) -> subprocess.Popen[str]:
        if self.process is None:
            self.answers = queue.Queue()
            self.process = subprocess.Popen(
                [sys.executable, str(Path(__file__))], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True, cwd=ROOT,
            )  # fmt: skip
            threading.Thread(target=_listen, args=(self.process, self.answers), daemon=True).start()
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
            self.process = None
            return f"crash {code}"
        return str(json.loads(answer))

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def _listen(process: subprocess.Popen[str], answers: queue.Queue[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        answers.put(line)
    answers.put("")


def outcome(kind: str, path: Path) -> str:
    """What comes of a file: fine, the code of an error of ours, or the name of any other exception."""
    from equieffort.errors import EquieffortError

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
    import numpy as np
    import pandas as pd

    if kind == "audit":
        from tests.fuzz.worlds import read_all

        read_all(path)
        return
    from equieffort.classifiers import Decision
    from equieffort.models import load_model

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


def _serve() -> None:
    sys.path.insert(0, str(ROOT))
    out = sys.stdout
    # What libraries print is no answer.
    sys.stdout = sys.stderr
    for line in sys.stdin:
        kind, path = json.loads(line)
        out.write(json.dumps(outcome(kind, Path(path))) + "\n")
        out.flush()


if __name__ == "__main__":
    _serve()
