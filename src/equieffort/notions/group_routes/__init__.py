"""Group routes: the fewest actions that turn most refused people of a group, which can be told as policy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from equieffort.foundations.arguments import check_number, check_whole
from equieffort.notions.actions import turned_costs, undominated
from equieffort.notions.base import Audited, require_model
from equieffort.notions.group_routes.candidates import own_actions
from equieffort.notions.group_routes.policies import Policy, Pool, menus, trees
from equieffort.notions.group_routes.result import EVERYBODY, GroupRoutes
from equieffort.notions.group_routes.trees import MOST_LEAVES
from equieffort.notions.patterns import mined_actions, split_items

MOST_CANDIDATES = 400
CHOSEN_ON = 2_000
"""Routes are chosen on at most so many people of a group; all others are measured on."""
SMALLEST = 20
"""Groups with fewer refused people are chosen and measured on the same: half of them would show nothing."""

__all__ = ["GroupRoutes", "find_group_routes"]


def find_group_routes(
    audited: Audited, *, max_routes: int = 3, holdout: float = 0.5, min_support: float = 0.1, max_features: int = 2,
    min_leaf: int = 5, random_state: int = 0,
) -> GroupRoutes:  # fmt: skip
    """Policies of 1 to `max_routes` routes for each group that is compared, and the same for everybody."""
    check_whole("max_routes", max_routes, 1)
    check_number("max_routes", max_routes, f"at most {MOST_LEAVES}", lambda k: k <= MOST_LEAVES)
    check_number("holdout", holdout, "a share from 0 to below 1", lambda share: 0 <= share < 1)
    check_number("min_support", min_support, "a number above 0, at most 1", lambda share: 0 < share <= 1)
    for name, value in (("max_features", max_features), ("min_leaf", min_leaf)):
        check_whole(name, value, 1)
    check_whole("random_state", random_state)
    problem, table = require_model(audited, "group_routes()"), audited.table
    groups = table.groups
    refused = np.flatnonzero(table.is_unfavourable)
    own_codes = groups.codes[refused]
    facts = problem.encoding.encode(table.data)
    # Whether an action turns whoever lacks a value that plays a part is not known: they are counted apart.
    is_known = ~problem.lacking(facts[refused]).any(axis=1)
    rng = np.random.default_rng(random_state)
    chosen_on: dict[str, npt.NDArray[np.intp]] = {}
    measured_on: dict[str, npt.NDArray[np.intp]] = {}
    same: list[str] = []
    unknown: dict[str, int] = {}
    for code in dict.fromkeys(code for one in groups.pairs for code in (one.group, *one.others)):
        people = np.flatnonzero((own_codes == code) & is_known)
        label = groups.labels[code]
        unknown[label] = int((own_codes == code).sum()) - len(people)
        if not len(people):
            continue
        n_chosen = min(len(people) - round(holdout * len(people)), CHOSEN_ON)
        if len(people) < SMALLEST or n_chosen in (0, len(people)):
            chosen_on[label] = measured_on[label] = people
            same.append(label)
        else:
            drawn = rng.permutation(people)
            chosen_on[label], measured_on[label] = np.sort(drawn[:n_chosen]), np.sort(drawn[n_chosen:])
    everybody = np.concatenate([*chosen_on.values()]) if chosen_on else np.empty(0, dtype=np.intp)
    every = list(dict.fromkeys((
        *own_actions(problem, table, refused[everybody]),
        *mined_actions(problem, facts, ~table.is_unfavourable, min_support, max_features),
    )))  # fmt: skip
    kept = every[:MOST_CANDIDATES]
    costs = turned_costs(problem, table.data.iloc[refused], kept)
    # What another candidate does for everybody at no higher cost is never needed.
    needed = undominated(costs[everybody]) if len(everybody) else []
    columns = [c for c in problem.encoding.columns if c.name not in problem.schema.protected_columns]
    own = facts[refused][:, [problem.encoding.position(c.name) for c in columns]]
    looked_at = np.zeros(len(refused), dtype=bool)
    looked_at[everybody] = True
    pool = Pool.of(table, refused, [kept[a] for a in needed], costs[:, needed], split_items(columns, own, looked_at))
    policies: list[Policy] = []
    asked = [(label, rows, {label: measured_on[label]}) for label, rows in chosen_on.items()]
    for name, rows, measured in [*asked, (EVERYBODY, everybody, measured_on)]:
        if needed:
            for k in range(1, max_routes + 1):
                policies += menus(pool, name, rows, measured, k)
                policies += trees(pool, name, rows, measured, k, min_leaf)
    known_way = table.has_action[refused]
    return GroupRoutes(
        tuple(with_front(policies)), groups, audited.level, len(kept), len(every) - len(kept), tuple(same),
        {label: (len(rows), int(known_way[rows].sum())) for label, rows in measured_on.items()},
        {label: n for label, n in unknown.items() if n},
    )  # fmt: skip


def with_front(policies: list[Policy]) -> list[Policy]:
    """The policies with what they are beside the others of their kind where they were chosen."""

    def beats(a: Policy, b: Policy) -> bool:
        mine = (a.n_routes, -a.n_turned_chosen, a.extra_chosen)
        theirs = (b.n_routes, -b.n_turned_chosen, b.extra_chosen)
        return all(x <= y for x, y in zip(mine, theirs, strict=True)) and mine != theirs

    found = []
    for one in policies:
        rivals = [b for b in policies if (b.chosen_for, b.assignment) == (one.chosen_for, one.assignment)]
        found.append(replace(one, is_pareto=not any(beats(b, one) for b in rivals)))
    return found
