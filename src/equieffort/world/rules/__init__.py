"""Rules: a small grammar that describes a subgroup of people. It is parsed here and never executed.

>>> import numpy as np
>>> rule = parse_rule("age < 25 AND (purpose in ('car', 'tv') or 2 <= `years at job`)")
>>> rule.names
('age', 'purpose', 'years at job')
>>> print(rule)
age < 25 and (purpose in ('car', 'tv') or `years at job` >= 2)
>>> people = {"age": np.array([20, 24, 40]), "purpose": np.array(["car", "tvs", "tv"], dtype=object)}
>>> parse_rule("not (age between 20 and 24) or purpose = 'car'").evaluate(people)
array([ True, False,  True])

The grammar, in which keywords may be written in any case:

    rule      :  both ("or" both)*                  both  :  one ("and" one)*
    one       :  "not" one  |  "(" rule ")"  |  condition
    condition :  operand ("=" | "==" | "!=" | "<" | "<=" | ">" | ">=") operand      at least one is a name
              |  name ["not"] "in" "(" value ("," value)* ")"
              |  name "between" value "and" value   both ends belong
    operand   :  name | value
    name      :  letters, digits, "_" and "."; any other in back-quotes, where a double one stands for one
    value     :  number | 'text' or "text", where a double quote stands for one | true | false

A missing value (NaN, None) satisfies no condition, `!=` and `not in` included: what is not known is
not known to differ. The word `not` in front of a condition is plain negation: `not (age < 25)`
includes people of unknown age, `age >= 25` does not.
"""

from equieffort.world.rules.clauses import Clauses, clauses_of
from equieffort.world.rules.constraints import (
    Always,
    Constraint,
    Forbidden,
    Implies,
    Monotone,
    Sum,
    read_constraint,
)
from equieffort.world.rules.parser import MAX_DEPTH, MAX_LENGTH, parse_rule
from equieffort.world.rules.rule import Rule

__all__ = [
    "MAX_DEPTH",
    "MAX_LENGTH",
    "Always",
    "Clauses",
    "Forbidden",
    "Implies",
    "Constraint",
    "Monotone",
    "Rule",
    "Sum",
    "clauses_of",
    "parse_rule",
    "read_constraint",
]
