"""The paper, figure by figure: our results beside the published ones, and where they differ, why."""

from equieffort.paper.compare import REASONS, compare, published_points
from equieffort.paper.compute import Size
from equieffort.paper.reproduce import Reproduction, reproduce

__all__ = ["REASONS", "Reproduction", "Size", "compare", "published_points", "reproduce"]
