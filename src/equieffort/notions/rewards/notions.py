"""The notions of this family, and what they are read with unless other numbers are named."""

from __future__ import annotations

from equieffort.notions.base import Notion

REFERENCE = "Heidari, Nanda and Gummadi 2019"
DELTAS = (0.1, 0.25, 0.5)
"""Efforts that are looked at unless others are named: a tenth, a quarter and half of one's own group overtaken."""
UNASSIGNED = "each assignment changes the ranks within the groups, and with them everybody's effort"
"""Why nothing bounds what people whose group is not known could change."""
BENEFITS = ("decision", "probability", "score")
"""What can be gained: the approval, the model's probability of one, or its score."""
GAINED = 0.1
"""The gain of probability or score that a least effort is read for unless another is named."""
MOST_PEOPLE = 5_000
"""Who are solved again when every notion is read together; of more people so many are drawn."""
ROUNDING = 1e-9
"""Of an effort: a step over the boundary is not what keeps anybody from it."""
BOUNDED = Notion(
    "bounded_reward",
    "Bounded-effort reward",
    "mean(1{C <= delta} | group), C by ranks within the own group",
    REFERENCE,
    "What the same effort, relative to one's own group, brings people of a group.",
    neutral=float("nan"),
    form="share",
    unassigned=UNASSIGNED,
)
BOUNDED_GAP = Notion(
    "bounded_reward_gap",
    "Difference of bounded-effort rewards",
    "mean(1{C <= delta} | group) - mean(1{C <= delta} | reference), C by ranks within the own group",
    REFERENCE,
    "Whether the same effort, relative to one's own group, is rewarded less in one group.",
    orientation=-1,
    form="points",
    unassigned=UNASSIGNED,
)
THRESHOLD = Notion(
    "threshold_reward",
    "Threshold reward",
    "mean(C | refused, group), C by ranks within the own group",
    REFERENCE,
    "How many of their own people the refused of a group must overtake for an approval.",
    neutral=float("nan"),
    unassigned=UNASSIGNED,
)
THRESHOLD_GAP = Notion(
    "threshold_reward_gap",
    "Difference of threshold rewards",
    "mean(C | refused, group) - mean(C | refused, reference), C by ranks within the own group",
    REFERENCE,
    "Whether people of one group must overtake more of their own for the same approval.",
    unassigned=UNASSIGNED,
)
GAIN = Notion(
    "bounded_gain",
    "Largest gain within an effort",
    "mean(max gain in benefit with effort <= delta | group), effort by ranks within the own group",
    REFERENCE,
    "What the same effort, relative to one's own group, adds to the model's probability or score.",
    neutral=float("nan"),
    unassigned=UNASSIGNED,
)
GAIN_GAP = Notion(
    "bounded_gain_gap",
    "Difference of largest gains within an effort",
    "mean(max gain with effort <= delta | group) - mean(max gain with effort <= delta | reference)",
    REFERENCE,
    "Whether the same effort, relative to one's own group, adds less to the probability or score of one group.",
    orientation=-1,
    unassigned=UNASSIGNED,
)
ON_REQUEST = 'Gains in probability or score are read on request: audit.effort_rewards(benefit="probability").'
SAVED = "It solves everybody again by ranks within groups, and the model is not in a saved audit."
