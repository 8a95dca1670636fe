"""Why somebody has no route to approval, as a sentence."""

from __future__ import annotations

import math

from equieffort.recourse.status import Blocking, Infeasibility, Obstacle
from equieffort.words.limits import PYTHON, Audience, obstacle_text

ONE = "Without this limit there would be a route to approval"
FIRST = {
    Blocking.EACH: "Without any one of these limits there would be a route to approval",
    Blocking.TOGETHER: "Several limits together block every route to approval",
    Blocking.ALL: "Without all of these limits there would be a route to approval; whether fewer would do is not known",
    Blocking.HELD: "Nothing may change",
    Blocking.UNEXPLAINED: "No allowed change leads to approval; what stands in the way was not found",
}
BEYOND = "Nothing that the actionable features could become, within or beyond their limits, changes the decision"


def infeasibility(fact: Infeasibility, audience: Audience = PYTHON) -> str:
    """The sentence for an audience; the report's says nothing of one person.

    >>> from equieffort.recourse.status import LimitKind
    >>> stop = Obstacle("income", LimitKind.UPPER, 1, 12.0, fact=4.0, stops_at=12.0)
    >>> infeasibility(Infeasibility((stop,), Blocking.CLOSEST, needed=17.8, reachable=8.0))
    'The best allowed changes cover 44 % of the distance to approval: income stops at 12 (upper limit 12).'
    """
    if fact.blocking == Blocking.BEYOND:
        held = [audience.quoted(one.column) for one in fact.obstacles if one.column]
        return f"{BEYOND} while {' and '.join(held)} must not move." if held else f"{BEYOND}."
    if fact.blocking == Blocking.CLOSEST:
        start = _closest(fact, audience)
        named = [_stop(one, audience) for one in fact.obstacles]
    elif fact.blocking == Blocking.HELD:
        start, named = FIRST[fact.blocking], _stays(fact.obstacles, audience)
    else:
        single = fact.blocking == Blocking.EACH and len(fact.obstacles) == 1
        start = ONE if single else FIRST[fact.blocking]
        named = [_limit(one, audience) for one in fact.obstacles]
    return f"{start}: {'; '.join(named)}." if named else f"{start}."


def covered(fact: Infeasibility) -> str:
    """The share of the distance to approval that the best allowed changes cover; never rounded to all of it.

    >>> covered(Infeasibility((), Blocking.CLOSEST, 1000.0, 999.9)), covered(Infeasibility((), "closest", 1000.0, 1.0))
    ('more than 99 %', 'less than 1 %')
    """
    assert fact.needed is not None
    assert fact.reachable is not None
    share = fact.reachable / fact.needed if fact.needed > 0 else 1.0
    if share > 0.99:
        return "more than 99 %"
    return "less than 1 %" if share < 0.01 else f"{math.floor(100 * share + 1e-9)} %"


def _closest(fact: Infeasibility, audience: Audience) -> str:
    if fact.reachable is None or fact.needed is None:
        return "No allowed change leads to approval"
    if fact.reachable <= 0:
        return "No allowed change brings approval closer"
    if not audience.person:
        return "The best allowed changes cover only a part of the distance to approval"
    return f"The best allowed changes cover {covered(fact)} of the distance to approval"


def _stop(one: Obstacle, audience: Audience) -> str:
    """A limit as what stops a change that would help."""
    why = obstacle_text(one, audience)
    if not one.feature:
        return why
    if one.fact is None or not one.side:
        return f"{audience.name(one.feature)} cannot change that way ({why})"
    if not audience.person or one.stops_at is None:
        return f"{audience.name(one.feature)} ({why})"
    if one.stops_at == one.fact:
        way = "up" if one.side > 0 else "down"
        return f"{audience.name(one.feature)} cannot go {way} from {audience.value(one.feature, one.fact)} ({why})"
    return f"{audience.name(one.feature)} stops at {audience.value(one.feature, one.stops_at)} ({why})"


def _limit(one: Obstacle, audience: Audience) -> str:
    """A limit as what would have to go."""
    why = obstacle_text(one, audience)
    if not one.feature:
        return why
    now = f"; now {audience.value(one.feature, one.fact)}" if audience.person and one.fact is not None else ""
    return f"{audience.name(one.feature)} ({why}{now})"


def _stays(obstacles: tuple[Obstacle, ...], audience: Audience) -> list[str]:
    """What keeps each feature where it is."""
    found: dict[str, list[str]] = {}
    facts = {one.feature: one.fact for one in obstacles}
    for one in obstacles:
        found.setdefault(one.feature, []).append(obstacle_text(one, audience))
    told = []
    for name, texts in found.items():
        fact = facts[name]
        at = f" at {audience.value(name, fact)}" if audience.person and fact is not None else ""
        told.append(f"{audience.name(name)} stays{at} ({'; '.join(texts)})" if name else "; ".join(texts))
    return told
