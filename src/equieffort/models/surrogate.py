"""A model trained on decisions to stand for them, with how often it decides alike for people it was not trained on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.frames import Bools, Floats, read_frame, refuse_absurd, require_columns
from equieffort.errors import DataError, ModelError, ParameterError, Part, Setting, closest, label, listed, many, warn
from equieffort.models import fidelity
from equieffort.models.fidelity import RecordedDecisions, Refusals

_bad_decisions = partial(ModelError, "MODEL_SURROGATE")

SURROGATES = ("logistic", "ridge", "linear_svc", "forest", "boosted")
"""All of them can be solved exactly."""
TREES = ("forest", "boosted")
FOLDS = 5
HALVES = 5_000
"""If so many people got the rarer outcome, two models fitted on half of the people each tell as much as five fitted on
four fifths: everybody is held out once either way, and learning from half of so many costs hardly any agreement."""
LEARNED = 100_000
"""None of those models learns from more people than this, drawn at random, unless fewer than `HALVES` of the rarer
outcome would be among them: it is the agreement of a model that learned from less, which is hardly lower."""
REFUTED = 0.001
"""The level at which what is said of a surrogate counts as refuted by the record."""
AT_ONCE = 1 << 16
"""People whom a model fitted without them is asked about at once."""
SPARSE = 0.3
"""The share of cells that are not zero below which a sparse matrix is the faster one."""


@dataclass(frozen=True, eq=False)
class Surrogate:
    """A fitted classifier and its agreement with the decisions, measured on people held out."""

    classifier: Any
    agreement: float
    """The share of people for whom the model fitted without them decides as was decided."""
    by_group: dict[str, float]
    n: int
    kind: str
    folds: int
    decisions: pd.Series
    """What was decided, by the people's labels."""
    held_out: np.ndarray[Any, Any]
    """What the model fitted without them decides, in the same order."""
    groups: np.ndarray[Any, Any]

    def refusals(self, favourable: Any) -> dict[str, Refusals]:
        """By group, and over everybody under the empty name: who is refused by the record, the model, and both."""
        return counted(self.decisions.to_numpy() != favourable, self.held_out != favourable, self.groups)

    def measured(self, favourable: Any, required: float, min_refusal_recall: float) -> fidelity.Surrogate:
        """How far it repeats the decisions, beside what is asked of it."""
        found = self.refusals(favourable)
        whole = found.pop("")
        return fidelity.Surrogate(self.kind, self.agreement, self.by_group, required, whole, found, min_refusal_recall)


def counted(recorded: Bools, model: Bools, groups: np.ndarray[Any, Any]) -> dict[str, Refusals]:
    """By group, and over everybody under the empty name: who is refused by the record, the model, and both."""
    found = {}
    for name in ("", *np.unique(groups).tolist()):
        mine = groups == name if name else np.ones(len(recorded), dtype=bool)
        parts = (mine, mine & recorded, mine & model, mine & recorded & model)
        found[str(name)] = Refusals(*(int(part.sum()) for part in parts))
    return found


def compared(
    stated: fidelity.Surrogate, recorded: Bools, model: Bools, groups: np.ndarray[Any, Any]
) -> fidelity.Surrogate:
    """How well a surrogate repeats the decisions on these people: as it was measured, unless the record says less.

    It learned perhaps from these very people, so that what is counted here may flatter it; but a claim that the record
    refutes (a binomial test, everybody and each group by itself) is replaced by what is counted. So is a claim about
    other groups.
    """
    found = counted(recorded, model, groups)
    whole = found[""]
    by_group = {name: counts for name, counts in found.items() if name}
    claims = [(stated.refusals, whole), *((stated.refusals_by_group.get(name), by_group[name]) for name in by_group)]
    if not any(claim is not None and _refuted(claim, counts) for claim, counts in claims):
        if stated.refusals_by_group:
            return stated
        shares = {name: counts.agreement for name, counts in by_group.items()}
        return replace(stated, by_group=shares, refusals_by_group=by_group)
    return replace(
        stated,
        agreement=whole.agreement,
        by_group={name: counts.agreement for name, counts in by_group.items()},
        refusals=whole,
        refusals_by_group=by_group,
    )


def _refuted(claim: Refusals, counts: Refusals) -> bool:
    """Whether so few decisions, or refusals, would hardly ever be repeated if as many were as is claimed."""
    from scipy.stats import binom

    pairs = (
        (claim.agreement * claim.n, claim.n, round(counts.agreement * counts.n) if counts.n else 0, counts.n),
        (claim.by_both, claim.recorded, counts.by_both, counts.recorded),
    )
    # What never failed among n people may still fail once in so many.
    return any(
        total and n and float(binom.cdf(hits, n, (right + 1) / (total + 2))) < REFUTED
        for right, total, hits, n in pairs
    )


def recorded_decisions(
    decided: pd.Series, people: pd.Index, refused: np.ndarray[Any, Any], favourable: Any
) -> RecordedDecisions | None:
    """For whom the record differs from a model, and of whom it has no decision.

    `refused` says whom the model refuses. None where people cannot be told from their labels.
    """
    if not decided.index.is_unique:
        if len(decided) != len(people):
            return None
        decided = decided.set_axis(people)
    decided = decided.dropna()
    at = decided.index.get_indexer(people)
    wanted = decided.isin(_several(favourable)).to_numpy()
    unknown = np.flatnonzero(at < 0)
    differs = np.flatnonzero((at >= 0) & (wanted[at] == refused)) if len(wanted) else unknown[:0]
    return RecordedDecisions(tuple(differs.tolist()), tuple(unknown.tolist()))


def two_outcomes(decisions: pd.Series, favourable: Any) -> tuple[pd.Series, Any]:
    """Of several decisions the wanted ones against all others, and what the wanted ones are called then.

    One wanted decision keeps its name, so that whoever loads the surrogate can ask for it again.

    >>> decided = pd.Series(["Low", "High", "Medium"])
    >>> two_outcomes(decided, ["Low"])[0].tolist()
    ['Low', 'not Low', 'not Low']
    >>> two_outcomes(decided, ["Low", "Medium"])[1]
    'Low or Medium'
    """
    wanted = _several(favourable)
    known = decisions.dropna().unique().tolist()
    others = [value for value in known if value not in wanted]
    if len(wanted) == 1 and len(others) <= 1:
        return decisions, wanted[0]
    if not isinstance(favourable, list):
        warn(
            "MODEL_MULTICLASS",
            f"There are {len(known)} different decisions; {favourable!r} is what people want, and {listed(others)} "
            "count as refusals.",
            fix=("If people want others too, list them: ", Setting("favourable", [favourable, ...]), "."),
        )
    if len(wanted) == 1 and not isinstance(wanted[0], str):
        # Labels of one model are of one type: the others go by the least of them.
        name, other = wanted[0], min(others, key=lambda value: (type(value).__name__, value))
    else:
        name = " or ".join(map(str, wanted))
        other = f"not {name}" if len(wanted) == 1 else f"not ({name})"
    merged = np.where(decisions.isin(wanted), np.array(name, dtype=object), np.array(other, dtype=object))
    return pd.Series(merged, index=decisions.index, name=decisions.name).where(decisions.notna()), name


def _several(favourable: Any) -> list[Any]:
    return list(favourable) if isinstance(favourable, list | tuple | set | frozenset) else [favourable]


def train_surrogate(
    kind: str, X: Any, y: Any, *, features: Sequence[str], groups: Any, random_state: int = 0
) -> Surrogate:
    """Train a model on decisions, and measure by stratified cross-validation how well it stands for them.

    Parameters
    ----------
    kind
        "logistic", "ridge" or "linear_svc", which are linear; "forest" or "boosted", 100 trees each.
    X
        The people; text is one-hot encoded, and for linear models numbers are standardised.
    y
        Their decisions, in the order of the rows: two different labels, usually from the model's own `predict`.
    features
        The columns the surrogate may see.
    groups
        Each person's group, in the order of the rows; `by_group` tells the agreement in each.
    random_state
        Decides who is held out together.

    >>> people = pd.DataFrame({"income": [*range(10), *range(90, 100)], "job": ["a", "b"] * 10})
    >>> decided = ["yes" if income > 50 else "no" for income in people["income"]]
    >>> found = train_surrogate("ridge", people, decided, features=["income"], groups=people["job"])
    >>> found.agreement, found.by_group, found.folds
    (1.0, {'a': 1.0, 'b': 1.0}, 5)
    """
    if kind not in SURROGATES:
        raise ParameterError(
            "PARAMETER",
            f"There is no surrogate {kind!r}. {closest(kind, SURROGATES)}".rstrip(),
            fix=f"Choose {listed(SURROGATES)}.",
        )
    frame = _features(X, features)
    labels = _labels(y, frame)
    names = _values(groups, frame, "groups", "groups has no value for").astype(str)
    rarer = int(np.unique(labels, return_counts=True)[1].min())
    folds = 2 if rarer >= HALVES else min(FOLDS, rarer)
    model = _pipeline(kind, frame, random_state)
    fitted, held_out = _cross_validated(model, frame, labels, folds, random_state)
    alike = held_out == labels
    by_group = {str(name): float(alike[names == name].mean()) for name in np.unique(names)}
    decisions = pd.Series(labels, index=frame.index)
    return Surrogate(fitted, float(alike.mean()), by_group, len(frame), kind, folds, decisions, held_out, names)


def _cross_validated(
    model: Any, frame: pd.DataFrame, labels: np.ndarray[Any, Any], folds: int, random_state: int
) -> tuple[Any, np.ndarray[Any, Any]]:
    """The model fitted on everybody, and what it decides about each person when fitted without them."""
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    # Matrices this thin are no faster on several threads, which also round differently on every machine.
    with warnings.catch_warnings(record=True) as issued, threadpool_limits(1):
        warnings.simplefilter("always")
        encoded = _encoded(model, frame)
        model[-1].fit(encoded, labels)
        held_out = _held_out(model, frame, encoded, labels, folds, random_state)
    for item in issued:
        if not issubclass(item.category, ConvergenceWarning):
            warnings.warn_explicit(item.message, item.category, item.filename, item.lineno)
    if any(issubclass(item.category, ConvergenceWarning) for item in issued):
        warn(
            "MODEL_SURROGATE",
            f"The surrogate's {type(model[-1]).__name__} stopped before it had converged.",
            fix="Look at its agreement, and at columns with extreme values; or train another kind.",
        )
    return model, held_out


def _held_out(
    model: Any, frame: pd.DataFrame, encoded: Any, labels: np.ndarray[Any, Any], folds: int, random_state: int
) -> np.ndarray[Any, Any]:
    """What the model decides about each person when fitted without them.

    Text is encoded once, since the levels are told and nothing else is learned of it; what numbers are scaled by is
    learned anew from those who are not held out.
    """
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    scaler = model[0].named_transformers_.get("numbers")
    scales = hasattr(scaler, "fit_transform")
    numbers = frame[[name for name in frame.columns if _is_number(frame[name])]].to_numpy(dtype=np.float64)
    held_out, draw = np.empty_like(labels), np.random.default_rng(random_state)
    rarer = np.unique(labels, return_counts=True)[1].min()
    most = max(LEARNED, -(-HALVES * len(labels) // rarer))
    for others, held in StratifiedKFold(folds, shuffle=True, random_state=random_state).split(labels, labels):
        kept = others if len(others) <= most else np.sort(draw.choice(others, most, replace=False))
        scaled = clone(scaler).fit(numbers[kept]).transform(numbers) if scales else None
        fitted = clone(model[-1]).fit(_rows(encoded, scaled, kept), labels[kept])
        for start in range(0, len(held), AT_ONCE):
            some = held[start : start + AT_ONCE]
            asked = _rows(encoded, scaled, some)
            held_out[some] = fitted.predict(asked if isinstance(asked, np.ndarray) else asked.toarray())
    return held_out


def _rows(encoded: Any, scaled: Floats | None, which: np.ndarray[Any, Any]) -> Any:
    """Some people as a model learns from them: encoded, their numbers in place of the last columns where given."""
    from scipy.sparse import csr_array, hstack

    rows = encoded[which]
    if scaled is None:
        return rows
    texts, numbers = rows[:, : rows.shape[1] - scaled.shape[1]], scaled[which]
    if isinstance(rows, np.ndarray):
        return np.hstack([texts, numbers])
    return hstack([texts, csr_array(numbers)], format=rows.format)


def _encoded(model: Any, frame: pd.DataFrame) -> Any:
    """What the pipeline's last step learns from, as a sparse matrix where that gives the same model sooner.

    Levels of text are nearly all zeros. The pipeline itself answers with dense arrays, as it would have been fitted.
    """
    from scipy.sparse import csc_array, csr_array

    columns, kind = model[0], {"LogisticRegression": csr_array, "GradientBoostingClassifier": csc_array}
    sparse = kind.get(type(model[-1]).__name__)
    if sparse is None or "text" not in [name for name, *_ in columns.transformers]:
        return columns.fit_transform(frame)
    columns.set_params(sparse_threshold=1.0, text__sparse_output=True)
    encoded = columns.fit_transform(frame)
    columns.set_params(sparse_threshold=0.3, text__sparse_output=False)
    columns.named_transformers_["text"].set_params(sparse_output=False)
    columns.sparse_output_ = False
    dense = encoded.nnz > SPARSE * encoded.shape[0] * encoded.shape[1]
    return encoded.toarray() if dense else sparse(encoded)


def _features(X: Any, features: Sequence[str]) -> pd.DataFrame:
    """The columns to learn from, complete and finite."""
    frame = read_frame(X)
    if not features:
        raise ParameterError("PARAMETER", "features is empty.", fix="Name the columns the surrogate may see.")
    if len(set(features)) != len(features):
        raise ParameterError("PARAMETER", f"features names a column twice: {listed(features)}.", fix="Name each once.")
    require_columns(frame, features, why=("The surrogate learns from a feature, but ", Setting("the table")))
    frame = frame[list(features)]
    for name in frame.columns:
        column = frame[name]
        if (missing := column.isna().to_numpy()).any():
            raise DataError(
                "DATA_MISSING_VALUES",
                f"Column {name!r} has no value in {many(int(missing.sum()), 'row', 'rows')}, first in row "
                f"{label(frame.index[int(missing.argmax())])}.",
                fix=Setting("training without"),
            )
        if _is_number(column):
            refuse_absurd(column, "Correct the value.")
        elif len(kinds := {type(value).__name__ for value in column.unique()}) > 1:
            raise DataError(
                "DATA_TYPE",
                f"Column {name!r} mixes values of the types {listed(sorted(kinds))}.",
                fix="Convert the column to text, or to numbers.",
            )
    return frame


def _is_number(column: pd.Series) -> bool:
    return bool(pd.api.types.is_numeric_dtype(column.dtype))


def _values(values: Any, frame: pd.DataFrame, what: str, missed: Part) -> np.ndarray[Any, Any]:
    """One value a person, none missing."""
    # In a list of different types numpy would turn numbers into text.
    array = np.asarray(values, dtype=None if hasattr(values, "dtype") else object)
    if array.shape != (len(frame),):
        raise DataError(
            "DATA_LENGTH",
            f"{what} has shape {array.shape} for {many(len(frame), 'person', 'people')}.",
            fix="Give one value a person, in the order of the rows.",
        )
    missing = np.asarray(pd.isna(array))
    if missing.any():
        raise DataError(
            "DATA_MISSING_VALUES",
            (missed, f" row {label(frame.index[int(missing.argmax())])}."),
            fix=Setting("training without"),
        )
    return array


def _labels(y: Any, frame: pd.DataFrame) -> np.ndarray[Any, Any]:
    """Two labels, each of them given at least twice."""
    values = _values(y, frame, "y", Setting("no decision")).tolist()
    found = sorted(set(values), key=lambda value: (type(value).__name__, str(value)))
    if len({type(value) for value in found}) > 1 and not all(isinstance(value, int | float) for value in found):
        raise _bad_decisions(
            f"The decisions are of different types: {', '.join(map(repr, found[:8]))}.",
            fix="Write all decisions as text, or all as numbers.",
        )
    if len(found) == 1:
        raise _bad_decisions(
            f"All {many(len(values), 'decision is', 'decisions are')} {found[0]!r}.",
            fix="Give people of both outcomes; from one alone no rule can be learned.",
        )
    if len(found) > 2:
        raise _bad_decisions(f"The decisions have {len(found)} values, {listed(found)}.", fix=Setting("two outcomes"))
    rare = min(found, key=values.count)
    if values.count(rare) < 2:
        raise _bad_decisions(
            f"Only one decision is {rare!r}, so that nobody like that can be held out.",
            fix="Give at least two people of each outcome; five or more make the check meaningful.",
        )
    return np.array(values)


def _pipeline(kind: str, frame: pd.DataFrame, random_state: int) -> Any:
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = [name for name in frame.columns if _is_number(frame[name])]
    texts = [name for name in frame.columns if name not in numbers]
    parts: list[tuple[str, Any, list[str]]] = []
    if texts:
        # All levels are told, so that a level whose people are all held out is not unknown to the others.
        levels = [np.array(sorted(frame[name].unique().tolist()), dtype=object) for name in texts]
        parts.append(("text", OneHotEncoder(categories=levels, handle_unknown="error", sparse_output=False), texts))
    if numbers:
        parts.append(("numbers", "passthrough" if kind in TREES else StandardScaler(), numbers))
    return Pipeline([("columns", ColumnTransformer(parts)), ("model", _final(kind, random_state))])


def _final(kind: str, random_state: int) -> Any:
    """What learns from the encoded columns. Importing all of them would take longer than to train some."""
    if kind in TREES:
        from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

        if kind == "forest":
            return RandomForestClassifier(100, max_depth=6, random_state=random_state)
        return GradientBoostingClassifier(n_estimators=100, max_depth=3, random_state=random_state)
    if kind == "linear_svc":
        from sklearn.svm import LinearSVC

        return LinearSVC(max_iter=10_000, random_state=random_state)
    from sklearn.linear_model import LogisticRegression, RidgeClassifier

    if kind == "ridge":
        return RidgeClassifier(random_state=random_state)
    return LogisticRegression(max_iter=10_000, random_state=random_state)
