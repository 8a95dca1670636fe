"""Compiled loops work and are kept wherever something can be written, and work where nothing can."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import time
import weakref
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import equieffort
from equieffort.foundations import deferred
from equieffort.foundations.jit import kernel, linked, maker
from equieffort.foundations.records import record

PACKAGE = Path(equieffort.__file__).parent
LOOP = "from equieffort.foundations.jit import njit\n@njit(nogil=True)\ndef twice(x):\n    return 2 * x\n"

# Permissions do not bind root, who runs tests in containers: its children give up every privilege they have.
WITHOUT_PRIVILEGES = """
import ctypes, os, sys
if sys.platform == "linux":
    header, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None, use_errno=True).capset(header, nothing) == 0, os.strerror(ctypes.get_errno())
for folder in filter(None, os.environ["SHUT"].split(os.pathsep)):
    try:
        open(os.path.join(folder, "new"), "w")
    except OSError:
        continue
    raise SystemExit(f"{folder} can be written, so nothing would be tested")
"""


def shut(folder: Path) -> Path:
    """Nothing in the folder can be written any more."""
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    return folder


@pytest.fixture
def machine(tmp_path):
    """A process whose home, modules and current folder can be read and not written."""
    (tmp_path / "home").mkdir()
    modules = tmp_path / "modules"
    modules.mkdir()
    home = shut(tmp_path / "home")

    def run(code: str, temporary: Path | None, **variables: str) -> subprocess.CompletedProcess[str]:
        shut(modules)
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
        environment = kept | {
            "HOME": str(home),
            "PYTHONPATH": str(modules),
            "PYTHONDONTWRITEBYTECODE": "1",
            "SHUT": os.pathsep.join([str(home), str(modules), *([] if temporary else [str(home)])]),
            "TMPDIR": str(temporary or home),
            **variables,
        }
        if temporary is None:
            # The temporary folders of every machine, none of which there is here.
            code = f"import tempfile\ntempfile._candidate_tempdir_list = lambda: [{str(home)!r}]\n{code}"
        command = [sys.executable, "-W", "error", "-c", f"{WITHOUT_PRIVILEGES}\n{code}"]
        return subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, timeout=300)

    yield run, modules
    for path in (home, modules, *modules.rglob("*")):
        path.chmod(0o755)


def copy_package(modules: Path) -> None:
    shutil.copytree(PACKAGE, modules / "equieffort", ignore=shutil.ignore_patterns("__pycache__"))


CALL = "import loop\nprint(loop.twice(21), loop.twice.stats.cache_path, sum(loop.twice.stats.cache_hits.values()))"


def test_a_loop_that_cannot_be_kept_at_home_is_kept_among_the_temporary_files(machine, tmp_path):
    run, modules = machine
    copy_package(modules)
    (modules / "loop.py").write_text(LOOP)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    answers = []
    for _ in range(2):
        done = run(CALL, temporary)
        assert (done.returncode, done.stderr) == (0, "")
        answers.append(done.stdout.split())
    assert [first for first, _, _ in answers] == ["42", "42"]
    assert all(Path(folder).is_relative_to(temporary) for _, folder, _ in answers)
    assert [hits for _, _, hits in answers] == ["0", "1"], "the second process compiles nothing"
    (folder,) = temporary.iterdir()
    assert folder.stat().st_mode & 0o077 == 0, "what others could write would be executed"


@pytest.mark.parametrize("foreign", ["open to all", "a link"])
def test_a_temporary_folder_that_others_can_write_is_not_used(machine, tmp_path, foreign):
    run, modules = machine
    copy_package(modules)
    (modules / "loop.py").write_text(LOOP)
    temporary, elsewhere = tmp_path / "temporary", tmp_path / "elsewhere"
    temporary.mkdir()
    elsewhere.mkdir()
    folder = temporary / f"equieffort-{os.getuid()}"
    if foreign == "a link":
        folder.symlink_to(elsewhere)
    else:
        folder.mkdir()
        folder.chmod(0o777)
    done = run("import loop\nprint(loop.twice(21))", temporary)
    assert (done.returncode, done.stdout, done.stderr) == (0, "42\n", "")
    assert not list(folder.iterdir())


def test_where_nothing_can_be_written_each_process_compiles_for_itself(machine):
    run, modules = machine
    copy_package(modules)
    (modules / "loop.py").write_text(LOOP)
    done = run("import loop\nprint(loop.twice(21))", None, NUMBA_CACHE_DIR="/dev/null/nowhere")
    assert (done.returncode, done.stdout, done.stderr) == (0, "42\n", "")


def test_what_was_kept_in_an_image_is_read_where_nothing_can_be_written_there(machine, tmp_path):
    """As in a container: compiled by who built the image, read by another user of a file system that is read-only."""
    run, modules = machine
    copy_package(modules)
    (modules / "loop.py").write_text(LOOP)
    temporary, kept = tmp_path / "temporary", tmp_path / "kept"
    temporary.mkdir()
    kept.mkdir()
    try:
        for hits in ("0", "1"):
            done = run(CALL, temporary, NUMBA_CACHE_DIR=str(kept))
            assert (done.returncode, done.stderr) == (0, "")
            assert done.stdout.split()[0::2] == ["42", hits]
            # From now on it can only be read, and every new process has temporary files of its own.
            shut(kept)
            shutil.rmtree(temporary)
            temporary.mkdir()
    finally:
        for path in (kept, *kept.rglob("*")):
            path.chmod(0o755)


def test_an_audit_runs_where_only_temporary_files_can_be_written(machine, tmp_path):
    """Row 79: no writable cache folder, read-only home."""
    run, modules = machine
    copy_package(modules)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    code = f"""
import equieffort as ee, numpy as np, pandas as pd
from equieffort.recourse.solvers.linear.fill_kernels import lower_hull
assert ee.__file__.startswith({str(modules)!r})
X = pd.DataFrame({{"s": list("ab") * 20, "x": [float(k) for k in range(40)]}})
schema = ee.Schema(sensitive="s", protected="a", favourable=True, features={{"x": "actionable"}})
scm = ee.StructuralCausalModel([], nodes=["s", "x"]).fit(X)
audit = ee.audit(ee.LinearScore({{"x": 1.0}}, threshold=30.5), X, schema=schema, scm=scm)
print(audit.verdict.outcome)
audit.save({str(temporary / "x.audit")!r})
# So little is not compiled; here is what would be.
lower_hull(np.arange(3.0), np.arange(3.0), np.empty(3, dtype=np.int64))
"""
    done = run(code, temporary)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() in {"equal", "unequal", "inconclusive"}
    assert (temporary / "x.audit").is_file()
    assert list(temporary.glob("equieffort-*/**/*.nbi")), "the loops are kept for the next audit"


def test_a_damaged_or_unwritable_file_of_a_loop_means_compiling_again(tmp_path):
    (tmp_path / "loop.py").write_text(LOOP)
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{PACKAGE.parent}"}
    environment.pop("NUMBA_CACHE_DIR", None)

    def call() -> list[str]:
        command = [sys.executable, "-W", "error", "-c", CALL]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.split()

    assert call()[2] == "0"
    (index,) = tmp_path.glob("__pycache__/*.nbi")
    whole = index.read_bytes()
    index.write_bytes(whole[: len(whole) // 2])
    assert call()[0::2] == ["42", "0"]
    assert call()[0::2] == ["42", "1"], "what was damaged has been replaced"
    (code,) = tmp_path.glob("__pycache__/*.nbc")
    code.write_bytes(b"no code")
    assert call()[0::2] == ["42", "0"]
    # A folder in the place of the file: nothing can be written there, whoever tries.
    code.unlink(missing_ok=True)
    index.unlink()
    index.mkdir()
    assert call()[0::2] == ["42", "0"]


CHANGED = """
import sys
sys.path.insert(0, sys.argv[1])
from outer import entry
print(entry(1.0), sum(entry.compiled.stats.cache_hits.values()))
"""
OUTER = "from equieffort.foundations.jit import kernel, linked\nfrom middle import step\n\n\n"
OUTER += "@kernel\ndef two_steps(x):\n    return step(step(x))\n\n\nentry = linked(two_steps)\n"
MIDDLE = "from equieffort.foundations.jit import kernel\nfrom constants import WIDTH\n\n\n"
MIDDLE += "@kernel\ndef step(x):\n    return x + WIDTH{more}\n"


def test_what_is_kept_is_not_used_when_something_it_calls_has_changed(tmp_path):
    """numba looks only at the file of the loop that Python calls, neither at what it calls nor at constants."""
    (tmp_path / "outer.py").write_text(OUTER, encoding="utf-8")

    def told(width, more):
        (tmp_path / "constants.py").write_text(f"WIDTH = {width}\n", encoding="utf-8")
        (tmp_path / "middle.py").write_text(MIDDLE.format(more=more), encoding="utf-8")
        command = [sys.executable, "-B", "-c", CHANGED, str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    assert told("1.0", "") == ["3.0", "0"]
    assert told("1.0", "") == ["3.0", "1"]
    assert told("2.0", "") == ["5.0", "0"], "a constant has changed"
    assert told("2.0", "") == ["5.0", "1"]
    assert told("2.0", " * 10.0") == ["41.0", "0"], "what is called has changed"
    assert told("2.0", " * 10.0") == ["41.0", "1"]


@kernel
def _step(x):
    return x + 1.0


@kernel
def _leap(x):
    return 10.0 * x


@kernel
def _two_steps(x):
    return _step(_step(x))


def test_one_kernel_serves_with_other_parts_and_none_disturbs_the_other():
    walk, run = linked(_two_steps, "walk"), linked(_two_steps, "run", _step=_leap)
    assert (walk(1.0), run(1.0), walk(1.0)) == (3.0, 100.0, 3.0)
    assert (walk.interpreted(1.0), run.interpreted(1.0)) == (3.0, 100.0)
    assert _two_steps(1.0) == 3.0


SMALL = """
import json, sys
import numpy as np
from equieffort.foundations.jit import compile_at_once, kernel, linked
@kernel
def total(numbers):
    sums = 0.0
    for k in range(numbers.shape[0]):
        sums += 1.0 / numbers[k]
    return sums
@kernel
def row(numbers, out, first, last):
    for i in range(first, last):
        out[i] = 1.0 / numbers[i]
entry, rows = linked(total, worth=2.0), linked(row, worth=2.0)
numbers = np.arange(1.0, 50.0)
told = []
def tell(answer, of=entry):
    hits = sum(of.compiled.stats.cache_hits.values())
    told.append((float(answer), "kept" if hits else "compiled" if of.compiled.signatures else "interpreted"))
"""
CALLS = """
tell(entry(numbers, work=0.5))
out = np.zeros(50)
tell(sum(1 for _ in rows.one_by_one((numbers, out), 49, 0.001)), rows)
tell(sum(1 for _ in rows.one_by_one((numbers, out), 49, 0.1)), rows)
tell(entry(numbers, work=3.0))
print(json.dumps(told))
"""


def run_alone(code: str, folder: Path) -> list[list[Any]]:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "kept")}
    (folder / "small.py").write_text(code, encoding="utf-8")
    command = [sys.executable, "-W", "error", str(folder / "small.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    told: list[list[Any]] = json.loads(done.stdout)
    return told


def test_small_work_is_not_compiled_and_what_was_kept_is_used_for_it(tmp_path):
    total = sum(1 / k for k in range(1, 50))
    first = run_alone(SMALL + CALLS, tmp_path)
    assert first == [[total, "interpreted"], [49.0, "interpreted"], [0.0, "compiled"], [total, "compiled"]]
    assert run_alone(SMALL + CALLS, tmp_path) == [[total, "kept"], [0.0, "kept"], [0.0, "kept"], [total, "kept"]]


def test_everything_is_compiled_at_once_where_that_is_asked_for(tmp_path):
    small = "tell(entry(numbers, work=0.0))"
    code = SMALL + f"with compile_at_once():\n    {small}\n{small}\nprint(json.dumps(told))"
    assert [how for _, how in run_alone(code, tmp_path)] == ["compiled", "compiled"]


def test_work_that_was_spent_counts_and_what_python_refuses_is_compiled(tmp_path):
    code = SMALL + "entry.spent = 1.6\ntell(entry(numbers, work=0.5))\nprint(json.dumps(told))"
    assert [how for _, how in run_alone(code, tmp_path)] == ["compiled"]
    code = SMALL.replace("1.0 / numbers[k]", "1.0 / int(numbers[k])")
    code += "tell(entry(numbers - 1, work=0.5))\nprint(json.dumps(told))"
    assert run_alone(code, tmp_path) == [[math.inf, "compiled"]]


@pytest.mark.parametrize("late", [False, True])
def test_two_processes_may_compile_at_once(tmp_path, late):
    """Together from the start, or one while the other is at it; both answer, and a third finds what they kept."""
    code = SMALL + "tell(entry(numbers))\ntell(entry(numbers))\nprint(json.dumps(told))"
    (tmp_path / "small.py").write_text(code, encoding="utf-8")
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    running = []
    for _ in range(2):
        command = [sys.executable, "-W", "error", str(tmp_path / "small.py")]
        running.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        if late:
            time.sleep(0.7)
    answers = [one.communicate(timeout=300) for one in running]
    assert [one.returncode for one in running] == [0, 0], answers
    assert {answer.split(b", ")[0] for answer, _ in answers} == {f"[[{sum(1 / k for k in range(1, 50))}".encode()}
    assert [how for _, how in run_alone(code, tmp_path)] == ["kept", "kept"]


PLAIN = """
import sys
import numpy as np
from typing import Any, NamedTuple
import equieffort.foundations.deferred as deferred, equieffort.foundations.records as records
deferred.deferred = deferred.gathering = deferred.compact = records._register = None
from equieffort.foundations.jit import kernel, linked, maker
@records.record
class Row(NamedTuple):
    numbers: Any
    step: float
@kernel
def row_of(table, i):
    return Row(table[i], 1.0)
@maker
def steps(table):
    total = 0.0
    for i in range(table.shape[0]):
        row = row_of(table, i)
        total += row.numbers[0] + row.step
    return total
table = np.arange(20.0).reshape(10, 2)
print(linked(steps)(table), steps(table), not records.constructors)
for _ in range(1000):
    linked_steps = linked(steps) if _ == 0 else linked_steps
    linked_steps(table)
print(sys.getrefcount(table) < 100, table.sum())
"""


def test_without_the_parts_of_numba_it_leans_on_loops_are_compiled_all_the_same():
    assert deferred.gathering is not None, "this numba has them, so that the others are tested here"
    done = subprocess.run([sys.executable, "-W", "error", "-c", PLAIN], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["100.0", "100.0", "True", "True", "190.0"]


@record
class Inside(NamedTuple):
    numbers: Any
    shift: float


@record
class Outside(NamedTuple):
    inside: Inside
    table: Any
    is_on: bool


@kernel
def _row(outside, i):
    """A record made of what is given, returned by value."""
    return Inside(outside.table[i], outside.inside.shift + i)


@kernel
def _total(inside):
    total = 0.0
    for k in range(inside.numbers.shape[0]):
        total += inside.numbers[k] + inside.shift
    return total


@maker
def _all_rows(outside, made):
    """A kernel that makes arrays keeps records beside them."""
    total = _total(outside.inside) if outside.is_on else -1.0
    for i in range(outside.table.shape[0]):
        made = np.concatenate((made, made))
        row = _row(outside, i)
        row.numbers[0] += 1.0
        total += _total(row) + made.shape[0]
    return total, made


def test_records_are_the_same_to_python_and_to_compiled_kernels():
    told = []
    for run in (entry := linked(_all_rows), entry.interpreted):
        for is_on in (True, False):
            outside = Outside(Inside(np.arange(3.0), 0.5), np.arange(8.0).reshape(4, 2), is_on)
            total, made = run(outside, np.arange(2.0))
            told.append((total, made.sum(), outside.table.tolist()))
    assert told[:2] == told[2:]
    assert told[0][0] - told[1][0] == 3.0 + 3 * 0.5 + 1.0
    assert told[0][2] == [[1.0, 1.0], [3.0, 3.0], [5.0, 5.0], [7.0, 7.0]]


def test_nobody_is_counted_twice_or_forgotten():
    """However often kernels take a record apart, its arrays have as many users afterwards as before, and are freed."""
    entry, table, numbers = linked(_all_rows), np.arange(8.0).reshape(4, 2), np.arange(3.0)
    entry(Outside(Inside(numbers, 0.5), table, True), np.arange(2.0))
    before = sys.getrefcount(table), sys.getrefcount(numbers)
    freed = weakref.ref(gone := np.arange(8.0).reshape(4, 2))
    for _ in range(100):
        entry(Outside(Inside(numbers, 0.5), table, True), np.arange(2.0))
        entry(Outside(Inside(numbers, 0.5), gone, True), np.arange(2.0))
    assert (sys.getrefcount(table), sys.getrefcount(numbers)) == before
    del gone
    assert freed() is None


def test_records_of_other_arrays_are_other_types():
    """The same class with other types of fields is compiled again, not read as if it were the first."""
    entry = linked(_total)
    assert entry(Inside(np.arange(3.0), 0.5)) == 4.5
    assert entry(Inside(np.arange(3), 0.5)) == 4.5
    assert entry(Inside(np.arange(6.0)[::2], 1.0)) == 9.0
