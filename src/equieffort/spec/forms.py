"""The kinds of structural equations and of solvers that a spec can name, and the keys of each."""

from __future__ import annotations

from equieffort.recourse.solvers import (
    Auto,
    BranchAndBound,
    LinearExact,
    LinearSearch,
    Milp,
    Search,
    SpatialBranchAndBound,
)
from equieffort.spec.kinds import Either, Flag, ListOf, Number, OrNone, Text, Value
from equieffort.spec.sections import REQUIRED, ByKind, Key, MapOf, Section
from equieffort.world.scm.terms import HIGHEST

COUNT = Number(low=1, whole=True)
POSITIVE = Number(above=0)

# -- matching ----------------------------------------------------------------------------------------------------------

ALIKE = Key(
    ListOf(Text(named="the name of a column"), "a list of column names", least=1),
    "What people must be alike in; left out, all that counts but the protected columns.",
)
BY_DISTANCE = {
    "caliper": Key(
        Number(low=0, infinite=True),
        "The largest distance of two matched people, where 1 is the range of one feature; left out, what is near among "
        "these people.",
    ),
    "distance": Key(Text(("l1", "l2")), "Scaled differences added up, or as a Euclidean length.", "l1"),
    "features": ALIKE,
}
MATCHING = ByKind(
    {
        "nearest": Section(
            {
                "k": Key(COUNT, "How many of the other group each person is matched with.", 1),
                "replace": Key(Flag(), "Whether somebody may serve several people.", True),
            }
            | BY_DISTANCE
        ),
        "optimal": Section(BY_DISTANCE),
        "exact": Section({"features": ALIKE}),
        "coarsened": Section(
            {
                "bins": Key(COUNT, "Numbers are cut at quantiles into so many parts.", 5),
                "cuts": Key(
                    MapOf(ListOf(Number(), "a list of numbers", least=1), "a table of columns and cut points"),
                    "Columns that are cut elsewhere, and where.",
                ),
                "features": ALIKE,
            }
        ),
    },
    "How people are matched: each with the nearest, in as many pairs as can be with the least sum of distances, with "
    "equal values, or with equal values of numbers that are cut first.",
)

# -- treatments of Huang's equality of effort --------------------------------------------------------------------------

GAMMA = Number(above=0, high=1)
ADJUSTED = {
    "degree": Key(COUNT, "The degree of the polynomial of the treatment inside the logistic curve.", 1),
    "adjust": Key(
        ListOf(Text(named="the name of a column"), "a list of column names"),
        "The columns that are adjusted for; left out, all that the treatment does not move.",
    ),
}
TREATMENT = Section(
    {
        "gammas": Key(
            Either(
                (
                    GAMMA,
                    ListOf(GAMMA, "a list of shares", least=1),
                    Section(
                        {
                            "low": Key(Number(low=0, high=1), "The least share.", REQUIRED, example="0.3"),
                            "high": Key(Number(low=0, high=1), "The greatest share.", REQUIRED, example="0.7"),
                        }
                    ),
                )
            ),
            "The shares of favourable outcomes at which efforts are compared: one, a list, or `{low: 0.3, high: 0.7}` "
            "for all in between. Left out, all that both groups reach and neither without effort.",
        ),
        "grid": Key(
            Either(
                (
                    ListOf(Number(), "a list of at least two numbers", least=2),
                    Section(
                        {
                            "low": Key(Number(), "The first value.", REQUIRED, example="0"),
                            "high": Key(Number(), "The last value.", REQUIRED, example="10"),
                            "step": Key(POSITIVE, "How far one is from the next.", REQUIRED, example="0.5"),
                        }
                    ),
                )
            ),
            "The values that are tried, as a list or as `{low: 0, high: 10, step: 0.5}`. Left out, 51 from the least "
            "to the greatest in the data inside declared limits, or all whole numbers if there are at most 200.",
        ),
        "direction": Key(
            Text(("up", "down")),
            "Whether more of it is more effort, or less; left out, as declared for the feature, else the way in which "
            "the outcome rises.",
        ),
        "by": Key(
            ByKind(
                {"scm": Section({}), "regression": Section(ADJUSTED), "weighting": Section(ADJUSTED)},
                "How the share of favourable outcomes at each value is found: by the structural equations, outcome "
                "regression or inverse propensity weighting.",
            ),
            "How the share of favourable outcomes at each value is found; left out, by the equations where they answer "
            "for everybody, else by regression.",
        ),
        "outcome": Key(
            Text(("decision", "probability", "truth")),
            "What counts: the model's decision, its probability of a favourable one, or what truly became of people "
            "(`outcome.truth`).",
            "decision",
        ),
        "interpolate": Key(Flag(), "Take curves to be straight between the values that are tried.", False),
    }
)

# -- equations ---------------------------------------------------------------------------------------------------------

COEF = MapOf(
    Either((Number(), MapOf(Number(), "a table of levels and numbers", least=1))),
    "a table of causes and coefficients",
)
SIDE = Either(
    (Text(), ListOf(Text(), "a list of causes", least=1), MapOf(Number(), "a table of causes and numbers", least=1))
)
ORDER = Key(
    ListOf(Value(), "a list of levels, at least two", least=2),
    "The levels, the lowest first. Two levels and numbers have an order already.",
)
DEPTH = Key(COUNT, "How many splits a tree may have one below the other; left out, as many as it needs.")
LEAF = Key(COUNT, "The least number of people in a leaf.", 1)
TREES = Key(COUNT, "How many trees.", 100)
RATE = Key(POSITIVE, "How much each tree counts.", 0.1)
TERM = Section(
    {
        "coef": Key(Number(), "What the product is multiplied by.", REQUIRED, example="0.5"),
        "powers": Key(
            MapOf(Number(low=1, high=HIGHEST, whole=True), "a table of causes and powers"), "Powers of numeric causes."
        ),
        "levels": Key(MapOf(Value(), "a table of causes and levels"), "Levels of categories that must be met."),
    }
)
LEARNED = {
    "linear": Section({"intercept": Key(Flag(), "Whether there is a constant.", True)}),
    "polynomial": Section(
        {
            "degree": Key(Number(low=1, high=HIGHEST, whole=True), "The highest power of a cause.", 2),
            "interactions": Key(Flag(), "Whether causes are multiplied with each other too.", False),
        }
    ),
    "spline": Section(
        {
            "knots": Key(Number(low=2, high=100, whole=True), "At how many quantiles of a cause pieces meet.", 5),
            "degree": Key(Number(low=1, high=3, whole=True), "The degree of the pieces.", 3),
            "beyond": Key(
                Text(("linear", "constant")), "Whether the curve goes on straight beyond the data, or stays.", "linear"
            ),
        }
    ),
    "tree": Section({"max_depth": DEPTH, "min_samples_leaf": LEAF}),
    "forest": Section({"n_estimators": TREES, "max_depth": DEPTH, "min_samples_leaf": LEAF}),
    "extra_trees": Section({"n_estimators": TREES, "max_depth": DEPTH, "min_samples_leaf": LEAF}),
    "boosted": Section(
        {
            "n_estimators": TREES,
            "learning_rate": RATE,
            "max_depth": Key(COUNT, "How many splits a tree may have one below the other.", 3),
            "min_samples_leaf": LEAF,
        }
    ),
    "hist_boosted": Section(
        {
            "max_iter": TREES,
            "learning_rate": RATE,
            "max_depth": DEPTH,
            "min_samples_leaf": Key(COUNT, "The least number of people in a leaf.", 20),
        }
    ),
}
"""What learns equations of numbers, whichever column they are of."""
DEFAULT = ByKind(LEARNED, "How the equations are learned.", told_at="graph.equations")
EQUATION = ByKind(
    LEARNED
    | {
        "linear": Section(
            {
                "coef": Key(
                    COEF,
                    "The equation itself: a number for each cause, for a category one for each level, such as "
                    "`{age: 0.5, region: {south: 2}}`. Left out, it is learned.",
                ),
                "intercept": Key(
                    Either((Flag(), Number())),
                    "The constant of an equation with `coef`, 0 if left out; of a learned one, whether there is a "
                    "constant.",
                ),
            }
        ),
        "terms": Section(
            {
                "terms": Key(
                    ListOf(TERM, "a list of terms", least=1),
                    "The equation itself as a sum, such as `[{coef: -0.25, powers: {income: 2}}, {coef: 2, levels: "
                    "{region: south}}]`.",
                    REQUIRED,
                    example="[{coef: 0.5, powers: {income: 2}}]",
                ),
                "intercept": Key(Number(), "Its constant.", 0),
                "about": Key(
                    MapOf(Number(), "a table of causes and numbers"), "Take the powers of the distance from these."
                ),
            }
        ),
        "ratio": Section(
            {
                "numerator": Key(
                    SIDE,
                    "What is divided: a cause, a list of causes that are added, or a number for each.",
                    REQUIRED,
                    example="loan",
                ),
                "denominator": Key(SIDE, "By what it is divided, likewise.", REQUIRED, example="price"),
                "scale": Key(Number(), "What the quotient is multiplied by: 100 for per cent.", 1),
            }
        ),
        "product": Section(
            {
                "causes": Key(
                    ListOf(Text(), "a list of causes", least=1),
                    "What is multiplied.",
                    REQUIRED,
                    example="[hours, wage]",
                ),
                "scale": Key(Number(), "What the product is multiplied by.", 1),
            }
        ),
        "ordinal": Section({"order": ORDER, "penalty": Key(POSITIVE, "What keeps the coefficients small.", 0.01)}),
        "cumulative_logit": Section(
            {
                "coef": Key(COEF, "As under `linear`.", REQUIRED, example="{income: 0.3}"),
                "cuts": Key(
                    ListOf(Number(), "a list of numbers", least=1),
                    "Where one level ends and the next begins, in rising order: one less than there are levels.",
                    REQUIRED,
                    example="[7, 9]",
                ),
                "order": ORDER,
            }
        ),
    },
    "How it is learned, or which equation is given; `ordinal` and `cumulative_logit` are for levels, the others for "
    "numbers.",
)

# -- solvers -----------------------------------------------------------------------------------------------------------

GAP = "How far above the proven bound a cost may lie and still be called optimal."
SECONDS = "Seconds a person may take"


def _cpu_seconds(default: float | None) -> Key:
    seconds = f"{SECONDS}, of CPU time, and ten times as many on the wall clock; null is no limit."
    return Key(OrNone(POSITIVE), seconds, default)


def _with_nodes(of: LinearSearch | BranchAndBound) -> Section:
    """The settings of a search over nodes."""
    nodes = "Nodes a person may take, the same on every machine; null is no limit."
    return Section(
        {
            "gap": Key(Number(low=0), GAP, of.gap),
            "time_limit": _cpu_seconds(of.time_limit),
            "node_limit": Key(OrNone(COUNT), nodes, of.node_limit),
        }
    )


SOLVERS = {
    "auto": Auto,
    "linear_exact": LinearExact,
    "linear_search": LinearSearch,
    "branch_and_bound": BranchAndBound,
    "milp": Milp,
    "spatial_branch_and_bound": SpatialBranchAndBound,
    "search": Search,
}
"""The name of each solver in a spec."""
SOLVER = ByKind(
    {
        "auto": Section(
            {
                "gap": Key(POSITIVE, f"{GAP} Left out, that of the solver which is chosen; so for the limits."),
                "time_limit": Key(POSITIVE, f"{SECONDS}, as the chosen solver counts them, if it does."),
                "node_limit": Key(COUNT, "Nodes a person may take, if the chosen solver counts them."),
                "budget": Key(COUNT, "Questions about a person, if nothing can be proven and actions are searched."),
            }
        ),
        "linear_exact": Section({"gap": Key(Number(low=0), GAP, LinearExact().gap)}),
        "linear_search": _with_nodes(LinearSearch()),
        "branch_and_bound": _with_nodes(BranchAndBound()),
        "milp": Section(
            {
                "gap": Key(POSITIVE, GAP, Milp().gap),
                "time_limit": Key(POSITIVE, f"{SECONDS}, on the wall clock.", Milp().time_limit),
            }
        ),
        "spatial_branch_and_bound": Section(
            {
                "gap": Key(POSITIVE, GAP, SpatialBranchAndBound().gap),
                "node_limit": Key(COUNT, "Boxes a person may take.", SpatialBranchAndBound().node_limit),
                "time_limit": _cpu_seconds(SpatialBranchAndBound().time_limit),
            }
        ),
        "search": Section(
            {
                "budget": Key(COUNT, "Questions to the model about a person.", Search().budget),
                "time_limit": _cpu_seconds(Search().time_limit),
            }
        ),
    },
    "Which solver; see solvers.md.",
)
