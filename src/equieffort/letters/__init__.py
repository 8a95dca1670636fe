"""A page a refused person: what would lead to approval, what stands in the way, or what is not known.

>>> "{{ letter.title }}" in default_template("html")
True
"""

from equieffort.letters.files import write_letters
from equieffort.letters.pages import default_template

__all__ = ["default_template", "write_letters"]
