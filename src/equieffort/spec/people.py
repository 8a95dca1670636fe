"""Who is compared and what may change: the schema that a spec declares."""

from __future__ import annotations

from typing import Any

from equieffort.data.frames import reads_as_number
from equieffort.data.one_hot import OneHot
from equieffort.errors import SchemaError, many
from equieffort.spec.keys import UNUSED
from equieffort.spec.kinds import Number
from equieffort.spec.nodes import Items
from equieffort.spec.parsed import Parsed, placed
from equieffort.world.labels import Labels
from equieffort.world.opponents import AllPairs, Rest
from equieffort.world.rules import Constraint, Forbidden, Monotone, Sum, read_constraint
from equieffort.world.schema import Feature, Schema

BACK_QUOTES = " A column name with spaces or other marks stands in back-quotes: `years at job` < 2."
LIMITS_WORDS = "no plausible range and no largest change, which only numbers have"
FORBID = (
    "Remove them. To forbid changes of a category, write rules: [{feature: degree, forbidden: [[master, none]]}], "
    "where each pair is [from, to] and null is any value."
)


def read_schema(given: Parsed) -> Schema:
    """Groups, outcome, features and the rules between them."""
    sensitive = given["sensitive"]
    columns = [sensitive["column"]] if isinstance(sensitive["column"], str) else sensitive["column"]
    also = given["also_protected"] or []
    with placed(given.find("one_hot"), "one_hot"):
        spread = OneHot.of(given["one_hot"] or {})
    for name in given["features"]:
        if (whole := spread.category_of(name)) != name:
            raise given.refuse(
                f"features.{name}", f"is a column of the category {whole!r}.", f"Write {whole} in its place.",
                "SCHEMA_ONE_HOT",
            )  # fmt: skip
    used = [name for name, said in given["features"].items() if UNUSED not in (said, _role(said))]
    features = {name: _feature(given, name, columns, also) for name in used}
    if all(feature.role != "actionable" for feature in features.values()):
        raise given.refuse(
            "features",
            "holds nothing with the role 'actionable'.",
            "Give that role to what a person can change.",
            "PROBLEM_NOTHING_ACTIONABLE",
        )
    return Schema(
        sensitive=columns[0] if len(columns) == 1 else tuple(columns),
        protected=_protected(given, len(columns)),
        reference=_reference(given, len(columns)),
        favourable=given["outcome"]["favourable"],
        threshold=given["outcome"]["threshold"],
        also_protected=tuple(also),
        features=features,
        rules=_rules(given),
        one_hot=spread.categories,
        max_actions=given["max_actions"],
        labels=_labels(given),
        unused=tuple(name for name in given["features"] if name not in used),
    )


def _role(said: Any) -> Any:
    return said.get("role") if isinstance(said, dict) else None


def _feature(given: Parsed, name: str, columns: list[str], also: list[str]) -> Feature:
    said = given["features"][name]
    said = {"role": said} if isinstance(said, str) else dict(said)
    said |= {key: tuple(said[key]) for key in ("plausible", "weight", "order") if isinstance(said.get(key), list)}
    for key in ("lower", "upper"):
        end = said.get(key)
        has_levels = said.get("order") or said.get("kind") == "categorical"
        if isinstance(end, str) and reads_as_number(end.lstrip(".")) and not has_levels:
            # A number in quotes is a slip, unless levels are called so.
            Number(infinite=True).read(given.find("features", name, key), f"features.{name}.{key}")
    if said.get("prices") is not None:
        said["prices"] = _prices(given, name, said["prices"])
    with placed(given.find("features", name), f"features.{name}"):
        feature = Feature(**said)
        largest = (feature.max_increase, feature.max_decrease)
        if feature.kind == "categorical" and (feature.plausible or any(end is not None for end in largest)):
            raise SchemaError("SCHEMA_KIND", f"a {feature.kind} feature has {LIMITS_WORDS}.", fix=FORBID)
        # Alone with its protected columns, so that the error is about this feature and no other.
        Schema(sensitive=columns, protected=None, favourable=None, also_protected=also, features={name: feature})
    return feature


def _labels(given: Parsed) -> Labels:
    said = {part: names for part, names in given["labels"].items() if names is not None}
    with placed(given.find("labels"), "labels"):
        return Labels(**said)


def _prices(given: Parsed, name: str, rows: list[list[Any]]) -> dict[tuple[Any, Any], float]:
    """Prices from level to level, each pair once."""
    found: dict[tuple[Any, Any], float] = {}
    for k, (start, end, price) in enumerate(rows, 1):
        if (start, end) in found:
            raise given.refuse(
                f"features.{name}.prices", f"has a second price from {start!r} to {end!r}, as item {k}.", "Give one."
            )
        found[start, end] = price
    return found


def _rules(given: Parsed) -> list[Constraint]:
    """The rules between features, each read where it stands."""
    found: list[Constraint] = []
    places = given.find("rules")
    nodes = places.items if isinstance(places, Items) else ()
    for k, (rule, node) in enumerate(zip(given["rules"] or [], nodes, strict=True)):
        with placed(node, f"rules, item {k + 1}", "RULE_SYNTAX", BACK_QUOTES):
            found.append(read_constraint(rule) if isinstance(rule, str) else _table_rule(rule))
    return found


def _table_rule(rule: dict[str, Any]) -> Constraint:
    """A rule given as a table; exactly one kind is named."""
    if rule["sum"] is not None:
        return Sum(rule["sum"], lower=rule["lower"], upper=rule["upper"])
    if rule["feature"] is not None:
        return Forbidden(rule["feature"], rule["forbidden"] or [])
    return Monotone(rule["cause"], rule["effect"] or "", rule["per_unit"])


def _protected(given: Parsed, width: int) -> Any:
    declared = given["sensitive"]["protected"]
    several = isinstance(declared, list) and (width == 1 or all(isinstance(one, list) for one in declared))
    if several:
        return [_group(given, "protected", one, width) for one in declared]
    return _group(given, "protected", declared, width)


def _reference(given: Parsed, width: int) -> Any:
    declared = given["sensitive"]["reference"]
    if isinstance(declared, dict):
        return Rest() if declared["rest"] else AllPairs()
    return None if declared is None else _group(given, "reference", declared, width)


def _group(given: Parsed, key: str, declared: Any, width: int) -> Any:
    """One group: a value, or as many of them as there are sensitive columns."""
    parts = declared if isinstance(declared, list) else [declared]
    if len(parts) != width or any(isinstance(part, list) for part in parts):
        raise given.refuse(
            f"sensitive.{key}",
            f"names a group by {many(len(parts), 'value', 'values')} for "
            f"{many(width, 'sensitive column', 'sensitive columns')}.",
            "Give one value for each sensitive column, in their order; several groups as a list of such lists.",
        )
    return parts[0] if width == 1 else tuple(parts)
