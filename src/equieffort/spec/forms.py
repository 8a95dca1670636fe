"""The kinds of structural equations and of solvers that a spec can name, and the keys of each."""

from __future__ import annotations

from equieffort.recourse.solvers import Auto, BranchAndBound, LinearExact, Milp, Search, SpatialBranchAndBound
from equieffort.spec.kinds import Either, Flag, ListOf, Number, OrNone, Text, Value
from equieffort.spec.sections import REQUIRED, ByKind, Key, MapOf, Section
from equieffort.world.scm.terms import HIGHEST

COUNT = Number(low=1, whole=True)
POSITIVE = Number(above=0)

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
SOLVERS = {
    "auto": Auto,
    "linear_exact": LinearExact,
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
                "time_limit": Key(POSITIVE, f"{SECONDS}, if the chosen solver counts them."),
                "node_limit": Key(COUNT, "Nodes a person may take, if the chosen solver counts them."),
                "budget": Key(COUNT, "Questions about a person, if nothing can be proven and actions are searched."),
            }
        ),
        "linear_exact": Section({"gap": Key(Number(low=0), GAP, LinearExact().gap)}),
        "branch_and_bound": Section(
            {
                "gap": Key(Number(low=0), GAP, BranchAndBound().gap),
                "time_limit": Key(OrNone(POSITIVE), f"{SECONDS}; null is no limit.", BranchAndBound().time_limit),
                "node_limit": Key(
                    OrNone(COUNT),
                    "Nodes a person may take, the same on every machine; null is no limit.",
                    BranchAndBound().node_limit,
                ),
            }
        ),
        "milp": Section(
            {"gap": Key(POSITIVE, GAP, Milp().gap), "time_limit": Key(POSITIVE, f"{SECONDS}.", Milp().time_limit)}
        ),
        "spatial_branch_and_bound": Section(
            {
                "gap": Key(POSITIVE, GAP, SpatialBranchAndBound().gap),
                "node_limit": Key(COUNT, "Boxes a person may take.", SpatialBranchAndBound().node_limit),
            }
        ),
        "search": Section({"budget": Key(COUNT, "Questions to the model about a person.", Search().budget)}),
    },
    "Which solver; see solvers.md.",
)
