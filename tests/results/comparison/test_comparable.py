"""What cannot be compared is refused by name."""

from __future__ import annotations

import pytest
from tests.results.comparison.worlds import made, people

from equieffort.errors import ParameterError
from equieffort.results.comparison import compare_audits


def test_other_groups_are_refused():
    with pytest.raises(ParameterError, match="'birch' is protected") as caught:
        compare_audits(made(), made(protected="birch"))
    assert caught.value.code == "AUDIT_GROUPS"
    with pytest.raises(ParameterError, match="'oak' is reference"):
        compare_audits(made(), made(people(labels=("ash", "oak"))))
