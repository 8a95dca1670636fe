"""All of Adult at the command line: seconds of CPU from the spec to all outputs, with a model file and with surrogates.

Run with `make bench`. Loops are compiled before. Women are compared with men; education and hours may change. With the
`src` folder of another checkout as its argument it is measured too, in turn with this one.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import joblib
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import equieffort as ee

SPEC = """title: Adult
data: {{path: adult.csv, missing: error}}
model: {{{model}}}
outcome: {{column: income, favourable: ">50K"}}
sensitive: {{column: sex, protected: Female, reference: Male}}
graph: [[education_num, hours_per_week]]
features:
  age: {{role: immutable}}
  native_country: {{role: immutable}}
  marital_status: {{role: immutable}}
  education_num: {{role: actionable, direction: up}}
  workclass: {{role: immutable}}
  occupation: {{role: immutable}}
  hours_per_week: {{role: actionable}}
cost: {{kind: l1, scale: range}}
random_state: 0
"""
AIMS = (
    ("a model file", "path: model.joblib", "at most 12 s"),
    ("a logistic surrogate", "train: logistic", "at most 12 s"),
    ("a boosted surrogate", "train: boosted", "at most 25 s"),
)


def cpu(folder: Path, model: str, sources: list[str]) -> list[float]:
    """Seconds of CPU of the second of two runs, for each folder of sources in turn."""
    (folder / "adult.yaml").write_text(SPEC.format(model=model), encoding="utf-8")
    command = [sys.executable, "-m", "equieffort", "audit", "adult.yaml", "-o", "out", "-q", "--unsafe-load-pickle"]
    spent = []
    for source in 2 * sources:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        env = os.environ | {"PYTHONPATH": source}
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1, 4), done.stderr
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return spent[len(sources) :]


def main() -> None:
    warnings.simplefilter("ignore", ee.errors.EquieffortWarning)
    sources = [str(Path(ee.__file__).parents[1]), *(str(Path(other).resolve()) for other in sys.argv[1:])]
    setting = ee.datasets.adult_setting()
    X = setting.X
    texts = [name for name in X if X[name].dtype.kind not in "iuf"]
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), texts), remainder=StandardScaler())
    model = make_pipeline(encode, LogisticRegression(max_iter=2000)).fit(X, setting.y)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        X.assign(income=setting.y.to_numpy()).to_csv(folder / "adult.csv", index=False)
        joblib.dump(model, folder / "model.joblib")
        for what, key, aim in AIMS:
            ours, *other = cpu(folder, key, sources)
            beside = "".join(f"   the other checkout: {seconds:.1f} s" for seconds in other)
            print(f"Adult, {len(X):,} people, {what:<20} {ours:6.1f} s of CPU   aim: {aim}{beside}", flush=True)


if __name__ == "__main__":
    main()
