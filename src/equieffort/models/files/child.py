"""Reads one model and asks it once, in a process of its own that may die: run as a program by `probe`.

Only what the one library needs is imported here, and boosters are called through their C interface, so that the process
costs a fraction of what importing their packages would. Standard input holds the length of a JSON head, the head and
the file. Nothing is printed: the answer is how the process ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import random
import struct
import sys
from importlib import import_module
from typing import Any

FINE, NOT_ASKED, NO_LIBRARY, NO_MEMORY = 0, 3, 5, 7
"""How the process ends: the model was asked; its library refused it without harm; could not be found; had no room."""
CELLS = 200_000
"""Values that a model is asked about, at most."""
VALUES = (0.0, 1.0, -1.0, 0.5, 1e-30, -1e30, 1e30, float("nan"), 7.0, 1e9)


def table(width: int, seed: int = 0) -> list[list[float]]:
    """People who are nobody: equal values, extreme ones, and ordinary ones at random."""
    draw = random.Random(seed)
    count = max(1, min(64, CELLS // max(1, width)))
    rows = [[value] * width for value in VALUES[:count]]
    while len(rows) < count:
        spread = 10.0 ** draw.randint(-2, 5)
        rows.append([draw.choice(VALUES) if draw.random() < 0.1 else draw.gauss(0.0, spread) for _ in range(width)])
    return rows


class Refused(Exception):
    """The library says no, and lives."""


def must(code: int, told: Any) -> None:
    """The libraries answer 0 where they did what was asked, and tell else what was wrong."""
    if code:
        told.restype = ctypes.c_char_p
        raise refusal(told() or b"")


def refusal(words: object) -> Exception:
    """No room is told from any other reason by its words: the libraries have no other sign for it."""
    return MemoryError() if "alloc" in str(words) else Refused()


def ask_xgboost(head: dict[str, Any], data: bytes) -> None:
    """Load and predict with XGBoost's own library."""
    library = ctypes.CDLL(head["library"])
    told = library.XGBGetLastError
    booster, matrix = ctypes.c_void_p(), ctypes.c_void_p()
    must(library.XGBoosterCreate(None, ctypes.c_uint64(0), ctypes.byref(booster)), told)
    must(library.XGBoosterLoadModelFromBuffer(booster, data, ctypes.c_uint64(len(data))), told)
    rows = table(head["width"])
    cells = [value for row in rows for value in row]
    values = (ctypes.c_float * len(cells))(*cells)
    shape = ctypes.c_uint64(len(rows)), ctypes.c_uint64(head["width"])
    must(library.XGDMatrixCreateFromMat(values, *shape, ctypes.c_float(float("nan")), ctypes.byref(matrix)), told)
    length, found = ctypes.c_uint64(), ctypes.POINTER(ctypes.c_float)()
    for kind in (0, 1):
        answer = ctypes.byref(length), ctypes.byref(found)
        must(library.XGBoosterPredict(booster, matrix, kind, ctypes.c_uint(0), 0, *answer), told)


def ask_lightgbm(head: dict[str, Any], data: bytes) -> None:
    """Load and predict with LightGBM's own library."""
    library = ctypes.CDLL(head["library"])
    told = library.LGBM_GetLastError
    booster, rounds, needed, length = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_int64(), ctypes.c_int64()
    must(library.LGBM_BoosterLoadModelFromString(data + b"\0", ctypes.byref(rounds), ctypes.byref(booster)), told)
    rows = table(head["width"])
    must(library.LGBM_BoosterCalcNumPredict(booster, len(rows), 0, 0, -1, ctypes.byref(needed)), told)
    cells = [value for row in rows for value in row]
    values = (ctypes.c_double * len(cells))(*cells)
    found = (ctypes.c_double * needed.value)()
    shape = ctypes.c_int32(len(rows)), ctypes.c_int32(head["width"])
    given = booster, values, 1, *shape, 1, 0, 0, -1, b"num_threads=1"
    must(library.LGBM_BoosterPredictForMat(*given, ctypes.byref(length), found), told)


def ask_onnx(head: dict[str, Any], data: bytes) -> None:
    """Load and run with onnxruntime."""
    onnxruntime = import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        _run_onnx(onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"]))
    except Exception as error:
        raise refusal(error) from error


def _run_onnx(session: Any) -> None:
    import numpy as np

    kinds = {"float": np.float32, "double": np.float64, "int64": np.int64, "int32": np.int32, "bool": np.bool_}
    count, feed = 8, {}
    for one in session.get_inputs():
        width = one.shape[1] if len(one.shape) == 2 and isinstance(one.shape[1], int) else 1
        cells = np.nan_to_num(np.array(table(width)[:count])).clip(-1e9, 1e9)
        kind = kinds.get(one.type[7:-1])
        typed = cells.astype(kind) if kind is not None else np.full(cells.shape, "a", dtype=object)
        feed[one.name] = typed if len(one.shape) == 2 else typed[:, 0]
    session.run(None, feed)


def ask_skops(head: dict[str, Any], data: bytes) -> None:
    """Load with skops; predict only where no check from outside can see what compiled code would do."""
    import warnings

    import numpy as np
    import pandas as pd

    warnings.simplefilter("ignore")
    model = import_module("skops.io").loads(data, trusted=head["trusted"])
    if not head["ask"]:
        return
    cells = np.array(table(int(model.n_features_in_)))
    names = getattr(model, "feature_names_in_", None)
    cells = np.nan_to_num(cells)
    model.predict(cells if names is None else pd.DataFrame(cells, columns=list(names)))


def limit(head: dict[str, Any]) -> None:
    """Bound what the process may take; where the system has no such limits, whoever waits for it does."""
    if sys.platform == "win32":
        # No window that asks what to do about the crash.
        ctypes.windll.kernel32.SetErrorMode(0x8007)
        return
    import resource

    wanted = {"RLIMIT_CORE": 0, "RLIMIT_CPU": head["seconds"], "RLIMIT_AS": head["bytes"]}
    for name, value in wanted.items():
        with contextlib.suppress(ValueError, OSError, AttributeError):
            kind = getattr(resource, name)
            hard = resource.getrlimit(kind)[1]
            resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def main() -> int:
    """Do what the head says."""
    received = sys.stdin.buffer.read()
    (length,) = struct.unpack_from("<Q", received)
    head, data = json.loads(received[8 : 8 + length]), received[8 + length :]
    # The libraries that are used there, not those that stand beside this file.
    sys.path[:] = head["path"]
    limit(head)
    ask = {"xgboost": ask_xgboost, "lightgbm": ask_lightgbm, "onnx": ask_onnx, "skops": ask_skops}[head["kind"]]
    try:
        ask(head, data)
    except (ImportError, OSError):
        return NO_LIBRARY
    except MemoryError:
        return NO_MEMORY
    except Exception:
        # Whoever loads it after this says what is wrong: here it only matters that the process lives.
        return NOT_ASKED
    return FINE


if __name__ == "__main__":
    sys.exit(main())
