"""Other groups of the same people: the numbers of audits that declare them, without solving again."""

import numpy as np
import pandas as pd
import pytest
from tests.results.test_opponents import CLASSIFIER, FEATURES, SCM, X

import equieffort as ee
from equieffort.errors import EquieffortError
from equieffort.recourse.verification import ActionVerifier

NUMBERS = ["measure", "group", "against", "estimate", "low", "high", "least", "most", "p", "p_adjusted", "n", "note"]


def audited(sensitive, protected, reference=None):
    others = tuple(name for name in ("group", "sex") if name not in np.ravel(sensitive))
    schema = ee.Schema(
        sensitive=sensitive, protected=protected, reference=reference, favourable=1, features=FEATURES,
        also_protected=others,
    )  # fmt: skip
    return ee.audit(CLASSIFIER, X, schema=schema, scm=SCM)


@pytest.fixture(scope="module")
def both():
    return audited(["sex", "group"], [("f", "a"), ("f", "b")], ("m", "c"))


@pytest.mark.parametrize("live", [True, False], ids=["live", "from a file"])
@pytest.mark.parametrize(
    ("asked", "declared"),
    [
        ({"sensitive": "sex", "reference": "m"}, ("sex", "f", "m")),
        ({"sensitive": "sex"}, ("sex", "f", "m")),
        ({"sensitive": "group", "reference": "c"}, ("group", ["a", "b"], "c")),
        ({"sensitive": "group", "protected": "b", "reference": ee.Rest()}, ("group", "b", ee.Rest())),
        ({"sensitive": ["group"], "reference": ee.AllPairs()}, ("group", ["a", "b"], ee.AllPairs())),
        ({"reference": ("m", "a")}, (["sex", "group"], [("f", "a"), ("f", "b")], ("m", "a"))),
        ({"reference": ee.Rest()}, (["sex", "group"], [("f", "a"), ("f", "b")], ee.Rest())),
        (
            {"sensitive": ["group", "sex"], "reference": ("c", "m")},
            (["group", "sex"], [("a", "f"), ("b", "f")], ("c", "m")),
        ),
        ({"protected": ("f", "c")}, (["sex", "group"], ("f", "c"), ("m", "c"))),
    ],
    ids=str,
)  # fmt: skip
def test_as_if_it_had_been_declared(both, asked, declared, live, tmp_path, monkeypatch):
    if not live:
        both.save(tmp_path / "both.audit")
        both = ee.load(tmp_path / "both.audit")
    # Nobody is solved meanwhile.
    monkeypatch.setattr(ActionVerifier, "run", None)
    found = both.compare(**asked)
    monkeypatch.undo()
    other = audited(*declared).system
    # What people without a route count with is the same: the same people.
    pd.testing.assert_frame_equal(found.measures[NUMBERS], other.measures[NUMBERS])
    pd.testing.assert_frame_equal(found.by_group, other.by_group)
    assert str(found.verdict) == str(other.verdict)
    assert found.level == "system"
    assert found.about.startswith("Everybody, by '")


def test_the_audit_itself_stays(both):
    before = str(both)
    both.compare("sex")
    assert str(both) == before


def test_replicates_of_other_groups_are_not_used():
    audit = audited("group", "a", "c").resample(ee.Bootstrap(replicates=20))
    found = audit.compare(protected="a", reference="c")
    assert found.verdict.chance == "people"
    pd.testing.assert_frame_equal(found.measures[NUMBERS], audited("group", "a", "c").measures[NUMBERS])


@pytest.mark.parametrize(
    ("asked", "code", "words"),
    [
        ({"sensitive": "sexx"}, "DATA_MISSING_COLUMN", "Did you mean 'sex'"),
        ({"sensitive": "income", "protected": 1}, "SCHEMA_SENSITIVE_CONTINUOUS", "'income'"),
        ({"sensitive": "sex", "reference": "f"}, "SCHEMA_GROUPS", "both protected and the reference"),
        ({"sensitive": "sex", "protected": "x"}, "SCHEMA_GROUPS", "'x' is not a value"),
        ({"sensitive": ["sex", "debt"]}, "PARAMETER", "not declared"),
        ({"sensitive": 3}, "PARAMETER", "sensitive"),
    ],
    ids=str,
)
def test_what_cannot_be_compared(both, asked, code, words):
    with pytest.raises(EquieffortError, match=words) as caught:
        both.compare(**asked)
    assert caught.value.code == code
    assert caught.value.fix


def test_unknown_people_are_known_by_the_attribute_that_they_have():
    frame = X.astype({"group": object}).copy()
    frame.iloc[:5, frame.columns.get_loc("group")] = None
    schema = ee.Schema(
        sensitive=["sex", "group"], protected=("f", "a"), reference=ee.Rest(), favourable=1, features=FEATURES
    )
    with pytest.warns(ee.errors.EquieffortWarning, match="5 people"):
        audit = ee.audit(CLASSIFIER, frame, schema=schema, scm=SCM)
    assert not audit.compare("sex").comparisons[0].unplaced
    assert sum(part.n for part in audit.compare("group").comparisons[0].unplaced) == 5


def test_people_keep_the_names_that_readers_know():
    names = {
        "groups": {"f & a": "women of A", "m & c": "men of C"}, "features": {"sex": "gender"},
        "levels": {"sex": {"f": "female"}},
    }  # fmt: skip
    schema = ee.Schema(
        sensitive=["sex", "group"], protected=("f", "a"), reference=("m", "c"), favourable=1, features=FEATURES,
        labels=names,
    )  # fmt: skip
    audit = ee.audit(CLASSIFIER, X, schema=schema, scm=SCM)
    again = audit.compare(reference=ee.Rest())
    assert "refused women of A" in str(again.verdict)
    assert "f & a" not in str(again.verdict)
    # Groups of one column are others than those that were named; the column and its levels are the same.
    assert "people with gender = female" in str(audit.compare("sex", protected="f").verdict)
