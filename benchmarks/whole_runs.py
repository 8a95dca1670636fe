"""Whole runs at the command line, and reading and writing a million people: CPU and peak memory, met or missed.

Run with `python benchmarks/whole_runs.py [SRC]`. Given the `src` folder of another checkout, that is measured too, in
turn with this one, and the ratio of both is printed: on a shared machine a second of CPU is not the same from one hour
to the next, ratios of one run are. `--people N` takes fewer than a million (aims are then only printed), `--only WORD`
some rows. Every row is a process of its own; `equieffort warm-up` compiles loops before.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import NamedTuple

import joblib
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import equieffort as ee
from adult import SPEC as ADULT

MILLION = 1_000_000
SPEC = """title: Many people
data: {path: people.parquet, missing: error}
model: {train: logistic}
outcome: {column: approved, favourable: "yes"}
sensitive: {column: sex, protected: Female, reference: Male}
graph: [[education, hours], [hours, income]]
features:
  age: {role: immutable}
  job: {role: immutable}
  region: {role: immutable}
  education: {role: actionable, direction: up}
  hours: {role: actionable}
  income: {role: mutable}
  savings: {role: actionable, direction: up}
  loan: {role: actionable, direction: down}
cost: {kind: l1, scale: range}
random_state: 0
"""
READ = """
from pathlib import Path
from equieffort.data.inputs import DataSource, read_table
before()
read_table(DataSource(Path("people.csv")))
"""
WITHOUT_ARROW = """
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name.startswith("pyarrow") else real(name, *rest)
"""
WRITE = """
import warnings
warnings.simplefilter("ignore")
import equieffort as ee
from equieffort import exports
from equieffort.report import render
ee.load("out.audit").verdict
before()
made = ee.load("out.audit")
made.save("again.audit")
Path = __import__("pathlib").Path
if hasattr(exports, "write_recourse_csv"):
    with open("again.csv", "w", encoding="utf-8", newline="") as file:
        exports.write_recourse_csv(made, file)
else:
    Path("again.csv").write_text(exports.recourse_csv(made), encoding="utf-8", newline="")
Path("again.html").write_text(render(made), encoding="utf-8")
"""
SOLVE = """
import sys, warnings
warnings.simplefilter("ignore")
import numpy as np, pandas as pd
import equieffort as ee
from sklearn.linear_model import LogisticRegression
rng, names = np.random.default_rng(0), list("abcd")
X = pd.DataFrame(rng.normal(size=(PEOPLE, 4)), columns=names).assign(s=rng.integers(0, 2, PEOPLE))
y = X[names][:20_000].sum(axis=1) + rng.normal(size=len(X[:20_000])) > 0
model = LogisticRegression().fit(X[names][:20_000], y)
features = {name: ee.Feature("actionable", lower=-9.0, upper=9.0) for name in names}
schema = ee.Schema(sensitive="s", protected=0, favourable=True, features=features)
scm = ee.StructuralCausalModel([("a", "b")], nodes=[*names, "s"]).fit(X)
problem = ee.RecourseProblem.of(model, X, schema=schema, scm=scm)
ee.solve(problem, X[:5_000])
before()
ee.solve(problem, X, progress=LISTENER)
"""
PREDICT = (
    SOLVE.partition("schema = ")[0]
    + """
model.predict(X[names][:5_000])
before()
model.predict(X[names])
"""
)
CURVE = """
import sys
sys.path.insert(0, BENCHMARKS)
import numba, numpy as np
from curves import people
from equieffort.effort.metrics import PAPER_QUANTILES, Jackknife, curve
numba.set_num_threads(1)
table, distance = people(PEOPLE, 4)
centres = np.flatnonzero(table.is_unfavourable)[:2_000]
curve(table, distance, PAPER_QUANTILES, centres[:64], Jackknife())
before()
curve(table, distance, PAPER_QUANTILES, centres, Jackknife())
"""
PROBE = """
import resource, time
began = [0.0]
def before():
    began[0] = time.process_time()
{}
print("spent", time.process_time() - began[0])
"""


def both(other: str | None) -> list[str]:
    """The folders of sources that are measured in turn: these, and those of another checkout if one is given."""
    return [str(Path(ee.__file__).parents[1]), *([str(Path(other).resolve())] if other else [])]


class Spent(NamedTuple):
    """What a process took."""

    cpu: float
    peak: float
    """MiB."""


def run(command: list[str], folder: Path, source: str) -> Spent:
    """Seconds of CPU and MiB of one process; of a probe only from `before()` on."""
    # A process that has started others knows only of the largest of them, so that each is watched by one of its own.
    watch = (
        "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], capture_output=True, text=True); "
        "used = resource.getrusage(resource.RUSAGE_CHILDREN); told = done.stdout.split(); "
        "ok = done.returncode in (0, 1, 4) and (done.returncode == 0 or 'audit' in sys.argv); "
        "ok or sys.exit(done.stderr[-2000:]); "
        "cpu = float(told[-1]) if told[-2:-1] == ['spent'] else used.ru_utime + used.ru_stime; "
        "print(cpu, used.ru_maxrss / 1024)"
    )
    env = os.environ | {"PYTHONPATH": source}
    done = subprocess.run([sys.executable, "-c", watch, *command], cwd=folder, env=env, capture_output=True, text=True,
                          check=False)  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stderr)
    return Spent(*map(float, done.stdout.split()))


def warm(folder: Path, source: str) -> None:
    """Compile everything; sources that do not know how compile while they are measured, once for all runs."""
    env = os.environ | {"PYTHONPATH": source}
    command = [sys.executable, "-m", "equieffort", "warm-up"]
    subprocess.run(command, cwd=folder, env=env, capture_output=True, check=False)


def make_people(n: int) -> pd.DataFrame:
    """Six numbers, three of them with many different values, and four columns of text."""
    rng = np.random.default_rng(0)
    education = rng.integers(1, 17, n)
    income, savings = np.round(rng.lognormal(10, 0.6, n), 2), np.round(rng.exponential(5000, n), 2)
    loan, sex = np.round(rng.uniform(1000, 50_000, n), 2), rng.choice(["Female", "Male"], n)
    score = (np.log(income) - 10) * 1.2 + savings / 12_500 - loan / 25_000 + education * 0.08 + (sex == "Male") * 0.3
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "education": education,
            "hours": np.clip(np.rint(20 + education + rng.normal(scale=10, size=n)), 1, 99).astype(np.int64),
            "income": income,
            "savings": savings,
            "loan": loan,
            "sex": sex,
            "job": rng.choice(["clerk", "driver", "nurse", "teacher", "cook", "smith"], n),
            "region": rng.choice([f"region {k}" for k in range(20)], n),
            "approved": np.where(score + rng.logistic(size=n) * 0.5 > 0.3, "yes", "no"),
        }
    )


def make_files(folder: Path, n: int, *, adult: bool, many: bool) -> None:
    """Tables, specs and a model, as far as they are needed."""
    if adult:
        _make_adult(folder)
    if many:
        table = make_people(n)
        table.to_csv(folder / "people.csv", index=False)
        table.to_parquet(folder / "people.parquet", index=False)
        (folder / "people.yaml").write_text(SPEC, encoding="utf-8")


def _make_adult(folder: Path) -> None:
    setting = ee.datasets.adult_setting()
    X = setting.X
    texts = [name for name in X if X[name].dtype.kind not in "iuf"]
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), texts), remainder=StandardScaler())
    joblib.dump(make_pipeline(encode, LogisticRegression(max_iter=2000)).fit(X, setting.y), folder / "model.joblib")
    X.assign(income=setting.y.to_numpy()).to_csv(folder / "adult.csv", index=False)
    for name, key in (("model", "path: model.joblib"), ("logistic", "train: logistic"), ("boosted", "train: boosted")):
        (folder / f"{name}.yaml").write_text(ADULT.format(model=key), encoding="utf-8")


def rows(n: int) -> list[tuple[str, list[str], float, float | None]]:
    """What is measured, by which command, and at most how many seconds and MiB it should take."""
    python = [sys.executable]
    audit = [*python, "-m", "equieffort", "audit"]
    rest = ["-o", "out", "-q", "--unsafe-load-pickle"]

    def probe(code: str, **names: object) -> list[str]:
        told = "".join(f"{name} = {value!r}\n" for name, value in ({"PEOPLE": n} | names).items())
        return [*python, "-c", told + PROBE.format(code)]

    listener = "LISTENER = lambda *told: None\n"
    return [
        ("Adult, a model file", [*audit, "model.yaml", *rest], 12, None),
        ("Adult, a logistic surrogate", [*audit, "logistic.yaml", *rest], 12, None),
        ("Adult, a boosted surrogate", [*audit, "boosted.yaml", *rest], 25, None),
        (f"{n:,} rows of Parquet, all outputs", [*audit, "people.yaml", *rest], 25, 1024),
        ("  these Parquet rows: load, save, table, report", probe(WRITE), 6, None),
        (f"{n:,} rows of CSV, with pyarrow", probe(READ), 1.6, 300),
        (f"{n:,} rows of CSV, without", probe(WITHOUT_ARROW + READ), 4, 300),
        (f"{n:,} linear people, 4 actions", probe(SOLVE, LISTENER=None), 0.2, None),
        ("  with a listener", probe(listener + SOLVE), 0.2, None),
        ("  the model's own predict alone, a floor", probe(PREDICT), np.inf, None),
        (f"{n:,} people, 2,000 centres, bands", probe(CURVE, BENCHMARKS=str(Path(__file__).parent)), 15, None),
    ]


def main() -> None:
    """Measure, and print each row as it is done."""
    warnings.simplefilter("ignore", ee.errors.EquieffortWarning)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", nargs="?")
    parser.add_argument("--people", type=int, default=MILLION)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    sources = both(given.other)
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / str(k) for k in range(len(sources))]
        asked = [row for row in rows(given.people) if given.only in row[0]]
        adult, many = (any(word in row[0] for row in asked) for word in ("Adult", "rows"))
        for folder, source in zip(folders, sources, strict=True):
            folder.mkdir()
            make_files(folder, given.people, adult=adult, many=many)
            warm(folder, source)
        for what, command, seconds, peak in asked:
            spent = [run(command, folder, source) for folder, source in zip(folders, sources, strict=True)]
            print(
                _line(
                    what,
                    spent,
                    seconds,
                    peak,
                    counts=np.isfinite(seconds) and (given.people == MILLION or "Adult" in what),
                ),
                flush=True,
            )
        print(f"load average meanwhile: {', '.join(f'{one:.0f}' for one in os.getloadavg())}; CPUs: {os.cpu_count()}")


def _line(what: str, spent: list[Spent], seconds: float, peak: float | None, *, counts: bool) -> str:
    mine = spent[0]
    met = mine.cpu <= seconds and (peak is None or mine.peak <= peak)
    aim = (f"aim: {seconds:g} s" if np.isfinite(seconds) else "") + (f", {peak:,.0f} MiB" if peak is not None else "")
    line = f"{what:<40} {mine.cpu:6.2f} s of CPU {mine.peak:6,.0f} MiB   {aim:<20} {'met' if met else 'missed'}"
    line = line if counts else line[: -len("missed" if not met else "met")].rstrip()
    if len(spent) > 1:
        line += f"   the other: {spent[1].cpu:.2f} s, {spent[1].peak:,.0f} MiB; ratio {mine.cpu / spent[1].cpu:.2f}"
    return line


if __name__ == "__main__":
    main()
