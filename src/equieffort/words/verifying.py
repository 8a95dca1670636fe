"""What was checked again in an audit, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from equieffort.data.frames import number
from equieffort.errors import label, listed, many
from equieffort.replay.answers import Failure, Opinion

MOST = 20
"""So many failures are told one by one."""
SOLVED = ("optimal", "feasible", "infeasible", "unknown")
OUTCOMES = {
    "confirmed": "confirmed by {solver}",
    "contradicted": "contradicted by {solver}",
    "unsettled": "neither confirmed nor contradicted by {solver}",
}
TOLD = {
    "refused": "the audit says refused, the model approves",
    "approved": "the audit says approved, the model refuses",
    "flips": "the model still refuses after the action",
    "limits": "{subject} is set where it may not be",
    "max_actions": "more features are changed than may be changed at once",
    "equations": "{subject} is not what its equation says",
    "plausible": "{subject} leaves the range that it must stay in",
    "rules": "the action breaks the rule {subject}",
    "cost": "what {subject} costs is not what its price says",
    "bound": "the proven bound and the cost do not fit together",
    "curve": "{subject} around this person is not what the kept curve says",
}
"""What does not hold, by check."""


def title_text(people: int, failed: int, contradicted: int, not_rechecked: int = 0) -> str:
    """The first line.

    >>> title_text(1000, 0, 0, 63)
    'Everything that was checked holds, but the actions of 63 of 1,000 people could not be re-checked.'
    """
    if not failed and not contradicted and not_rechecked:
        return (
            "Everything that was checked holds, but the actions of "
            f"{not_rechecked:,} of {many(people, 'person', 'people')} could not be re-checked."
        )
    if not failed and not contradicted:
        return f"Everything that was checked holds, for {many(people, 'person', 'people')}."
    parts = [f"{many(failed, 'thing does', 'things do')} not hold"] if failed else []
    if contradicted:
        parts.append(f"another solver contradicts the audit about {many(contradicted, 'person', 'people')}")
    return f"The audit does not hold: {', and '.join(parts)}."


def replay_lines(checked: Mapping[str, int], unchecked: Mapping[str, Sequence[int]], margin: float) -> list[str]:
    """What was asked of the model and of the actions, and of whom it could not be asked."""
    lines = [
        f"The model was asked about {many(checked.get('refused', 0), 'refused person', 'refused people')} and "
        f"{checked.get('approved', 0):,} approved.",
    ]
    actions = checked.get("flips", 0)
    whole = min(checked.get("equations", 0), checked.get("cost", 0))
    if whole:
        lines.append(
            f"{many(whole, 'action was', 'actions were')} replayed in plain numpy: limits, equations, rules, cost, "
            "and the model's own label after it."
        )
    if actions > whole:
        lines.append(
            f"Of {many(actions - whole, 'action', 'actions')} limits and the model's own label were checked, "
            "with values after it as the audit says them."
        )
    for what, rows in unchecked.items():
        whose = what if what == "the cost" else f"the equation of {what}"
        lines.append(f"Not re-checked for {many(len(rows), 'person', 'people')}: {whose} is code, which no file holds.")
    if margin > 0:
        lines.append(f"The margin of {number(margin)} was not re-checked; the label after each action was.")
    return lines


def certificate_lines(counts: Mapping[str, Mapping[str, int]], solver: str) -> list[str]:
    """Which independent check the certificates passed, status by status."""
    lines = []
    for status in SOLVED:
        of = counts[status]
        if not of["people"]:
            continue
        asked = sum(of[outcome] for outcome in OUTCOMES)
        answers = {f"{told.format(solver=solver)}": of[outcome] for outcome, told in OUTCOMES.items()}
        answers["not independently checked"] = of["people"] - asked
        if solver == "grid":
            answers["not contradicted by a grid"] = answers.pop(OUTCOMES["unsettled"].format(solver=solver))
        told = ", ".join(f"{answer} for {count:,}" for answer, count in answers.items() if count)
        replayed = of["people"] - of["not re-checked"]
        action = f" action replayed for {replayed:,};" if status in ("optimal", "feasible") else ""
        claim = "that nothing leads to approval" if status == "infeasible" else "lower bound"
        lines.append(f"{status} ({of['people']:,}):{action} {claim} {told}.")
    return [NO_PROOF[solver], *lines] if solver in NO_PROOF else lines


NO_PROOF = {
    "search": "A search proves nothing: it can contradict the audit by a cheaper action, never confirm a bound.",
    "grid": "A grid proves nothing between its points: it can contradict the audit by a cheaper action, or any action "
    "where the audit says that there is none, never confirm it.",
}
"""What second opinions cannot do, by who gives them."""


def failure_lines(failures: Sequence[Failure]) -> list[str]:
    """What does not hold, person by person; the first of many."""
    lines = [failure_text(one) for one in failures[:MOST]]
    if len(failures) > MOST:
        whom = {label(one.person) for one in failures}
        lines.append(f"... and {len(failures) - MOST:,} more, about {many(len(whom), 'person', 'people')} in all.")
    return lines


def failure_text(one: Failure) -> str:
    """One thing that does not hold."""
    subject = repr(one.subject) if one.subject else "the action"
    text = f"{label(one.person)} ({one.status}): {TOLD[one.check].format(subject=subject)}"
    if one.said is not None and one.found is not None:
        text += f": {_exact(one.said)} in the audit, {_exact(one.found)} here"
    return f"{text}{f' (way {one.way})' if one.way > 1 else ''}."


def _exact(value: float) -> str:
    """Enough digits to see a difference."""
    return f"{value:.10g}"


def contradiction_lines(opinions: Sequence[Opinion], solver: str) -> list[str]:
    """Whom two solvers disagree about."""
    lines = []
    for one in opinions[:MOST]:
        audit, other = (
            f"{status}{'' if cost != cost else f' at {_exact(cost)}'}, bound {_exact(bound)}"
            for status, cost, bound in (
                (one.status, one.cost, one.bound), (one.other_status, one.other_cost, one.other_bound),
            )
        )  # fmt: skip
        lines.append(f"{label(one.person)}: the audit says {audit}; {solver} says {other}.")
    if len(opinions) > MOST:
        lines.append(f"... and {len(opinions) - MOST:,} more: {listed(label(one.person) for one in opinions[MOST:])}.")
    return lines
