"""What is wrong with an option, in our words: libraries below change theirs, and some are about Python."""

from __future__ import annotations

import re
from typing import Any

import typer
from typer.core import TyperCommand

from equieffort.errors import closest

TOLD = {
    r"Input should be greater than or equal to (.+?)\.?": r"it must be \1 or more.",
    r"Input should be less than or equal to (.+?)\.?": r"it must be \1 or less.",
    r"Input should be a valid integer.*": "it must be a whole number.",
    r"Input should be a valid number.*": "it must be a number.",
}


class Command(TyperCommand):
    """A command that tells of its options itself."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As the library does, with words of ours where an option is wrong."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = told(error.message)
            raise


def told(message: str) -> str:
    """What is wrong with a value, without the library's own words for it, and what was meant perhaps.

    >>> told("Value error, 'milpp' is not one of 'milp', 'search'.")
    "'milpp' is not one of 'milp', 'search'. Did you mean 'milp'?"
    >>> told("Input should be greater than or equal to 1")
    'it must be 1 or more.'
    """
    message = message.removeprefix("Value error, ").strip()
    for pattern, words in TOLD.items():
        if match := re.fullmatch(pattern, message):
            return match.expand(words)
    if match := re.fullmatch(r"'(.*)' is not one of (.*?)\.?", message):
        known = re.findall("'([^']*)'", match[2])
        return f"{message.rstrip('.')}. {closest(match[1], known)}".rstrip()
    return message
