"""Rules between features, and the small grammar in which subgroups and rules are written.

>>> import equieffort as ee
>>> print(ee.rules.parse_rule("age<25 and purpose='car'"))
age < 25 and purpose = 'car'
"""

from equieffort.world.rules import Always, Constraint, Forbidden, Implies, Monotone, Rule, Sum, parse_rule

__all__ = ["Always", "Constraint", "Forbidden", "Implies", "Monotone", "Rule", "Sum", "parse_rule"]


def __dir__() -> list[str]:
    return __all__
