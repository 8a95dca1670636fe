"""Decision: asks a fitted classifier for its own labels, and checks that the answers can be used.

Labels come from `predict`, never from thresholding probabilities again, unless a threshold is declared: then the
declared rule is the decision.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.frames import Bools, Floats, require_columns
from equieffort.data.one_hot import OneHot
from equieffort.errors import DataError, ModelError, Setting, closest, label, listed, sentence, warn
from equieffort.foundations.arguments import as_plain, names_in
from equieffort.foundations.memory import warn_of_memory
from equieffort.models.classifiers.naming import model_name

_bad_labels = partial(ModelError, "MODEL_LABELS")
_bad_output = partial(ModelError, "MODEL_OUTPUT")

ASKED_ALONE = 200
"""So many rows are put to a model that failed one by one, to name the first."""

NAN = "What is missing reaches the model as None or NA, which it does not take for missing: write NaN in its place."
"""The way out where a model knows one mark for a missing value and the table holds another."""


@dataclass
class AtOnce:
    """How many rows the model is asked about at once: fewer, once memory was too short for more."""

    most: int = sys.maxsize


@dataclass(frozen=True, eq=False)
class Decision:
    """A classifier, the columns it sees in its order, and the labels people want."""

    classifier: Any
    features: tuple[str, ...]
    """The columns of the table that it decides by; a category that it gets one-hot encoded is one of them."""
    favourable: Any
    """The label people want, or a list of them."""
    bare: bool
    """Whether the classifier was fitted without names and wants a plain array."""
    threshold: float | None = None
    """If declared: the decision is favourable when the probability of the wanted labels is at least this."""
    whole: bool = False
    """Whether all its columns have a type of whole numbers, so that a plain array of them has one too."""
    own: tuple[str, ...] = ()
    """The columns that it is given, in its order: the features, with one-hot encoded categories spread."""
    one_hot: OneHot = field(default_factory=OneHot)
    types: Mapping[str, Any] = field(default_factory=dict)
    """The types of the columns over which categories are spread."""
    missing: Mapping[str, Any] = field(default_factory=dict)
    """Features whose value is missing for whoever is asked about, and what stands for that in the table."""
    at_once: AtOnce = field(default_factory=AtOnce, repr=False)

    def __post_init__(self) -> None:
        if not self.own:
            object.__setattr__(self, "own", self.features)

    @classmethod
    def of(
        cls,
        classifier: Any,
        favourable: Any,
        frame: pd.DataFrame,
        model_features: Sequence[str] | None = None,
        threshold: float | None = None,
        one_hot: OneHot | None = None,
        types: Mapping[str, Any] | None = None,
    ) -> Decision:
        """Check the classifier: it predicts, is fitted, knows the favourable label and answers alike twice.

        With categories that the model gets one-hot encoded the table holds them as one column each.
        """
        one_hot = one_hot if one_hot is not None else OneHot()
        own = known_features(classifier, model_features)
        features = one_hot.names(own)
        types = {name: (types or {}).get(name, np.dtype(np.int64)) for name in own if name not in features}
        require_columns(frame, features, why=("The model uses a feature, but ", Setting("the table")))
        bare = not hasattr(classifier, "feature_names_in_")
        given = [types[name] if name in types else frame[name].dtype for name in own]
        whole = all(map(pd.api.types.is_integer_dtype, given))
        decision = cls(classifier, features, favourable, bare, threshold, whole, own, one_hot, types)
        decision._check_classes()
        decision._tell_others()
        decision._check_threshold()
        _check_categories(classifier, frame)
        sample = frame.iloc[:2000]
        decision._check_answers(sample)
        return decision

    def trained_again(self, classifier: Any) -> Decision:
        """The same question to a model of the same kind and columns; whether it answers alike twice is known."""
        again = replace(self, classifier=classifier, bare=not hasattr(classifier, "feature_names_in_"))
        again._check_classes()
        again._check_threshold()
        return again

    @property
    def wanted(self) -> tuple[Any, ...]:
        """The labels people want."""
        several = isinstance(self.favourable, list | tuple | set | frozenset)
        return tuple(self.favourable) if several else (self.favourable,)

    def _check_classes(self) -> None:
        if getattr(self.classifier, "classes_", None) is None:
            return
        known = self._classes
        for wanted in self.wanted:
            if wanted not in known:
                raise _bad_labels(
                    f"The favourable label {wanted!r} is not among the model's classes. "
                    f"{closest(wanted, known)}".rstrip(),
                    fix=f"The classes are {', '.join(map(repr, known))}.",
                )
        if set(known) <= set(self.wanted):
            raise _bad_labels(
                f"Every class of the model was declared favourable: {listed(known)}.",
                fix="Leave out the decisions people do not want.",
            )

    def _tell_others(self) -> None:
        """One label of several was named: what counts as refused is said once."""
        others = [one for one in self._classes if one not in self.wanted]
        if len(others) > 1 and self.wanted == (self.favourable,):
            warn(
                "MODEL_MULTICLASS",
                f"The model chooses between {len(others) + 1} classes; {self.favourable!r} is what people want, and "
                f"{listed(others)} count as refusals.",
                fix=(
                    "If people want others too, list them: ",
                    Setting("favourable", [self.favourable, ...]),
                    "; if it is only that one, ",
                    Setting("favourable", [self.favourable]),
                    " says so.",
                ),
            )

    @cached_property
    def _classes(self) -> list[Any]:
        """The labels that the model says it gives; empty if it does not say."""
        classes = getattr(self.classifier, "classes_", None)
        if classes is None:
            return []
        found = np.asarray(classes)
        if found.ndim != 1:
            raise _bad_labels(
                f"The list of classes of the model ({model_name(self.classifier)}) has the shape {found.shape}.",
                fix="Give a model with one list of classes; of a model with several outputs audit each for itself.",
            )
        return [as_plain(value) for value in found]

    def _check_threshold(self) -> None:
        if self.threshold is not None and not self._classes:
            raise ModelError(
                "MODEL_NO_PROBABILITY",
                (
                    f"A threshold of {self.threshold:g} is declared, but the model ({model_name(self.classifier)}) "
                    "does not say which of its probabilities is that of which label",
                    Setting("no member", "classes_"),
                    ".",
                ),
                fix=("Leave the threshold out, so that the model's own label decides, or ", Setting("classes_"), "."),
            )
        if self.threshold is not None and not callable(getattr(self.classifier, "predict_proba", None)):
            raise ModelError(
                "MODEL_NO_PROBABILITY",
                (
                    f"A threshold of {self.threshold:g} is declared, but the model ({model_name(self.classifier)}) "
                    "gives no probabilities",
                    Setting("no member", "predict_proba"),
                    ".",
                ),
                fix="Leave the threshold out, so that the model's own label decides, or calibrate the model first.",
            )

    def _check_answers(self, sample: pd.DataFrame) -> None:
        labels = self.answers(sample)
        again = self.answers(sample)
        differs = labels != again
        if np.any(differs):
            row = sample.index[int(np.argmax(differs))]
            raise ModelError(
                "MODEL_NOT_DETERMINISTIC",
                f"Asked twice about row {label(row)}, the model answered {label(labels[differs][0])} and "
                f"{label(again[differs][0])}.",
                fix="Fix its random state, or switch off what is random when it predicts.",
            )
        if hasattr(self.classifier, "classes_") or self.threshold is not None:
            return
        # Without declared classes only a sample can tell; a label of another type would never match.
        kinds = tuple({type(label) for label in labels.tolist()})
        for wanted in self.wanted:
            if wanted not in set(labels.tolist()) | {True} and not isinstance(wanted, kinds):
                raise _bad_labels(
                    f"The favourable label {wanted!r} is of another type than the model's answers, "
                    f"{listed(sorted(set(map(str, labels.tolist()))))}.",
                    fix="Name the label as the model returns it.",
                )

    def model_input(self, frame: pd.DataFrame) -> Any:
        """What the classifier is given: its own columns, in its order."""
        own = frame if tuple(frame.columns) == self.features else frame[list(self.features)]
        if self.types:
            own = self.one_hot.spread(own, self.own, self.types)
        return own.to_numpy() if self.bare else own

    def labels(self, frame: pd.DataFrame) -> np.ndarray[Any, Any]:
        """The classifier's own labels, checked for shape and missing values."""
        return self._ask("predict", "label", frame, ())

    def answers(self, frame: pd.DataFrame) -> np.ndarray[Any, Any]:
        """What decides: the classifier's labels or, with a declared threshold, the chance of the wanted ones."""
        return self.labels(frame) if self.threshold is None else self._chances(frame)

    def chances(self, frame: pd.DataFrame) -> Floats:
        """The model's own probability of the labels people want, whatever decides."""
        if not self._classes or not callable(getattr(self.classifier, "predict_proba", None)):
            raise ModelError(
                "MODEL_NO_PROBABILITY",
                (
                    f"Probabilities are asked for, but the model ({model_name(self.classifier)}) gives none, or does "
                    "not say which belongs to which label",
                    Setting("no member", "predict_proba or no classes_"),
                    ".",
                ),
                fix="Ask for the model's own label instead, or calibrate the model first.",
            )
        return self._chances(frame).astype(np.float64)

    def _chances(self, frame: pd.DataFrame) -> np.ndarray[Any, Any]:
        known = self._classes
        chances = self._ask("predict_proba", "probability", frame, (len(known),))
        return np.asarray(chances[:, [known.index(label) for label in self.wanted]].sum(axis=1))

    def _ask(self, method: str, what: str, frame: pd.DataFrame, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        """The model's answers, checked; asked about fewer rows at once where memory is too short for all."""
        most = self.at_once.most
        if len(frame) > most:
            parts = [frame.iloc[start : start + most] for start in range(0, len(frame), most)]
            return np.concatenate([self._ask(method, what, part, shape) for part in parts])
        try:
            answers = np.asarray(getattr(self.classifier, method)(self.model_input(frame)))
        except MemoryError:
            if len(frame) <= 1:
                raise
            if most == sys.maxsize:
                warn_of_memory(f"the model was asked about {len(frame):,} rows")
            self.at_once.most = len(frame) // 2
            return self._ask(method, what, frame, shape)
        except Exception as error:
            raise self._failed(error, method, frame) from error
        if answers.shape != (len(frame), *shape):
            each = f"one {what} a row" if not shape else "one probability a class and row"
            raise _bad_output(
                f"The model returned {'labels' if not shape else 'probabilities'} of shape {answers.shape} for "
                f"{len(frame)} people.",
                fix=(Setting("answering", method), f" {each}."),
            )
        missing = pd.isna(answers).reshape(len(frame), -1).any(axis=1)
        if missing.any():
            raise _bad_output(
                f"The model returned no {what} (NaN) for row {label(frame.index[int(missing.argmax())])}.",
                fix="Check what the model does with this row.",
            )
        return answers

    def _first_failing(self, method: str, frame: pd.DataFrame) -> str:
        for row in range(min(len(frame), ASKED_ALONE)):
            try:
                getattr(self.classifier, method)(self.model_input(frame.iloc[[row]]))
            except Exception:
                return f", first for row {label(frame.index[row])}"
        return ""

    def _failed(
        self, error: Exception, method: str = "predict", frame: pd.DataFrame | None = None
    ) -> ModelError | DataError:
        name, text = model_name(self.classifier), str(error).strip().split("\n")[0]
        if type(error).__name__ == "NotFittedError":
            return _not_fitted(name)
        if "unknown categories" in text.lower() or "unseen labels" in text.lower():
            return DataError(
                "DATA_UNSEEN_CATEGORY",
                f"The model met a category it does not know: {sentence(text)}",
                fix=NAN
                if "[None]" in text or "<NA>" in text
                else "Correct the values, drop these rows, or train the model with this category.",
            )
        whom = "" if frame is None else self._first_failing(method, frame)
        return ModelError(
            "MODEL_FAILED",
            (
                Setting("asked", f"{name}.{method}", of=name),
                f" failed{whom}",
                Setting("raised", type(error).__name__),
                f"{': ' if text else ''}{sentence(text)}",
            ),
            fix=NAN
            if "NA is ambiguous" in text
            else "Check that the model accepts these columns: " + listed(self.own, 20) + ".",
        )

    def is_favourable(self, frame: pd.DataFrame) -> Bools:
        """Whether each person gets a decision people want."""
        answers = self.answers(frame)
        if self.threshold is not None:
            return np.asarray(answers >= self.threshold, dtype=bool)
        found = np.zeros(len(frame), dtype=bool)
        for wanted in self.wanted:
            found |= np.asarray(answers == wanted, dtype=bool)
        if self._classes:
            known = found.copy()
            for other in self._classes:
                if not known.all():
                    known |= np.asarray(answers == other, dtype=bool)
            if not known.all():
                row = int((~known).argmax())
                raise _bad_output(
                    f"The model answered {label(answers[row])} about row {label(frame.index[row])}, which is none of "
                    f"its classes: {listed(self._classes)}.",
                    fix=Setting("only its classes"),
                )
        return found


def known_features(classifier: Any, model_features: Sequence[str] | None = None) -> tuple[str, ...]:
    """The columns a fitted classifier sees, in its order."""
    if not callable(getattr(classifier, "predict", None)):
        raise ModelError(
            "MODEL_NO_PREDICT",
            (f"The model, of type {model_name(classifier)}, ", Setting("no predict"), "."),
            fix=Setting("a classifier"),
        )
    _check_booster(classifier)
    _check_fitted(classifier)
    if model_features is not None:
        model_features = names_in("model_features", model_features)
    names = getattr(classifier, "feature_names_in_", None)
    features = tuple(model_features if model_features is not None else names if names is not None else ())
    if not features:
        raise DataError(
            "DATA_NO_NAMES",
            f"{model_name(classifier)} was fitted without column names.",
            fix=("Say which columns it sees, in its order: ", Setting("model_features"), "."),
        )
    return tuple(map(str, features))


def first_steps(step: Any, names: Sequence[str] | None = None) -> Iterator[tuple[Any, Sequence[str] | None]]:
    """The steps of a model that get the values as they are in the table, with the names of their columns where these
    are known; what later ones get is not known. An imputer hands on all values that there are."""
    own = getattr(step, "feature_names_in_", None)
    names = list(map(str, own)) if own is not None else names
    if hasattr(step, "steps"):
        for _, inner in step.steps:
            yield from first_steps(inner, names)
            if not _changes_nothing(inner):
                return
            names = None if getattr(inner, "add_indicator", False) else names
    elif hasattr(step, "transformers_"):
        for _, inner, columns in step.transformers_:
            yield from first_steps(inner, _named(columns))
    elif hasattr(step, "transformer_list"):
        for _, inner in step.transformer_list:
            yield from first_steps(inner, names)
    else:
        yield step, names


def _named(columns: Any) -> list[str] | None:
    """Columns that a transformer picks by their names."""
    given = [columns] if isinstance(columns, str) else columns
    is_list = isinstance(given, list | tuple | np.ndarray | pd.Index)
    return list(given) if is_list and all(isinstance(name, str) for name in given) else None


def encoded_levels(step: Any, names: Sequence[str] | None) -> list[tuple[str, Any]]:
    """The levels that a step knows of its columns; none where it does not say of which."""
    known = getattr(step, "categories_", None)
    if known is None or names is None or len(names) != len(known):
        return []
    return list(zip(names, known, strict=True))


def _check_categories(classifier: Any, frame: pd.DataFrame) -> None:
    """Refuse a category that an encoder of the model has never met, also where it would silently ignore it."""
    for step, names in first_steps(classifier):
        for name, known in encoded_levels(step, names):
            if name in frame.columns and not (met := frame[name].isin(list(known)) | frame[name].isna()).all():
                row = int((~met).to_numpy().argmax())
                value = frame[name].iloc[row]
                raise DataError(
                    "DATA_UNSEEN_CATEGORY",
                    f"Column {name!r} holds {label(value)} in row {label(frame.index[row])}, which the model has never "
                    f"met. {closest(value, known)}".rstrip(),
                    fix=f"Correct the value, drop these rows, or train with it; the model knows {listed(known)}.",
                )


def _changes_nothing(step: Any) -> bool:
    """Whether a step of a pipeline hands on what it is given, at most with something in place of what is missing."""
    if step is None or isinstance(step, str):
        return step in (None, "passthrough")
    if type(step).__name__ == "SimpleImputer":
        return bool(step.keep_empty_features or not pd.isna(step.statistics_).any())
    return type(step).__name__ == "FunctionTransformer" and step.func is None


def _check_booster(classifier: Any) -> None:
    """Refuse what the libraries' classifiers hold inside: its `predict` gives scores, which are no labels."""
    library = type(classifier).__module__.split(".")[0]
    own = {"xgboost": ("XGBClassifier", "model.json"), "lightgbm": ("LGBMClassifier", "model.txt")}.get(library)
    if own is not None and type(classifier).__name__ == "Booster":
        name, file = own
        raise ModelError(
            "MODEL_NO_PREDICT",
            f"The model is a {library}.Booster, whose predict gives scores or probabilities and no labels.",
            fix=(Setting("booster", of=file), f"; or train an {name}."),
        )


def _check_fitted(classifier: Any) -> None:
    from sklearn.base import BaseEstimator
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if isinstance(classifier, type):
        raise ModelError(
            "MODEL_NOT_FITTED",
            f"{classifier.__name__} is a class, not a fitted model.",
            fix=f"Create and fit it: {classifier.__name__}().fit(X, y).",
        )
    if isinstance(classifier, BaseEstimator):
        try:
            check_is_fitted(classifier)
        except NotFittedError as error:
            raise _not_fitted(type(classifier).__name__) from error


def _not_fitted(name: str) -> ModelError:
    return ModelError("MODEL_NOT_FITTED", f"{name} is not fitted.", fix=Setting("fit first"))
