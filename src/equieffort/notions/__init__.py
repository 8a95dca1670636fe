"""Notions beside equality of effort: each family reads the recourse table, and the model where it must.

`FAMILIES` is the one list that `Audit.notions`, the command line, the report and the docs read.
"""

from equieffort.notions.awareness import Awareness
from equieffort.notions.base import Audited, Family, NotApplicable, Notion, NotionReading
from equieffort.notions.boundary import Boundary
from equieffort.notions.counterfactual import CounterfactualFamily
from equieffort.notions.discrimination import DiscriminationFamily
from equieffort.notions.facts import Facts, FactsMacro
from equieffort.notions.fair_causal_recourse import FairCausalRecourseFamily
from equieffort.notions.huang import Huang
from equieffort.notions.improvement import Improvement
from equieffort.notions.responsiveness import Responsiveness
from equieffort.notions.rewards import EffortRewards
from equieffort.notions.situation_testing import SituationTestingFamily
from equieffort.notions.social_burden import SocialBurden

FAMILIES: tuple[Family, ...] = (
    Huang(),
    CounterfactualFamily(),
    FairCausalRecourseFamily(),
    DiscriminationFamily(),
    SituationTestingFamily(),
    Boundary(),
    SocialBurden(),
    EffortRewards(),
    Awareness(),
    Responsiveness(),
    Improvement(),
    Facts(),
    FactsMacro(),
)
"""Every family, in the order in which they are shown."""

__all__ = ["FAMILIES", "Audited", "Family", "NotApplicable", "Notion", "NotionReading"]
