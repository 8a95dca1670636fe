"""How often intervals of group routes hold the truth: `python benchmarks/group_routes.py [--runs 500]`.

Refused people of a group lack d of one feature, half-normal, lognormal or exponential; d is their least effort, and one
in ten has no route. Routes "raise by c" turn whoever lacks at most c, at an effort of c; candidates are the 25, 50, 75,
90 and 100 % points of those whom routes are chosen on, rounded up to two digits. Menus of one to three are chosen on
half of the people and measured on the other half, by the code of `Audit.group_routes`. The truth of a menu is an
integral over the law of d. `held`: runs whose 95 % interval holds it, of those with an interval; `log`: Student's
interval on the log scale, for comparison. A run draws people anew.
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

import numpy as np
import pandas as pd
from scipy.stats import expon, halfnorm, lognorm
from scipy.stats import t as student

from equieffort.data.frames import Floats
from equieffort.notions.group_routes.choosing import best_menus
from equieffort.notions.group_routes.policies import Pool

LAWS = {"half-normal": halfnorm(), "exponential": expon(), "lognormal(.9)": lognorm(0.9)}
ROUTELESS = 0.1


def rounded_up(values: Floats) -> Floats:
    """To two digits."""
    unit = 10.0 ** (np.floor(np.log10(values)) - 1)
    return np.unique(np.ceil(values / unit - 1e-9) * unit)


def truth(law: str, levels: Floats) -> tuple[float, float]:
    """The share turned by a menu, and the mean extra effort of those who are."""
    points = np.linspace(0, 1, 10_001)[1:-1]
    lack = LAWS[law].ppf(points)
    at = np.searchsorted(levels, lack)
    turned = at < len(levels)
    extra = levels[at[turned]] - lack[turned]
    return (1 - ROUTELESS) * float(turned.mean()), float(extra.mean())


def one_run(law: str, n: int, rng: np.random.Generator) -> list[dict[str, float]]:
    """A row a number of routes."""
    lack = np.where(rng.random(n) < ROUTELESS, np.inf, LAWS[law].rvs(n, random_state=rng))
    chosen, measured = np.arange(n // 2), np.arange(n // 2, n)
    known = lack[chosen][np.isfinite(lack[chosen])]
    levels = rounded_up(np.quantile(known, [0.25, 0.5, 0.75, 0.9, 1.0]))
    costs = np.where(lack[:, None] <= levels, levels, np.inf)
    pool = Pool((), costs, np.where(np.isfinite(lack), lack, np.nan), np.zeros(n, dtype=np.int16), ())
    rows = []
    for k in (1, 2, 3):
        routes = list(best_menus(pool.price(chosen), k)[0].routes)
        one = pool.measure("a", measured, costs[measured][:, routes].min(axis=1))
        share, extra = truth(law, np.sort(levels[routes]))
        (low, high), (least, most) = one.extra_limits(0.95), one.limits(0.95)
        half = student.ppf(0.975, one.n_turned - 1) * one.sd_extra / one.n_turned**0.5 / one.mean_extra
        rows.append(
            {
                "routes": k, "turned": one.n_turned, "truth": extra, "mean": one.mean_extra,
                "extra effort held %": 100 * (low <= extra <= high),
                "log %": 100 * (abs(np.log(extra / one.mean_extra)) <= half),
                "effectiveness held %": 100 * (least <= share <= most),
            }
        )  # fmt: skip
    return rows


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    runs = parser.parse_args().runs
    print(f"{datetime.now(UTC).date()}, {runs} runs a cell")
    rows = []
    for law in LAWS:
        for n in (40, 100, 400):
            for run in range(runs):
                found = one_run(law, n, np.random.default_rng([run, n, *law.encode()]))
                rows += [{"lack": law, "refused": n} | row for row in found]
    means = pd.DataFrame(rows).groupby(["lack", "refused", "routes"], sort=False).mean().reset_index()
    print(means.round({"turned": 1, "truth": 3, "mean": 3}).to_string(index=False))


if __name__ == "__main__":
    main()
