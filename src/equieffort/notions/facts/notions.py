"""What FACTS' six notions are (Kavouras et al. 2023): facts that tables, the report and the docs are made from."""

from __future__ import annotations

from dataclasses import replace

from equieffort.notions.base import Notion

SOURCE = "Kavouras et al. 2023 (FACTS)"
PREFIX = "facts_"

EFFECTIVENESS = Notion(
    "facts_effectiveness",
    "Equal effectiveness",
    "eff(A, reference) - eff(A, group)",
    SOURCE,
    "Who is turned by an action of their own, at any cost: the gap in possible recourse (RD).",
    form="points",
)
CHOICE = Notion(
    "facts_choice",
    "Equal choice for recourse",
    "#{a in A: eff(a, reference) >= phi} - #{a in A: eff(a, group) >= phi}",
    SOURCE,
    "How many actions work for most of a group, whatever they cost: who has a choice.",
)
WITHIN_BUDGET = Notion(
    "facts_effectiveness_within_budget",
    "Equal effectiveness within a budget",
    "eff(A, reference, c) - eff(A, group, c)",
    SOURCE,
    "Who is turned by at most an effort c: one point of the effort curve.",
    form="points",
)
COST_OF_EFFECTIVENESS = Notion(
    "facts_cost_of_effectiveness",
    "Equal cost of effectiveness",
    "min{c: eff(A, group, c) >= phi} - min{c: eff(A, reference, c) >= phi}",
    SOURCE,
    "The effort after which a share phi of all refused is turned: those without a route count.",
)
MEAN_RECOURSE = Notion(
    "facts_mean_recourse",
    "Equal (conditional) mean recourse",
    "mean(C | turned, group) - mean(C | turned, reference)",
    SOURCE,
    "The difference that ACR is the ratio of: average effort of those who are turned.",
)
TRADE_OFF = Notion(
    "facts_trade_off",
    "Fair effectiveness-cost trade-off",
    "max over c of |eff(A, reference, c) - eff(A, group, c)|",
    SOURCE,
    "The largest gap at any effort, with no budget to choose: the Kolmogorov-Smirnov statistic of the effort curves.",
    orientation=0,
    form="points",
)
SIX = (EFFECTIVENESS, CHOICE, WITHIN_BUDGET, COST_OF_EFFECTIVENESS, MEAN_RECOURSE, TRADE_OFF)
ADDS = {
    EFFECTIVENESS.name: "Whether the best single advice to everybody of a group turns as many as in the other.",
    WITHIN_BUDGET.name: "The same of those whom the advice asks at most an effort c.",
    COST_OF_EFFECTIVENESS.name: "What the cheapest single advice that turns a share phi asks.",
    MEAN_RECOURSE.name: "What turning people by single advice costs on average, along the curve of the best one.",
    TRADE_OFF.name: "The largest gap at any effort between what single advice turns in the groups.",
}
MACRO = {
    notion.name: replace(
        notion, name=notion.name.replace(PREFIX, PREFIX + "macro_", 1), title=f"{notion.title}, one action for all",
        adds=ADDS.get(notion.name, notion.adds),
        unassigned="each assignment can make another action the best one of a whole group",
    )
    for notion in SIX
}  # fmt: skip
"""The same with one action for everybody of a group, by the name of the micro form."""
BY_NAME = {notion.name.removeprefix(PREFIX): notion for notion in SIX}
"""As `Audit.facts(notion=...)` takes them."""
