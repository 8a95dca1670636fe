"""The table of all keys. Reading, `docs/spec.md` and the JSON schema are made from it and from nothing else.

>>> list(SPEC.keys["sensitive"].kind.keys)
['column', 'protected', 'reference']
"""

from __future__ import annotations

from typing import Any

from equieffort.data.frames import KINDS
from equieffort.effort.measures import JUDGED
from equieffort.models.surrogate import SURROGATES
from equieffort.spec.forms import DEFAULT, EQUATION, MATCHING, SOLVER, TREATMENT
from equieffort.spec.kinds import Chosen, Either, End, Flag, ListOf, Number, OrNone, RowOf, Text, Value
from equieffort.spec.sections import REQUIRED, Key, MapOf, Section

UNUSED = "unused"
"""The role of a column that is no feature: the same as leaving it out."""
COLUMN = Text(named="the name of a column")
COLUMNS = ListOf(COLUMN, "a list of column names", least=1)
EDGES = ListOf(ListOf(COLUMN, "a pair [cause, effect]", length=2), "a list of pairs [cause, effect]")
FILE = Text(named="the path of a file")
SHARE = Number(above=0, high=1)
GROUP = Either((Value(), ListOf(Value(), "a list of values, one for each sensitive column", least=1)))

OPPONENTS = Section(
    {
        "rest": Key(Chosen(), "Each group against everybody else: all other groups together."),
        "all_pairs": Key(
            Chosen(), "Every pair of groups once, protected groups first; pairs that hold a protected group are judged."
        ),
    },
    one_of=("rest", "all_pairs"),
)

ENCODING, DELIMITER, DECIMAL = (
    Text(named="the name of an encoding"),
    Text(empty=True, named="one character"),
    Text((".", ",")),
)
DATA = Section(
    {
        "path": Key(FILE, "The table of people, CSV or Parquet.", REQUIRED, example="decisions.csv"),
        "id": Key(
            COLUMN, "The column that names people, kept as text, each name once; left out, rows are counted from 0."
        ),
        "encoding": Key(ENCODING, "How a CSV file writes letters as bytes.", "utf-8"),
        "delimiter": Key(DELIMITER, "What stands between the cells of a CSV file.", ","),
        "decimal": Key(DECIMAL, "What stands before the decimals of numbers in a CSV file.", "."),
        "missing": Key(
            Text(("error", "drop", "model")),
            "What to do about people with an empty cell: refuse the data, leave them out, or let a saved model decide; "
            "their recourse is then unknown where an action or an equation needs what is missing.",
            "error",
        ),
    },
    short="path",
)
AS_DATA = "Left out, as under `data`."
TABLE = Section(
    {
        "path": Key(FILE, "The table, CSV or Parquet.", REQUIRED, example="history.csv"),
        "encoding": Key(ENCODING, f"How its letters are written as bytes. {AS_DATA}"),
        "delimiter": Key(DELIMITER, f"What stands between its cells. {AS_DATA}"),
        "decimal": Key(DECIMAL, f"What stands before the decimals of its numbers. {AS_DATA}"),
    },
    short="path",
)
"""A table that something is learned from."""
MODEL = Section(
    {
        "path": Key(FILE, "A saved model."),
        "features": Key(
            COLUMNS,
            "The columns a saved model sees, in its order, when it does not know their names.",
        ),
        "trusted": Key(
            ListOf(Text(), "a list of type names", least=1),
            "Types in a skops file that you vouch for, as the refusal lists them.",
        ),
        "train": Key(
            Text(SURROGATES),
            "Train a surrogate on the recorded decisions: linear, or 100 trees. What is found holds for the surrogate, "
            "so its agreement with the decisions is reported.",
        ),
        "data": Key(
            TABLE,
            "A table of its own: what a surrogate is trained on in place of the people who are audited, or what a "
            "saved model was trained on (for `--resample procedure`).",
        ),
        "label": Key(COLUMN, "The column of that table with the decisions; left out, `outcome.column`."),
    },
    one_of=("path", "train"),
    short="path",
    renamed={"file": "path", "training_data": "data", "training_label": "label"},
)
OUTCOME = Section(
    {
        "column": Key(COLUMN, "The column of recorded decisions; needed to train a surrogate."),
        "favourable": Key(
            Either((Value(), ListOf(Value(), "a list of values", least=1))),
            "The decision people want, or a list of them: of more than two decisions, these against all others.",
            REQUIRED,
            example="approved",
        ),
        "truth": Key(
            COLUMN,
            "The column of what truly became of people, in the same words as the decisions, where that was observed; "
            "used only by notions that ask for it (`audit --notions`).",
        ),
        "causes": Key(
            COLUMNS,
            "Features that are causes, direct or indirect, of what truly becomes of people; used only by the notion "
            "that asks what effort would be with actions on them alone (`audit --notions`).",
        ),
        "threshold": Key(
            Number(above=0, below=1),
            "Favourable when the model's probability of the favourable decision is at least this, whatever label the "
            "model gives itself.",
        ),
    }
)
SENSITIVE = Section(
    {
        "column": Key(
            Either((COLUMN, COLUMNS)),
            "The column whose values are the groups, or several that form them together.",
            REQUIRED,
            example="sex",
        ),
        "protected": Key(
            Either((Value(), ListOf(GROUP, "a list of them", least=1))),
            "The group, or groups, that may need more effort. With several columns a group is a list of values.",
            REQUIRED,
            example="female",
        ),
        "reference": Key(
            Either((*GROUP.forms, OPPONENTS)),
            "The group they are compared with; needed once more than one other remains. Where it is no single group: "
            "`{rest: true}` or `{all_pairs: true}`.",
        ),
    }
)
GRAPH = Section(
    {
        "edges": Key(EDGES, "Pairs [cause, effect]."),
        "path": Key(FILE, "A graph in GML or DOT."),
        "nodes": Key(COLUMNS, "Features that neither cause nor follow others, to say that this is meant."),
        "default": Key(
            DEFAULT,
            "How the equations of numbers are learned that `graph.equations` does not name: `linear`, `polynomial`, "
            "`spline`, `tree`, `forest`, `extra_trees`, `boosted` or `hist_boosted`, with the keys they have there.",
            "linear",
        ),
        "equations": Key(
            MapOf(EQUATION, "a table of equations, one for each column"),
            "The structural equations of columns with causes that are learned otherwise, or given.",
        ),
        "data": Key(
            TABLE, "A table of its own that the equations are learned from, in place of the people who are audited."
        ),
    },
    one_of=("edges", "path"),
    short="path",
    renamed={"file": "path"},
)
RULE = Section(
    {
        "sum": Key(MapOf(Number(), "a table of features and weights", least=1), "Features that are summed."),
        "lower": Key(Number(), "The least their weighted sum may be."),
        "upper": Key(Number(), "The most their weighted sum may be."),
        "cause": Key(COLUMN, "When this feature rises,"),
        "effect": Key(COLUMN, "this one must not fall,"),
        "per_unit": Key(Number(low=0), "and must rise by at least this for each unit.", 0),
        "feature": Key(COLUMN, "A category some of whose changes are not possible."),
        "forbidden": Key(
            ListOf(ListOf(OrNone(Value()), "a pair [from, to]", length=2), "a list of pairs [from, to]", least=1),
            "These changes.",
        ),
    },
    one_of=("sum", "cause", "feature"),
)
ROLE = Text(("actionable", "mutable", "immutable", UNUSED))
PRICE = RowOf((Value(), Value(), Number(above=0)), "a list [from, to, price]")
FEATURE = Section(
    {
        "role": Key(
            ROLE,
            "Whether a person may set it, it only follows its causes, or it must not move; `unused`: it is no feature.",
            REQUIRED,
            example="actionable",
        ),
        "kind": Key(Text(KINDS), "Which values it can take; otherwise told from the column: 0 and 1 alone are binary."),
        "direction": Key(
            Text(("both", "up", "down")),
            "Where an action may move it: a number, a binary feature (up is from 0 to 1, from false to true), or a "
            "category whose levels have an order.",
            "both",
        ),
        "lower": Key(
            End(),
            "The least value an action may set, of a category with an order the lowest level; left out, the least in "
            "the data.",
        ),
        "upper": Key(
            End(),
            "The greatest value an action may set, of a category with an order the highest level; left out, the "
            "greatest in the data.",
        ),
        "max_increase": Key(
            Number(low=0, infinite=True), "The largest step up from a person's own value; upper may then be left out."
        ),
        "max_decrease": Key(
            Number(low=0, infinite=True), "The largest step down from a person's own value; lower may then be left out."
        ),
        "plausible": Key(
            ListOf(OrNone(Number(infinite=True)), "a pair [low, high]", length=2),
            "The range in which its value must end, however it came about; null leaves an end open, and the other "
            "keys say how far it may be set on that side.",
        ),
        "weight": Key(
            Either((Number(above=0), ListOf(Number(above=0), "a pair [up, down]", length=2))),
            "What a unit of scaled change costs, perhaps different up and down; of a category, what any change costs.",
            1,
        ),
        "order": Key(
            ListOf(Value(), "a list of levels, from the lowest to the highest", least=2, distinct=True),
            "The levels of a category, from the lowest to the highest; left out, the order of the column's own type, "
            "which Parquet can hold.",
        ),
        "steps": Key(
            Flag(),
            "Let a change of a category cost by the steps it goes in its order: from the lowest level to the highest "
            "it costs the weight, a single step of k levels weight / (k - 1).",
            False,
        ),
        "prices": Key(
            ListOf(PRICE, "a list of [from, to, price]", least=1),
            "What changes of a category from one level to another cost, where that is not what `weight` and `steps` "
            "say, such as `[[rent, own, 2.0]]`; a pair that is not there keeps its price.",
        ),
    }
)
COST = Section(
    {
        "kind": Key(
            Text(("l1", "percentile")),
            "Effort as the sum of scaled changes, or as the share of people that a change overtakes.",
            "l1",
        ),
        "scale": Key(
            Text(("range", "std", "mad", "own")),
            "By what a change is divided under l1: the feature's range, standard deviation, median absolute deviation, "
            "or the person's own value. Left out, the range.",
        ),
        "quantiles": Key(
            ListOf(Number(low=0, high=1), "a pair [low, high]", length=2),
            "Take the range between these quantiles, so that a few extreme values do not stretch it.",
        ),
        "knots": Key(Number(low=2, whole=True), "Keep so many quantiles under percentile, which is faster."),
        "within": Key(
            Text(("everybody", "group")),
            "Whom a change overtakes under percentile: everybody, or one's own group alone. Left out, everybody.",
        ),
    }
)
NEIGHBOURHOOD = Section(
    {
        "quantile": Key(SHARE, "The nearest share of all people counts as alike."),
        "k": Key(Number(low=1, whole=True), "The k nearest people count as alike."),
        "distance": Key(Text(("l1", "l2")), "Scaled differences added up, or as a Euclidean length.", "l1"),
        "features": Key(COLUMNS, "Compare people by these columns only."),
    },
    one_of=("quantile", "k"),
)
CRITERIA = Section(
    {
        "tau": Key(Number(low=1), "The largest ratio of average efforts that counts as equal.", 1.25),
        "epsilon": Key(SHARE, "The smallest difference in possible recourse that counts as unequal.", 0.05),
        "rule": Key(
            Text(("two-sided", "one-sided")),
            "Whether a ratio far below 1 is unequal too, or only one above tau, as the paper prints it.",
            "two-sided",
        ),
        "min_people": Key(
            Number(low=1, whole=True),
            "A measure of a group with fewer people is not judged: people with recourse for acr, refused people for "
            "the others.",
            5,
        ),
        "certified": Key(Flag(), "Judge only what no unsolved row can overturn.", True),
        "level": Key(
            OrNone(Number(above=0.5, below=1)),
            "How sure a verdict must be; null judges the point estimate, as the paper does.",
            0.95,
        ),
        "judged": Key(
            ListOf(Text(JUDGED), f"a list of measures ({', '.join(JUDGED)})", least=1, distinct=True),
            "The measures that the verdict rests on.",
            ["acr", "rd"],
        ),
        "budget": Key(
            Number(above=0),
            "The effort at which people without recourse are counted; left out, the 95 % point of all known efforts.",
        ),
        "adjust": Key(Text(("holm", "none")), "How several questions asked at once are adjusted.", "holm"),
    }
)
SURROGATE = Section(
    {
        "min_agreement": Key(
            SHARE,
            "A surrogate that repeats fewer of the held-out decisions, over everybody or in one of the groups that are "
            "compared, gives an inconclusive audit.",
            0.9,
        ),
        "min_refusal_recall": Key(
            Number(low=0, high=1),
            "So does one that finds fewer of the held-out refusals: an audit is about these, and where few are refused "
            "approving everybody agrees too.",
            0.5,
        ),
    }
)
LABELED = MapOf(Text(named="a label"), "a table of names and labels")
LABELS = Section(
    {
        "groups": Key(
            LABELED,
            'Groups by their value, as people who are refused or approved: `{"0": Black applicants}`; of several '
            "sensitive columns by all values, `female & 1`.",
        ),
        "features": Key(LABELED, "Columns: `{ltv: loan-to-value ratio}`."),
        "levels": Key(
            MapOf(LABELED, "a table of columns, each a table of levels and labels"),
            "Levels of columns: `{job: {A171: unskilled}}`.",
        ),
    }
)
NOTIONS = Section(
    {
        "equality_of_effort": Key(
            MapOf(TREATMENT, "a table of columns, each a table", least=1),
            "Columns that Huang's equality of effort sets for everybody, each with what is asked of it: `{amount: "
            "{gammas: [0.5, 0.8], direction: down}}`, or `{amount: {}}`. Left out, every actionable number.",
        )
    }
)
REPORT = Section(
    {
        "suppress_below": Key(
            Number(low=0, whole=True),
            "Hide counts of fewer people than this in the report and the model card; CSV, JSON and the audit file keep "
            "everything.",
            0,
        )
    }
)
LETTERS = Section(
    {
        "sender": Key(Text(named="who writes"), "Who writes the letters: a name, or several lines with an address."),
        "review": Key(
            Text(named="how to ask for a review"),
            "How to ask for a review, in your own words; empty lines part paragraphs. Left out, a neutral sentence.",
        ),
    }
)

WORK = Section(
    {
        "jobs": Key(
            Number(low=-1, whole=True),
            "So many processes on this machine solve people; -1 is one a processor. `--jobs` goes before it.",
        ),
        "dask": Key(
            Text(named="the address of a Dask scheduler"),
            "A Dask cluster solves people: `tcp://host:8786`, or `local:2` for two processes on this machine. `--dask` "
            "goes before it.",
        ),
    }
)

SPEC = Section(
    {
        "title": Key(Text(empty=True), "The heading of the report.", ""),
        "data": Key(DATA, "Where the people are.", REQUIRED, example="{path: decisions.csv}"),
        "model": Key(MODEL, "Whose decisions are audited.", REQUIRED, example="{train: logistic}"),
        "outcome": Key(OUTCOME, "What is decided.", REQUIRED, example="{column: decision, favourable: approved}"),
        "sensitive": Key(SENSITIVE, "Who is compared with whom.", REQUIRED, example="{column: sex, protected: female}"),
        "also_protected": Key(ListOf(COLUMN, "a list of column names"), "Further columns that no action may change."),
        "use_sensitive": Key(
            Flag(),
            "Let a surrogate that is trained here see the sensitive columns. Without them it cannot repeat decisions "
            "that depended on the group itself: such inequality is then missed, and the agreement is lower.",
            False,
        ),
        "graph": Key(
            Either((EDGES, GRAPH)),
            "What causes what: pairs, the path of a graph, or a table. An empty list says that nothing does.",
            REQUIRED,
            example="[[income, debt]]",
        ),
        "features": Key(
            MapOf(Either((ROLE, FEATURE)), "a table of features", least=1),
            "What may happen to each feature: its role alone, or a table. A model that is trained here sees these.",
            REQUIRED,
            example="{income: {role: actionable, direction: up}}",
        ),
        "one_hot": Key(
            MapOf(
                Either((COLUMNS, MapOf(OrNone(COLUMN), "a table of levels and their columns", least=1))),
                "a table of categories",
            ),
            "Categories that the table holds as columns of 0 and 1: a name and its columns, such as `{housing: "
            "[housing_own, housing_rent]}`, or its levels and their columns, in which null is the level without one: "
            "`{housing: {own: housing_own, rent: housing_rent, free: null}}`. Everywhere else `housing` is one "
            "category; a saved model keeps getting its own columns.",
        ),
        "cost": Key(COST, "How effort is measured."),
        "neighbourhood": Key(NEIGHBOURHOOD, "Who counts as alike; left out, everybody does."),
        "matching": Key(
            MATCHING,
            "Match refused people of the groups compared with refused people like them, and show in the report what "
            "that leaves of the difference in effort.",
        ),
        "rules": Key(
            ListOf(Either((Text(named="a rule"), RULE)), "a list of rules"),
            'What must hold between features after every action: a rule such as "if employed = 0 then tenure = 0", '
            "`{sum: {rent: 1, income: -0.5}, upper: 0}`, `{cause: education, effect: age, per_unit: 1}` (when one "
            "rises so must the other), or `{feature: job, forbidden: [[retired, student]]}` (null is any level).",
        ),
        "alternatives": Key(
            Number(low=1, whole=True),
            "Keep so many ways of each refused person, which change different features. `--alternatives` wins.",
            1,
        ),
        "max_actions": Key(
            Number(low=1, whole=True),
            "At most so many features may be changed by one person at once; what follows is not counted.",
        ),
        "subgroups": Key(
            MapOf(Text(named="a rule"), "a table of rules"),
            'Groups to look at on their own: a name and a rule, such as "age < 25" or "`years at job` >= 2".',
        ),
        "criteria": Key(CRITERIA, "What counts as equal."),
        "surrogate": Key(SURROGATE, "What a surrogate must reach."),
        "solver": Key(SOLVER, "Who looks for the cheapest actions, and how long.", "auto"),
        "work": Key(WORK, "Who does the work. Results are the same to the bit, whoever does."),
        "labels": Key(
            LABELS, "What people call groups, features and levels in all they read; files of data keep the names."
        ),
        "notions": Key(NOTIONS, "What neighbouring notions are asked (`audit --notions`)."),
        "report": Key(REPORT, "What a report shows."),
        "letters": Key(LETTERS, "What letters to refused people say (`equieffort explain FILE --all -o FOLDER`)."),
        "random_state": Key(
            Number(low=0, high=2**32 - 1, whole=True), "Where chance starts, so that a run can be repeated.", 0
        ),
    }
)


def json_schema() -> dict[str, Any]:
    """The spec as JSON schema, for editors that complete and check while one types."""
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "equieffort spec",
        "description": "What is audited and by which rules.",
    }
    return head | SPEC.schema()
