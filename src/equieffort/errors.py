"""Errors and warnings: a stable code, and what, where, why it matters and how to fix it.

Every problem a user can cause has a code in `CODES`. The code never changes once released, so that
scripts can act on it; the words may improve.

A text is a string, or a tuple of strings and of `Setting`s: a setting is written one way in Python and another way in
a spec, and the room `words` knows both. `what`, `fix` and the message are in Python's words; `what_parts` and
`fix_parts` are what they were made from.

>>> raise GraphError("GRAPH_CYCLE", "The causal graph has a cycle: a -> b -> a.", fix="Remove one of these edges.")
Traceback (most recent call last):
equieffort.errors.GraphError: The causal graph has a cycle: a -> b -> a.
  Why it matters: Counterfactuals are computed from causes to effects, and a cycle has no such order.
  How to fix it: Remove one of these edges.
  Code: GRAPH_CYCLE
"""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from html import escape
from typing import Any

CODES: dict[str, str] = {
    # data
    "DATA_EMPTY": "An audit of nobody says nothing.",
    "DATA_TYPE": "Only a table with named columns says which number belongs to which feature.",
    "DATA_DUPLICATE_COLUMNS": "With two columns of one name it is undecided which of them the model sees.",
    "DATA_MISSING_COLUMN": "Every column that the model, the graph, a declared feature or a distance names is needed.",
    "DATA_NO_NAMES": "Without names the columns cannot be matched to the model, the graph and the declared features.",
    "DATA_EXTRA_COLUMNS": "These columns play no part in the audit; a misspelt name would look like this.",
    "DATA_MISSING_VALUES": "A counterfactual needs every value of the person it starts from.",
    "DATA_NOT_FINITE": "Infinite or absurdly large values make every range, distance and cost meaningless.",
    "DATA_NOT_NUMERIC": "Effort on a feature is measured as a difference, which text does not have.",
    "DATA_UNSEEN_CATEGORY": "The model has never met this value, so its decision for it is not defined.",
    "DATA_DUPLICATE_INDEX": "A label that names two people cannot say which of them is meant.",
    "DATA_NAMES_PEOPLE": "A model that sees who somebody is learns single people, not a rule.",
    "DATA_COPIES_OUTCOME": "A model that sees the decision repeats it, and nobody can act on what comes after it.",
    "DATA_CONSTANT": "What is the same for everybody explains no decision, and often stands for a slip in the table.",
    "DATA_SAMPLED": "What rests on some of the people may differ a little from what rests on all of them.",
    "DATA_SENTINEL": "A code for what is not known is taken for an amount: it stretches ranges, limits and equations.",
    "SURROGATE_NOT_KEPT": "An audit of a surrogate that nobody can ask again cannot be repeated or verified.",
    "SURROGATE_LOADED": "What holds for a model trained on decisions need not hold for the system that made them.",
    "SURROGATE_AGREEMENT": "A surrogate says something of decisions only as far as it was compared with them.",
    "SURROGATE_PERFECT": "Decisions are seldom that simple: often a feature was written down after the decision.",
    "DATA_LEFT_OUT": "Nothing was computed of people who left the audit.",
    "DATA_UNKNOWN_ROW": "Only a person who was audited can be looked up.",
    "DATA_LENGTH": "Each person needs exactly one value.",
    "DATA_INDEX": "Values joined by position where labels disagree would be given to the wrong people.",
    "DATA_NOT_INTEGER": "An integer feature never gets a fraction, so the facts must be whole numbers too.",
    # schema
    "SCHEMA_ROLE": "Role and direction decide how a feature may be acted on.",
    "SCHEMA_LABELS": "A label that belongs to nothing, or to two things, would mislead whoever reads the result.",
    "SCHEMA_KIND": "The kind decides which values a feature can take.",
    "SCHEMA_LIMITS": "With contradictory limits no action would be allowed and everybody would look unable to act.",
    "SCHEMA_LEVELS": "Levels and their order decide which changes of a category go up and what each costs.",
    "SCHEMA_WEIGHT": "A weight that is not positive would make effort free or undefined.",
    "SCHEMA_SENSITIVE_MISSING": "Groups are formed by the sensitive attribute.",
    "SCHEMA_SENSITIVE_ACTIONABLE": "Changing a protected attribute is never recourse.",
    "SCHEMA_SENSITIVE_CONTINUOUS": "Groups need a handful of values; almost every person would be a group of one.",
    "SCHEMA_ONE_GROUP": "Effort is compared between groups, so at least two must be present.",
    "SCHEMA_GROUPS": "Who is compared with whom must be said, never guessed.",
    "SCHEMA_ONE_HOT": "Columns of one category changed apart describe a person who cannot exist.",
    "SCHEMA_THRESHOLD": "The declared threshold is what decides.",
    "SCHEMA_KIND_ASSUMED": "Where only whole numbers make sense, a fraction is no action that anybody can take.",
    "SCHEMA_ROLE_ASSUMED": "Whether a feature may move changes who has recourse.",
    "SCHEMA_OUT_OF_LIMITS": "These people start outside the declared limits; the limit is widened for them alone.",
    # graph
    "GRAPH_TYPE": "The graph says what causes what.",
    "GRAPH_PARSE": "The graph says what causes what.",
    "GRAPH_CYCLE": "Counterfactuals are computed from causes to effects, and a cycle has no such order.",
    "GRAPH_UNKNOWN_NODE": "A node without data has no equation and no counterfactual.",
    "GRAPH_ROOTS_ASSUMED": "A feature without edges neither follows nor moves any other.",
    "GRAPH_INTO_SENSITIVE": "A protected attribute that is caused by other features is rarely meant.",
    "GRAPH_UNOBSERVED": "A hidden common cause breaks the assumption that noises are independent.",
    # structural causal model
    "SCM_NOT_FITTED": "Counterfactuals need the structural equations.",
    "SCM_MECHANISM": "Every node with causes needs an equation whose noise can be recovered.",
    "SCM_CANNOT_ABDUCT": "Without the person's noise there is no counterfactual for this node.",
    "SCM_NO_VALUE": "Where an equation divides by 0 there is neither noise nor a counterfactual.",
    "SCM_COLLINEAR": "Which of these causes acts cannot be told from the data; the least-norm fit is used.",
    "SCM_TOO_FEW_ROWS": "With as many causes as rows every equation fits perfectly and means nothing.",
    "SCM_POOR_FIT": "Counterfactuals of a node whose equation explains almost nothing are weak evidence.",
    "SCM_NUMERIC_CODES": "Codes of a category are names, not amounts.",
    "SCM_DO": "An intervention needs one value for everybody, or one value a person.",
    # classifier
    "MODEL_NO_PREDICT": "The audit asks the model for its own decisions.",
    "MODEL_NO_PROBABILITY": "A declared threshold is compared with the model's probabilities.",
    "MODEL_NOT_FITTED": "The audit asks the model for its own decisions.",
    "MODEL_LABELS": "Without knowing which decision is good for people there is no recourse.",
    "MODEL_MULTICLASS": "Of several outcomes those that are not named as favourable count as refusals.",
    "MODEL_NOT_DETERMINISTIC": "Recourse towards a decision that changes by itself means nothing.",
    "MODEL_OUTPUT": "Each person needs exactly one decision.",
    "MODEL_NOT_LINEAR": "Exact answers need a model and equations that the solver understands.",
    "MODEL_WEIGHTS": "A network can only be computed from weights that fit together.",
    "MODEL_FAILED": "The audit asks the model for its own decisions.",
    # cost, problem, solver
    "COST_ZERO_SCALE": "Changes are divided by the scale, and nothing can be divided by zero.",
    "COST_ZERO_RANGE": "A feature with one value tells nobody apart.",
    "COST_OUTLIER": "One extreme value stretches the range, so that everybody else's effort looks small.",
    "COST_GROUP": "A rank within one's own group needs people of that group to be ranked among.",
    "COST_SIZE": "Means and their spread are computed from squares, which must be numbers too.",
    "COST_INVALID": "Effort must be a number that grows with the change.",
    "PROBLEM_NOTHING_ACTIONABLE": "Without anything a person may change nobody has recourse.",
    "PROBLEM_TOO_MANY_INTERVENTIONS": "Every set of them is tried, and the number of sets doubles with each feature.",
    "SOLVER_HEURISTIC": "What a search overlooks may differ between groups, which biases the ratio that is measured.",
    "RECOURSE_UNKNOWN": "What is unknown is neither possible nor impossible: averages become ranges.",
    # neighbourhoods, metrics, verdict
    "NEIGHBOURS_QUANTILE": "The quantile is the share of all people who count as neighbours.",
    "NEIGHBOURS_K": "A neighbourhood needs at least one person and at most everybody.",
    "DISTANCE_MISSING": "How far two people are apart is known only in what both of them have.",
    "DISTANCE_INVALID": "Similarity needs a distance that is never negative, missing or infinite.",
    "RULE_SYNTAX": "A subgroup is described by a small grammar that is parsed, never executed.",
    "RULE_NAME": "A rule can only speak of columns of the data.",
    "RULE_LINK": "A rule between features limits every action.",
    "RULE_TYPE": "Only values of one kind can be compared, and only numbers ordered.",
    "RULE_UNMATCHED": "A misspelt value describes nobody, or fails to exclude anybody.",
    "SUBGROUP_MASK": "The mask says for each person whether they belong.",
    "CRITERIA_INVALID": "The verdict compares the ratio and the difference with these thresholds.",
    "EFFORT_NOT_MONOTONE": "If more of the treatment can mean fewer approvals, the least that suffices is not all.",
    "OUTCOME_ALL_UNFAVOURABLE": "A model that refuses everybody may be applied to the wrong data.",
    "VERIFY_OTHER_DATA": "Whether an audit holds can only be asked of the very people it is about.",
    "VERIFY_OTHER_MODEL": "Whether an audit holds can only be asked of the very model it is about.",
    "VERIFY_ORACLE": "A second opinion is one only if another solver gives it, on the same problem.",
    "AUDIT_FILE": "An audit must come back from its file exactly as it went in, or not at all.",
    "AUDIT_FILE_MISSING": "Only an audit that was saved can be read; nothing is computed here.",
    "AUDIT_LOADED": "A file holds what was found, not the model that it was found with.",
    "OPTIONAL_DEPENDENCY": "This needs a package that is not part of the core installation.",
    "PARAMETER": "The setting decides what is computed.",
    # runs, comparison, command line
    "AUDIT_SCALES": "Costs at different prices are in different units, and their difference means nothing.",
    "AUDIT_LIMITS": "Part of the change may come from how far people may go, and not from the decisions.",
    "AUDIT_GROUPS": "Only audits of the same groups can be compared.",
    "AUDIT_LABELS": "What happened to a person can only be said if the label names the same person in both audits.",
    "SPEC_UNFILLED": "Who is protected and what may change must be said by somebody who knows, never guessed.",
    "OUTPUT": "Work whose result cannot be written is lost, so this is looked at before any work is done.",
    "LETTER_TEMPLATE": "A letter that is not whole must not reach anybody.",
    "RUN_CHANGED": "Results must belong to one state of the data.",
    "RUN_WRITE": "What was computed could not be kept.",
    "RUN_PICKLE": "Other processes can only work with what can be sent to them.",
    "RUN_WORKERS": "An audit that leaves people out in silence would be about others than it says.",
    "RUN_WORKER_DIED": "What a process had not handed in when it ended is computed again, so that nobody is lost.",
    "RUN_EXECUTOR_LOST": "Work that nobody takes would never end.",
    "RUN_CLUSTER": "Work can only be sent to a cluster that answers.",
    "RUN_MEMORY": "Work for which there is no memory is ended by the system.",
    "RUN_CLOCK": "A limit of seconds ends a search at another place in another run: these answers may differ then.",
    "RUN_CHECKPOINT": "Only parts of the same people, model and question add up to one audit.",
    "RUN_CHECKPOINT_DAMAGED": "What cannot be read whole is computed again, since half of it would be wrong.",
    # monitoring
    "MONITOR_STATE": "Evidence holds only if it goes on from exactly where it stood.",
    "MONITOR_CHANGED": "Evidence adds up only while one and the same thing is measured.",
    "MONITOR_BATCH": "People who are counted twice are not evidence twice.",
    "MONITOR_BUDGET": "Effort is measured in shares of the budget, so that people without recourse can count.",
    # spec, inputs
    "SPEC_FILE": "The spec says what is audited and by which rules; nothing runs without it.",
    "SPEC_YAML": "Text that programs read in different ways could change the audit without anybody noticing.",
    "SPEC_KEY": "A key that is misspelt or forgotten would leave the audit with a setting nobody chose.",
    "SPEC_VALUE": "Each key decides what is computed, so a value that does not fit is never bent until it does.",
    "DATA_FILE": "People can only be audited once their table has been read completely.",
    "DATA_ENCODING": "Bytes read by the wrong table of letters turn names and groups into others.",
    "DATA_RAGGED": "A cell too many or too few shifts values into columns where they mean something else.",
    "DATA_GROUP_UNKNOWN": "They may belong to any of the groups, and nobody's effort is left out in silence.",
    "DATA_SIMILAR_LABELS": "Spellings of one group would be compared as if they were different groups.",
    # models: reading model files, training a surrogate
    "MODEL_FILE": "Only a complete file of a known format gives the model that was saved.",
    "MODEL_PICKLE": "Reading a pickle runs any program that is in it.",
    "MODEL_UNTRUSTED": "Only what is known to be harmless is read from a file.",
    "MODEL_CRASH": "What ends or stops the library that reads it would take the audit with it.",
    "MODEL_VERSION": "A model read by another version of its library may decide differently.",
    "MODEL_SURROGATE": "A surrogate must learn two outcomes, and is judged on people it has not seen.",
    # results
    "VERDICT_UNEQUAL": "Whoever asked for this check wants nothing to go on where effort is shown to be unequal.",
    "VERDICT_INCONCLUSIVE": "Whoever asked for this check wants nothing to go on where equal effort is not shown.",
}
"""Code -> why it matters."""


@dataclass(frozen=True)
class Setting:
    """A part of a text that Python's callers and authors of specs write differently.

    `name` is a row of the table in `words/settings.py`; `value` is what to set it to, `...` where that is the
    reader's choice; `of` is the column, feature or level it is about.

    >>> SchemaError("SCHEMA_GROUPS", "With whom?", fix=("Name one: ", Setting("reference", "male"), ".")).fix
    "Name one: Schema(..., reference='male')."
    """

    name: str
    value: object = ...
    of: object = ""


Part = str | Setting
Text = Part | tuple[Part, ...]
"""What a problem says: its parts become words for whoever reads them."""


def parts_of(*texts: Text) -> tuple[Part, ...]:
    """Texts one after the other, as parts.

    >>> parts_of("Write ", (Setting("reference"), "."))
    ('Write ', Setting(name='reference', value=Ellipsis, of=''), '.')
    """
    return tuple(part for text in texts for part in (text if isinstance(text, tuple) else (text,)) if part != "")


class _Problem:
    """What errors and warnings have in common."""

    def __init__(self, code: str, what: Text, fix: Text = "") -> None:
        from equieffort.words.settings import in_words

        self.what_parts, self.fix_parts = parts_of(what), parts_of(fix)
        self.code, self.why = code, CODES[code]
        self.what, self.fix = in_words(self.what_parts, "python"), in_words(self.fix_parts, "python")
        super().__init__(self._message())  # type: ignore[call-arg]

    def _message(self) -> str:
        return self.long

    @property
    def long(self) -> str:
        """What, why it matters, how to fix it, and the code: a line each."""
        fixed = f"\n  How to fix it: {self.fix}" if self.fix else ""
        return f"{self.what}\n  Why it matters: {self.why}{fixed}\n  Code: {self.code}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.code, self.what_parts, self.fix_parts), vars(self)


def _rebuild(cls: type[_Problem], code: str, what: Text, fix: Text) -> _Problem:
    return cls(code, what, fix=fix)


class EquieffortError(_Problem, ValueError):
    """Base of all errors raised on purpose; `code`, `what`, `why` and `fix` are attributes."""

    def __init__(self, code: str, what: Text, *, fix: Text = "") -> None:
        super().__init__(code, what, fix)


class DataError(EquieffortError):
    """The table of people cannot be audited as it is."""


class SchemaError(EquieffortError):
    """Roles, kinds, limits or groups contradict each other or the data; `label` says which part of the labels names
    what does not exist, and what, if that is wrong; `feature` says which feature cannot have what it declares."""

    label: tuple[str, str] | None = None
    feature: str | None = None


class GraphError(EquieffortError):
    """The causal graph cannot be read or is not acyclic."""


class CausalModelError(EquieffortError):
    """A structural equation is missing or cannot be used; `node` says whose, if that is known."""

    node: str | None = None


class ModelError(EquieffortError):
    """The classifier cannot be asked, or not understood."""


class CostError(EquieffortError):
    """The cost of an action is not defined."""


class RuleError(EquieffortError):
    """A subgroup rule or mask cannot be read."""


class AuditFileError(EquieffortError):
    """A saved audit cannot be read."""


class MonitorError(EquieffortError):
    """A monitor's state cannot be used, or what is given does not belong to it."""


class ParameterError(EquieffortError):
    """An argument is out of its domain."""


class RunError(EquieffortError):
    """A run could not be finished; what was done is kept where there is a checkpoint."""


class UnequalError(EquieffortError):
    """`raise_if_unequal` found what a pipeline must not pass; `verdict` says what."""

    verdict: Any = None


class EquieffortWarning(_Problem, UserWarning):
    """Something the reader of the result should know: printed in one line with its code.

    `code`, `what`, `why` and `fix` are attributes, `long` is all of them; an audit keeps its warnings in `warnings`,
    but for those that are about the run and not `of_result`.
    """

    of_result: bool = True

    def _message(self) -> str:
        return f"{' '.join(self.what.split())} ({self.code})"


class Warned(tuple[EquieffortWarning, ...]):
    """The warnings of a result: a tuple that prints them in their long form."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "No warnings."

    def __str__(self) -> str:
        return "\n\n".join(one.long for one in self) or "No warnings."

    def _repr_html_(self) -> str:
        if not self:
            return "<p>No warnings.</p>"
        told = (
            f"<dt>{escape(one.what)} <code>{one.code}</code></dt><dd>{escape(one.why)}<br>{escape(one.fix)}</dd>"
            for one in self
        )
        return f"<dl>{''.join(told)}</dl>"


_collector: ContextVar[list[EquieffortWarning] | None] = ContextVar("equieffort_warnings", default=None)
_in_silence: ContextVar[bool] = ContextVar("equieffort_in_silence", default=False)


@contextmanager
def collecting(*, in_silence: bool = False) -> Iterator[list[EquieffortWarning]]:
    """Keep the warnings issued inside, so that a result can carry them; they are still issued, unless somebody else
    does that."""
    kept: list[EquieffortWarning] = []
    token, before = _collector.set(kept), _in_silence.set(in_silence)
    try:
        yield kept
    finally:
        _collector.reset(token)
        _in_silence.reset(before)


def warn(code: str, what: Text, *, fix: Text = "", keep: bool = True) -> None:
    """Issue an `EquieffortWarning` about the caller's line, and hand it to whoever is `collecting`.

    What is about the run and not about its result is not to `keep`: another run has the same result without it.
    """
    warning = EquieffortWarning(code, what, fix)
    if not keep:
        warning.of_result = False
    tell_again(warning)


def tell_again(warning: EquieffortWarning) -> None:
    """Issue a warning that was made before, perhaps in another process."""
    kept, in_silence = _collector.get(), _in_silence.get()
    # In silence somebody else issues them, who then sees what is of the result.
    if kept is not None and (warning.of_result or in_silence):
        if any((warning.code, warning.what) == (other.code, other.what) for other in kept):
            return
        kept.append(warning)
    if not in_silence:
        warnings.warn(warning, stacklevel=_outside())


def _outside() -> int:
    """How far up the first line stands that is not ours: what a reader of a warning can change."""
    frame, level = sys._getframe(2), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "equieffort":
        frame, level = frame.f_back, level + 1
    return level


def listed(names: Iterable[object], most: int = 8) -> str:
    """Names in quotes, comma separated, cut after `most`.

    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    quoted = [repr(str(name)) for name in names]
    extra = f" and {len(quoted) - most} more" if len(quoted) > most else ""
    return ", ".join(quoted[:most]) + extra


def label(value: object) -> str:
    """A row's label or a value as people write it, without the type that numpy would show.

    >>> import numpy as np
    >>> label(np.int64(20)), label("00123")
    ('20', "'00123'")
    """
    item = getattr(value, "item", None)
    # Only a scalar of numpy is one item; an array has the same method.
    return repr(item() if callable(item) and getattr(value, "shape", None) == () else value)


def sentence(text: object) -> str:
    """Words of another library as a sentence: one line, with a full stop.

    >>> sentence("no such thing ")
    'no such thing.'
    """
    line = " ".join(str(text).split())
    return line if line.endswith((".", "!", "?")) else f"{line}."


def capital(text: str) -> str:
    """A text as it stands at the beginning of a sentence; the rest of it stays as it is.

    >>> capital("people with sex = F")
    'People with sex = F'
    """
    return text[:1].upper() + text[1:]


def many(n: int, one: str, more: str) -> str:
    """A count with its noun.

    >>> many(1, "person", "people"), many(1200, "person", "people")
    ('1 person', '1,200 people')
    """
    return f"{n:,} {one if n == 1 else more}"


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "the truth value"
    return "the text" if isinstance(value, str) else "the number" if isinstance(value, int | float) else "the value"


def closest(name: object, among: Iterable[object]) -> str:
    """A sentence naming the closest spelling, or the empty string.

    >>> closest("amont", ["age", "amount"])
    "Did you mean 'amount'?"
    >>> closest("1", [0, 1])
    "There is the number 1, but not the text '1'."
    """
    among = list(among)
    for other in among:
        if str(other) == str(name):
            if type(other) is type(name):
                return ""
            return f"There is {_kind(other)} {other!r}, but not {_kind(name)} {name!r}."
    match = difflib.get_close_matches(str(name), [str(other) for other in among], n=1)
    return f"Did you mean {match[0]!r}?" if match else ""
