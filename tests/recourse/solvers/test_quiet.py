"""What HiGHS prints past its options stays out of the results, and nobody else's output is touched."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

from equieffort.recourse.solvers.quiet import aside

GNU = hasattr(ctypes.CDLL(None), "gnu_get_libc_version")


@pytest.mark.skipif(not GNU, reason="only GNU's C library lets its stdout be set")
def test_what_compiled_code_prints_goes_to_standard_error(capfd):
    library = ctypes.CDLL(None)
    with aside():
        library.puts(b"noise")
        with aside():
            library.puts(b"more")
        library.puts(b"still")
    library.puts(b"result")
    library.fflush(None)
    out, err = capfd.readouterr()
    assert (out, err) == ("result\n", "noise\nmore\nstill\n")


def test_an_error_inside_ends_the_detour(capfd):
    library = ctypes.CDLL(None)
    with pytest.raises(ZeroDivisionError), aside():
        1 / 0  # noqa: B018
    library.puts(b"result")
    library.fflush(None)
    assert capfd.readouterr() == ("result\n", "")


WHILE_SOLVING = """
import ctypes, os, sys, threading
import numpy as np, pandas as pd
import equieffort as ee
from equieffort.recourse.solvers import highs

calls, inside = [], threading.Event()
solve = highs.aside

class Loud:
    # As HiGHS does: something is printed by compiled code in the middle of each program.
    def __init__(self): self.detour = solve()
    def __enter__(self):
        self.detour.__enter__()
        inside.set()
        calls.append(ctypes.CDLL(None).puts(b"noise of the solver"))
    def __exit__(self, *error):
        return self.detour.__exit__(*error)

highs.aside = Loud
done = threading.Event()

def talk():
    inside.wait()
    k = 0
    while not done.is_set() or k < 1000:
        os.write(1, b"written %d\\n" % k)
        print(f"printed {k}", flush=True)
        k += 1
    print(f"total {k}", flush=True)

thread = threading.Thread(target=talk)
thread.start()
frame = pd.DataFrame({"sex": ["f", "m"] * 10, "v": np.arange(20) % 5, "w": np.arange(20) % 3})
features = {name: ee.Feature("actionable", lower=-1, upper=6) for name in ("v", "w")}
schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features=features, rules=["if v > 2 then w > 1"])
scm = ee.StructuralCausalModel([], nodes=["sex", "v", "w"]).fit(frame)
audit = ee.audit(ee.LinearScore({"v": 1.0, "w": 1.0}, threshold=7.5), frame, schema=schema, scm=scm, solver=ee.Milp())
done.set()
thread.join()
assert len(calls) > 5, calls
assert (audit.recourse.frame()["status"] == "optimal").any()
"""


def test_what_other_threads_write_while_programs_are_solved_arrives():
    """Descriptor 1 used to lead to standard error for the whole process while a program was solved."""
    command = [sys.executable, "-W", "ignore", "-c", WHILE_SOLVING]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    if GNU:
        assert set(done.stderr.splitlines()) == {"noise of the solver"}
        assert "noise of the solver" not in lines
    count = int(next(line for line in lines if line.startswith("total")).split()[1])
    for verb in ("written", "printed"):
        said = [line for line in lines if line.startswith(verb)]
        assert said == [f"{verb} {k}" for k in range(count)]
