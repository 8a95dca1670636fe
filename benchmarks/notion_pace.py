"""How long other notions take beside solving: what `equieffort audit --notions --dry-run` guesses with.

`python benchmarks/notion_pace.py` prints, for worlds of several sizes, the seconds of the processor that solving, two
further ways and all notions with their details take, and what the dry run would guess for the notions.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import equieffort as ee
from equieffort.spec.estimates import notions_take

SIZES = (200, 800, 3_200)
MODELS = {
    "linear": LogisticRegression(max_iter=1000),
    "forest": RandomForestClassifier(20, max_depth=4, random_state=0),
}
NUMBERS = ("income", "savings", "debt")


def world(n: int, model: str) -> ee.Audit:
    """People of two groups, three numbers that may be set, one of which another follows."""
    rng = np.random.default_rng(5)
    people = pd.DataFrame({"sex": np.array(["f", "m"])[np.arange(n) % 2], "income": rng.uniform(10, 70, n)})
    people["savings"] = 0.5 * people["income"] + rng.normal(0, 6, n)
    people["debt"] = rng.normal(0, 5, n)
    approved = people["income"] + people["savings"] - people["debt"] > 79
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features=dict.fromkeys(NUMBERS, "actionable"))
    fitted = MODELS[model].fit(people[list(NUMBERS)], approved)
    return ee.audit(fitted, people, schema=schema, scm=[("income", "savings")])


def pace(audit: ee.Audit) -> str:
    """Seconds of solving, further ways and notions, what is guessed for the notions, and how far off that is."""
    inputs, refused = audit.inputs, int(audit.recourse.is_unfavourable.sum())
    assert inputs is not None
    taken = []
    for work in (
        lambda: ee.solve(inputs.problem, inputs.people, solver=inputs.choice),
        lambda: audit.with_alternatives(3),
        audit.with_notions,
    ):
        begin = time.process_time()
        work()
        taken.append(time.process_time() - begin)
    guessed = notions_take(inputs, refused, taken[0])
    seconds = " ".join(f"{one:8.2f}" for one in (*taken, guessed))
    return f"{len(audit.recourse):7,} {refused:7,} {seconds} {guessed / taken[2]:6.2f}"


def main() -> None:
    """Print a line a world."""
    warnings.simplefilter("ignore")
    world(50, "linear").with_notions()
    heads = ("solving", "2 ways", "notions", "guessed")
    print(f"{'model':8} {'people':>7} {'refused':>7} {' '.join(f'{one:>8}' for one in heads)} {'ratio':>6}")
    for model in MODELS:
        for n in SIZES if model == "linear" else SIZES[:2]:
            print(f"{model:8} {pace(world(n, model))}", flush=True)


if __name__ == "__main__":
    main()
