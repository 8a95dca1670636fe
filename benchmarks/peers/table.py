"""Other tools for recourse on the same people with the same cost: `make bench-peers`.

Each is installed into an environment of its own (`.venv-peers/`), since they need other versions of everything; those
that cannot be installed are named with the reason. German credit: six numbers, of which three can be changed, a
logistic regression and a forest, 30 refused people, each feature scaled to its range. Nothing follows from anything,
since most of these tools know no causes. What a tool returns counts if the model then decides favourably and nothing is
changed that may not be; its cost is the sum of changes over each feature's range. *Cost over least* is the mean cost of
those it answers over the mean of their least costs, which are proven. At the end stands the ratio of average efforts
(women over men) that an audit would report by each tool, among those it answers, beside the exact one of everybody.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import equieffort as ee
from equieffort.foundations.jit import compile_at_once

HERE = Path(__file__).parent
FOLDER = HERE.parents[1] / ".venv-peers"
FEATURES = ["duration", "amount", "installment_rate", "residence", "age", "existing_credits"]
ACTIONABLE = FEATURES[:3]
ROUNDED = 1e-3
SECONDS = 300
"""How far a feature that may not be changed may be off; and a tool that takes longer for all people is stopped."""


@dataclass(frozen=True)
class Peer:
    """A tool: what is installed, what asks it, and which models it can read."""

    name: str
    env: str
    packages: tuple[str, ...]
    script: str
    arguments: tuple[str, ...] = ()
    models: tuple[str, ...] = ("logistic", "forest")
    pythons: tuple[str, ...] = ()
    """Interpreters to try besides this one."""


PEERS = (
    Peer("DiCE, random", "dice", ("dice-ml",), "ask_dice.py", ("random",)),
    Peer("DiCE, genetic", "dice", ("dice-ml",), "ask_dice.py", ("genetic",)),
    Peer("DiCE, k-d tree", "dice", ("dice-ml",), "ask_dice.py", ("kdtree",)),
    Peer(
        "actionable-recourse", "recourse", ("actionable-recourse", "numpy<2", "pandas<3"), "ask_recourse.py",
        models=("logistic",),
    ),
    Peer(
        "OCEAN, constraint programming", "ocean", ("oceanpy", f"scikit-learn=={sklearn.__version__}"), "ask_ocean.py",
        models=("forest",), pythons=("python3.12", "python3.13"),
    ),
    # A forest is flat nearly everywhere: there is no gradient to go down.
    Peer("alibi, counterfactual", "alibi", ("alibi[tensorflow]", "click"), "ask_alibi.py", models=("logistic",)),
    Peer("AIF360's FACTS", "aif360", ("aif360[FACTS]",), "ask_facts.py"),
)  # fmt: skip


def installed(peer: Peer, given: str | None) -> tuple[Path | None, str]:
    """The interpreter of its environment, made where there is none; or why there is none."""
    python = FOLDER / peer.env / "bin" / "python"
    if (FOLDER / peer.env / ".ready").exists():
        return python, ""
    why = ""
    for name in [given] if given else [sys.executable, *peer.pythons]:
        base = shutil.which(name)
        if base is None:
            continue
        shutil.rmtree(FOLDER / peer.env, ignore_errors=True)
        subprocess.run([base, "-m", "venv", FOLDER / peer.env], check=True)
        command = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *peer.packages]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            (FOLDER / peer.env / ".ready").touch()
            return python, ""
        told = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        needs = sorted({part for line in told for part in line.split("; ") if "Requires-Python" in part})
        why = f"needs Python {needs[-1].split('Requires-Python ')[-1]}" if needs else (told or ["pip failed"])[-1][:110]
    return None, why


def worlds() -> dict[str, dict[str, Any]]:
    """Both models, the people asked about, and their least efforts, proven."""
    X, y = ee.datasets.german_credit()
    Z, label = X[FEATURES].astype(float), (y == "good").astype(int).to_numpy()
    Z = (Z - Z.min()) / (Z.max() - Z.min()) - 0.5
    models = {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
        "forest": RandomForestClassifier(50, max_depth=6, random_state=0),
    }
    found = {}
    for kind, model in models.items():
        model.fit(Z.to_numpy(), label)
        refused = model.predict(Z.to_numpy()) == 0
        women, men = (np.flatnonzero(refused & (X["sex"] == sex).to_numpy()) for sex in ("female", "male"))
        rows = np.concatenate([women[:15], men[: 30 - min(len(women), 15)]])
        found[kind] = solved(model, Z, X["sex"], rows) | {
            "said": said(kind, model),
            "y": label,
            "Z": Z,
            "sex": X["sex"],
        }
    return found


def solved(model: Any, Z: pd.DataFrame, sex: pd.Series, rows: np.ndarray) -> dict[str, Any]:
    """The people, their groups, their least efforts, and the CPU seconds these took."""
    people = Z.assign(sex=sex)
    wide = ee.Feature("actionable", kind="continuous")
    schema = ee.Schema(
        sensitive="sex", protected="female", favourable=1,
        features={name: wide if name in ACTIONABLE else "immutable" for name in FEATURES},
    )  # fmt: skip
    asked = people.iloc[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scm = ee.StructuralCausalModel([], nodes=FEATURES).fit(people)
        problem = ee.RecourseProblem.of(model, people, schema=schema, scm=scm, model_features=FEATURES)
        # Otherwise so few people would be solved by interpreted loops, which says nothing of many.
        with compile_at_once():
            ee.solve(problem, asked)
            start = time.process_time()
            table = ee.solve(problem, asked)
            seconds = time.process_time() - start
    assert set(table.frame()["status"]) <= {"optimal", "infeasible"}
    return {"rows": rows, "model": model, "group": sex.iloc[rows].to_numpy(), "least": table.effort, "cpu": seconds}


def said(kind: str, model: Any) -> dict[str, Any]:
    """A model as plain numbers."""
    if kind == "logistic":
        scaler, last = model[0], model[-1]
        coef = last.coef_[0] / scaler.scale_
        return {"kind": kind, "coef": coef.tolist(), "intercept": float(last.intercept_[0] - coef @ scaler.mean_)}
    trees = []
    for one in model.estimators_:
        tree = one.tree_
        share = tree.value[:, 0, 1] / tree.value[:, 0, :].sum(axis=1)
        trees.append(
            {"feature": tree.feature.tolist(), "threshold": tree.threshold.tolist(), "share": share.tolist(),
             "left": tree.children_left.tolist(), "right": tree.children_right.tolist()}
        )  # fmt: skip
    return {"kind": kind, "trees": trees}


def ask(peer: Peer, python: Path, world: dict[str, Any], folder: Path) -> dict[str, Any] | str:
    """What a peer answers, or why it does not."""
    Z, kind = world["Z"], world["said"]["kind"]
    problem = {
        "features": FEATURES, "actionable": ACTIONABLE, "lower": Z.min().to_dict(), "upper": Z.max().to_dict(),
        "train": Z.to_numpy().tolist(), "y": world["y"].tolist(), "train_group": world["sex"].tolist(),
        "people": Z.iloc[world["rows"]].to_numpy().tolist(), "group": world["group"].tolist(),
        "model": world["said"] | {"pickle": str(folder / f"{kind}.pickle")},
    }  # fmt: skip
    (folder / f"{kind}.pickle").write_bytes(pickle.dumps(world["model"]))
    path = folder / f"{kind}.json"
    path.write_text(json.dumps(problem), encoding="utf-8")
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"), "1")
    command = [python, HERE / peer.script, path, *peer.arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS,
            env=os.environ | threads | {"PYTHONPATH": str(HERE)},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"stopped after {SECONDS} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["no message"])[-1][:110]
    answered: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answered


def row(name: str, world: dict[str, Any], found: list[Any], cpu: float, note: str = "") -> str:
    """A line of the table."""
    Z, least, group, model = world["Z"], world["least"], world["group"], world["model"]
    scale = (Z.max() - Z.min()).to_numpy()
    cost = np.full(len(least), np.nan)
    held = [k for k, name_ in enumerate(FEATURES) if name_ not in ACTIONABLE]
    for k, point in enumerate(found):
        if point is None:
            continue
        fact, values = Z.iloc[world["rows"][k]].to_numpy(), np.array(point)
        kept = np.allclose(values[held], fact[held], rtol=0, atol=ROUNDED)
        # Some tools round: what may not be changed is as it was.
        values[held] = fact[held]
        inside = (values >= Z.min().to_numpy() - 1e-9).all() and (values <= Z.max().to_numpy() + 1e-9).all()
        if inside and kept and model.predict(values[None, :])[0] == 1:
            cost[k] = float((np.abs(values - fact) / scale).sum())
    has = ~np.isnan(least)
    both = has & ~np.isnan(cost)
    over = [
        cost[both & (group == sex)].sum() / least[both & (group == sex)].sum()
        if (both & (group == sex)).any()
        else np.nan
        for sex in ("female", "male")
    ]
    return (
        f"{name:<32}{1000 * cpu / len(least):>10.1f}{100 * (~np.isnan(cost[has])).mean():>9.0f}%"
        f"{over[0]:>12.2f}{over[1]:>8.2f}{ratio(cost, group):>9.2f}{ratio(least, group):>8.2f}  {note}"
    )


def ratio(cost: np.ndarray, group: np.ndarray) -> float:
    """Mean effort of women over that of men, among those who have one."""
    a, b = cost[group == "female"], cost[group == "male"]
    return float(np.nanmean(a) / np.nanmean(b)) if (~np.isnan(a)).any() and (~np.isnan(b)).any() else np.nan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="names of environments, such as dice ocean")
    parser.add_argument(
        "--python", nargs="*", default=[], help="an interpreter for one, such as ocean=/usr/bin/python3.12"
    )
    asked = parser.parse_args()
    pythons = dict(one.split("=", 1) for one in asked.python)
    FOLDER.mkdir(exist_ok=True)
    peers = [peer for peer in PEERS if not asked.only or peer.env in asked.only]
    places = {peer.env: installed(peer, pythons.get(peer.env)) for peer in {p.env: p for p in peers}.values()}
    made = worlds()
    with tempfile.TemporaryDirectory() as folder:
        for kind, world in made.items():
            who = {sex: int((world["group"] == sex).sum()) for sex in ("female", "male")}
            print(f"\n{kind}, {who['female']} women and {who['male']} men refused, "
                  f"{int((~np.isnan(world['least'])).sum())} of them with a route")  # fmt: skip
            print(f"{'':<32}{'CPU, ms':>10}{'success':>10}{'cost over least':>20}{'ratio of efforts':>17}")
            print(f"{'':<32}{'a person':>10}{'':>10}{'women':>12}{'men':>8}{'reported':>9}{'exact':>8}")
            print(row_exact(world), flush=True)
            for peer in peers:
                if kind not in peer.models:
                    continue
                python, why = places[peer.env]
                if python is None:
                    print(f"{peer.name:<32}does not install: {why}", flush=True)
                    continue
                answered = ask(peer, python, world, Path(folder))
                if isinstance(answered, str):
                    print(f"{peer.name:<32}{answered}", flush=True)
                    continue
                note = f"{answered['failed']} errors, such as {answered['errors'][0]}" if answered["failed"] else ""
                print(
                    row(peer.name, world, answered["found"], sum(answered["seconds"]) + answered["ready"], note),
                    flush=True,
                )


def row_exact(world: dict[str, Any]) -> str:
    """Ours, whose costs are the least by proof."""
    least, group = world["least"], world["group"]
    return (
        f"{'equieffort':<32}{1000 * world['cpu'] / len(least):>10.1f}{100:>9.0f}%{1:>12.2f}{1:>8.2f}"
        f"{ratio(least, group):>9.2f}{ratio(least, group):>8.2f}  proven"
    )


if __name__ == "__main__":
    main()
