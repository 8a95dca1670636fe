"""Bounded-effort and threshold rewards, with effort by rank within the own group (Heidari, Nanda and Gummadi 2019)."""

from equieffort.notions.rewards.family import EffortRewards, Rewards
from equieffort.notions.rewards.notions import DELTAS

__all__ = ["DELTAS", "EffortRewards", "Rewards"]
