"""Several groups in the picture of measures: a row a comparison, and what unknown people could change."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from tests.results.test_opponents import audited
from tests.results.test_unknown_groups import audited as audited_with_unknown
from tests.results.test_unknown_groups import hidden

import equieffort as ee


@pytest.mark.parametrize(
    ("how", "names", "title"),
    [
        (ee.Rest(), ["group = a", "group = b"], "Against everybody else"),
        (ee.AllPairs(), ["group = a / group = b", "group = a / group = c", "group = b / group = c"], "Pairs of groups"),
    ],
)
def test_a_row_a_judged_comparison(how, names, title):
    figure = audited(protected=["a", "b"], reference=how).plot.measures().plot().figure_
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == names
    assert figure.get_suptitle().startswith(title)
    plt.close(figure)


def test_wide_bars_say_what_unknown_people_could_change():
    audit = audited_with_unknown(hidden())
    figure = audit.plot.measures().plot().figure_
    (bar,) = [line for line in figure.axes[0].lines if line.get_gid() == "assigned a"]
    row = audit.measures.query("measure == 'acr' and group == 'a'").iloc[0]
    np.testing.assert_allclose(bar.get_xdata(), [row["assigned_least"], row["assigned_most"]])
    assert "not known" in figure.get_suptitle()
    plt.close(figure)
