"""Rule: a parsed rule, asked who belongs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from equieffort.errors import RuleError, closest, listed
from equieffort.world.rules.columns import Column, Mask, mask
from equieffort.world.rules.tree import Between, Compare, Literal, Name, Node, Within, conditions, short


@dataclass(frozen=True, slots=True)
class Rule:
    """A parsed rule; two rules are equal when they mean the same conditions in the same order."""

    text: str = field(compare=False)
    tree: Node

    def __str__(self) -> str:
        return str(self.tree)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns the rule speaks of, in order of first appearance."""
        found: dict[str, None] = {}
        for node in conditions(self.tree):
            found[node.name.name] = None
            if isinstance(node, Compare) and isinstance(node.other, Name):
                found[node.other.name] = None
        return tuple(found)

    def evaluate(self, columns: Mapping[str, Any]) -> Mask:
        """Who belongs, one truth value a person."""
        return mask(self.tree, self._columns(columns))

    def unmatched(self, columns: Mapping[str, Any]) -> tuple[str, ...]:
        """Sentences about texts of the rule that nobody has, which are often misspelt.

        >>> import numpy as np
        >>> from equieffort.world.rules import parse_rule
        >>> parse_rule("purpose = 'caar'").unmatched({"purpose": np.array(["car", "tv"])})
        ("purpose = 'caar' matches nobody. Did you mean 'car'?",)
        """
        views, present, said = self._columns(columns), dict[str, set[str]](), dict[str, None]()
        for node in conditions(self.tree):
            view = views[node.name.name]
            if view.kind != "text" or isinstance(node, Between):
                continue
            negated = node.negated if isinstance(node, Within) else node.sign == "!="
            known = present.setdefault(view.name, set(view.values[~view.missing]))
            for value in node.values if isinstance(node, Within) else (node.other,):
                if isinstance(value, Literal) and value.kind == "text" and value.value not in known:
                    effect = "!= {} excludes nobody." if negated else "= {} matches nobody."
                    hint = closest(value.value, sorted(known))
                    said[f"{node.name} {effect.format(value)} {hint}".rstrip()] = None
        return tuple(said)

    def _columns(self, columns: Mapping[str, Any]) -> dict[str, Column]:
        for name in self.names:
            if name not in columns:
                fix = f"{closest(name, columns)} The columns are {listed(columns)}.".lstrip()
                # An unquoted text reads as a second column; that is the likelier slip on the right.
                if any(isinstance(n, Compare) and n.other == Name(name) for n in conditions(self.tree)):
                    fix += f" If a text is meant, put it in quotes: {Literal('text', name)}."
                what = f"The rule {short(str(self), 80)} uses the unknown column {name!r}."
                raise RuleError("RULE_NAME", what, fix=fix)
        views = {name: Column.of(name, columns[name]) for name in self.names}
        if len({len(view.values) for view in views.values()}) > 1:
            lengths = ", ".join(f"{name!r} has {len(view.values)}" for name, view in views.items())
            raise RuleError(
                "SUBGROUP_MASK",
                f"The columns of the rule differ in length: {lengths}.",
                fix="Give one value a person in each.",
            )
        return views
