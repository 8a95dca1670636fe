"""One HTML file and a model card of an audit: everything a committee reads, from the audit alone.

`render` and `model_card` read live and loaded audits alike, ask neither the model nor the network, and write the same
text for the same audit.
"""

from equieffort.report.card import model_card
from equieffort.report.page import render

__all__ = ["model_card", "render"]
