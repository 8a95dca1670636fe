"""Models from files, read without running anything that is in them."""

from equieffort.models.files.loaders import load_model

__all__ = ["load_model"]
