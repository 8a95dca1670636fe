"""Whoever writes YAML is never told to call Python: the sentences of the package, in the words of the spec."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import equieffort as ee
from equieffort.errors import DataError, EquieffortError, EquieffortWarning
from equieffort.spec import SpecError
from equieffort.spec.words import WORDS, in_yaml, reworded, spec_words

SOURCE = Path(ee.__file__).parent
PYTHON = re.compile(
    r"Schema\(|StructuralCausalModel|sensitive_features|missing=|model_features=|\bX\b|Manhattan|position=|Ordinal\(|"
    r"Linear\(|CumulativeLogit|mechanism|Auto\(|solve_further|Criteria\(|recourse\.frame|order="
)


def test_every_pattern_is_something_the_package_says():
    """A sentence that was changed would otherwise be told in Python again, and nobody would notice."""
    code = "".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py") if path.parent.name != "spec")
    # Text that is written over several lines, as one line; where a value is filled in, as braces.
    joined = re.sub(r'"\s*\n\s*f?"', "", code).replace("{{", "{").replace("}}", "}").replace('\\"', '"')
    joined = re.sub(r"'\s*\n\s*f?[\"']", "", joined)
    for pattern, _ in WORDS:
        part = max(re.split(r"\(\?:|\(|\)|\[|\]|\^|\\.|\.\*\??|\{|\}|\|", pattern), key=len)
        assert part in joined, f"nobody says {pattern!r} any more"


@pytest.mark.parametrize(
    "said",
    [
        "Add it to X, or pass it beside X as sensitive_features=.",
        "Name one of them: Schema(..., reference=...).",
        ee.frames.FILL_OR_CHOOSE,
        'Fill them in, give them a group of their own, or pass missing="drop".',
        "Name them in StructuralCausalModel(edges, nodes=[...]) to say that this is meant.",
        "Fit StructuralCausalModel(..., categorical=['job']), or change the schema.",
        "Give its power, or declare the column in StructuralCausalModel(..., categorical=[...]).",
        "Pass these data as reference=, or name the features in StructuralCausalModel(edges, nodes=[...]).",
        "Say which columns it sees, in its order: model_features=[...].",
        "Fill them in, or name other features: Manhattan(features=[...]).",
        "X has columns that neither the model, the graph nor the schema uses: 'a'.",
        "The model uses a feature, but X has no column 'a'.",
        "The first labels are 'a'; use position= for a position.",
        "If its levels have an order, give Ordinal(order=[...]); else declare it immutable in the schema.",
        "Hold it in `do`; if its levels have an order, give mechanisms={'job': Ordinal(order=[...])}.",
        "Give the order, Ordinal(order=[lowest, ..., highest]), declare it immutable in the schema.",
        "Fit on more people, merge rare levels, or give the equation: mechanisms={...: Linear({...})}.",
        "Fit on people who have it, or give the equation: CumulativeLogit(...).",
        "Give one cut less than there are levels, and the levels as order=[...].",
        "Reconsider its causes or use another mechanism; read effects through it with care.",
        "Use solver=Auto().",
        "Read `reason` in recourse.frame(); rho and Phi have a least and a most beside them.",
        "Or see with audit.solve_further() whether more search; Criteria(certified=False) judges the estimate.",
    ],
)
def test_no_python_is_left(said):
    assert PYTHON.search(said)
    assert not PYTHON.search(in_yaml(said)), in_yaml(said)


def test_errors_and_warnings_keep_what_they_are():
    with pytest.raises(DataError) as caught, spec_words():
        raise DataError("DATA_EMPTY", "Nobody.", fix="Name one of them: Schema(..., reference=...).")
    assert (caught.value.code, caught.value.what) == ("DATA_EMPTY", "Nobody.")
    assert "sensitive: {reference: ...}" in caught.value.fix
    same = EquieffortError("DATA_EMPTY", "Nobody.", fix="Wait.")
    with pytest.raises(EquieffortError) as caught, spec_words():
        raise same
    assert caught.value is same
    placed = SpecError("SPEC_KEY", "line 3, column 1: x")
    placed.line = 3
    with pytest.raises(SpecError) as caught, spec_words():
        raise placed
    assert caught.value.line == 3
    told = reworded(EquieffortWarning("DATA_EXTRA_COLUMNS", "X", "Drop them from X to silence this."))
    assert told.code == "DATA_EXTRA_COLUMNS"
    assert "X" not in told.fix
