"""Models from files, read without running anything that is in them, and models trained on decisions."""

from equieffort.models.loaders import load_model
from equieffort.models.surrogate import SURROGATES, Surrogate, train_surrogate

__all__ = ["SURROGATES", "Surrogate", "load_model", "train_surrogate"]
