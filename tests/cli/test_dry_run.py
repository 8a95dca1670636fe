"""`audit --dry-run` refuses what the audit would refuse, says who leaves, and guesses how long it takes."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression
from tests.cli.conftest import SPEC, loans

import equieffort as ee
from equieffort.models.classifiers.naming import model_name
from equieffort.recourse import solving
from equieffort.spec import estimates


def asked(folder, call, *options, changes=(), table=None):
    spec = SPEC
    for old, new in changes:
        assert old in spec
        spec = spec.replace(old, new)
    (folder / "loans.yaml").write_text(spec, encoding="utf-8")
    (loans() if table is None else table).to_csv(folder / "loans.csv", index=False)
    return call("audit", "loans.yaml", "-o", "out", "--dry-run", *options)


def saved(folder):
    people = loans()
    skops.io.dump(LogisticRegression().fit(people[["income", "savings"]], people["decision"]), folder / "m.skops")


DISTANCE = ("criteria:", "neighbourhood: {quantile: 0.2, features: [%s]}\ncriteria:")
LATE = {
    "a distance by the group": (["sex"], [], "PARAMETER", "Leave it out of neighbourhood: {features: [...]}."),
    "a distance by a column that nothing uses": (["town"], [], "DATA_MISSING_COLUMN", "town"),
    "too few replicates": ([], ["--resample", "equations", "--replicates", "3"], "PARAMETER", "replicates"),
    "no training data": ([], ["--resample", "procedure"], "PARAMETER", "Give model: {data: FILE, label: COLUMN}"),
    "truth is empty": ([], ["--notions"], "DATA_MISSING_VALUES", "outcome.truth names 'repaid', which is empty for 1"),
    "truth in other words": ([], ["--notions"], "DATA_INDEX", "Write it in the words of the decisions"),
}


@pytest.mark.parametrize("name", LATE)
def test_what_only_the_end_would_refuse_is_refused(folder, call, name):
    features, options, code, says = LATE[name]
    table, changes = loans().assign(town="here"), []
    if features:
        changes.append((DISTANCE[0], DISTANCE[1] % features[0]))
    if "truth" in name:
        table["repaid"] = "approved" if "empty" in name else "1"
        table.loc[3, "repaid"] = None if "empty" in name else "0"
        changes.append(("favourable: approved", "favourable: approved, truth: repaid"))
    if "procedure" in options:
        saved(folder)
        changes.append(("{train: logistic}", "m.skops"))
    done = asked(folder, call, *options, changes=changes, table=table)
    assert done.exit_code == 2, done.output
    assert f"Code: {code}\n" in done.stderr
    assert says in done.stderr
    assert not (folder / "out.audit").exists()


def test_the_audit_refuses_a_distance_before_it_solves_anybody(folder, call, monkeypatch):
    def never(*_):
        pytest.fail("somebody was solved")

    monkeypatch.setattr(solving.ActionVerifier, "run", never)
    (folder / "loans.yaml").write_text(SPEC.replace(DISTANCE[0], DISTANCE[1] % "sex"), encoding="utf-8")
    assert call("audit", "loans.yaml", "-o", "out").exit_code == 2


def test_who_leaves_is_told_by_group_and_how_long_it_takes(folder, call):
    table = loans()
    table.loc[[0, 2, 4, 1], "savings"] = np.nan  # three women and a man
    table.loc[[6], "decision"] = None  # and a woman
    drop = [("id: applicant", "id: applicant, missing: drop")]
    done = asked(folder, call, changes=drop, table=table)
    assert done.exit_code == 0, done.output
    assert (
        "5 people leave the audit because of missing values (sex = female: 4 of 80, sex = male: 1 of 80)."
        in done.stdout
    )
    assert done.stdout.startswith("155 people, ")  # of 160
    assert "A rough guess from " in done.stdout
    told = json.loads(asked(folder, call, "--json", changes=drop, table=table).stdout)
    assert told["missing"] == {"female": {"people": 80, "leaving": 4}, "male": {"people": 80, "leaving": 1}}
    assert told["seconds"] > 0
    assert 2 < told["tried"] <= sum(told["unfavourable"].values())


def test_nobody_leaves_and_nothing_is_said_of_it(folder, call):
    done = asked(folder, call)
    assert done.exit_code == 0
    assert "because of missing values" not in done.stdout


def test_where_nobody_is_refused_it_says_so(folder, call):
    table = loans()
    table.loc[table["decision"] != "approved", "decision"] = np.where(
        table.index[table["decision"] != "approved"] < 3, "x", "approved"
    )
    done = asked(folder, call, table=table)
    assert done.exit_code == 0, done.output
    assert "160 people, 0 refused" in done.stdout
    assert "Nobody is refused, so there is no effort to compare" in done.stdout
    assert call("audit", "loans.yaml", "-o", "out").exit_code == 4


def test_where_too_few_are_refused_for_any_verdict_it_says_so(folder, call):
    """One refused man and an unequal world: what the audit will say for certain is said before it is made."""
    table = loans()
    first = table.index[(table["sex"] == "male") & (table["decision"] == "refused")][1:]
    done = asked(folder, call, table=table.drop(first))
    assert done.exit_code == 0, done.output
    told = json.loads(asked(folder, call, "--json", table=table.drop(first)).stdout)
    assert told["unfavourable"]["male"] < 5 < told["unfavourable"]["female"]
    assert "Too few are refused to judge sex = female against sex = male: each group needs at least 5" in done.stdout
    assert told["too_few"] == [["female", "male"]]
    assert call("audit", "loans.yaml", "-o", "out").exit_code == 4
    enough = asked(folder, call)
    assert "Too few" not in enough.stdout


def test_people_beyond_the_limits_and_small_groups_are_told_before_anybody_is_solved(folder, call):
    """As the audit says it after solving: the same counts, and the same advice on few people."""
    changes = [("upper: 90", "upper: 60")]
    done = asked(folder, call, changes=changes, table=loans(gap=12.0))
    made = call("audit", "loans.yaml", "-o", "out")
    told = f"{(loans(gap=12.0)['income'] > 60).sum()} beyond the upper limit 60"
    assert told in done.stderr
    assert told in made.stderr
    few = "With fewer than about 52 in a group even equal efforts are hardly ever called equal."
    assert few in done.stdout
    assert few in made.stdout
    refused = ee.load(folder / "out.audit").by_group["n_unfavourable"]
    n = refused[refused < 52].to_dict()
    assert n
    assert json.loads(call("audit", "loans.yaml", "-o", "out", "--dry-run", "--json").stdout)["small"] == n


def test_where_everybody_is_refused_it_says_so(folder, call):
    table = loans()
    table["decision"] = np.where(table.index % 40 == 7, "approved", "refused")
    done = asked(folder, call, table=table)
    assert done.exit_code == 0, done.output
    assert "160 people, 160 refused" in done.stdout
    assert "The surrogate refuses everybody: nothing that the audit says of it tells apart" in done.stdout
    refuses_all = LogisticRegression().fit(loans()[["income", "savings"]], loans()["decision"])
    refuses_all.intercept_[:] += 1e3 if refuses_all.classes_[1] == "refused" else -1e3
    skops.io.dump(refuses_all, folder / "m.skops")
    done = asked(folder, call, changes=[("{train: logistic}", "m.skops")])
    assert done.exit_code == 0, done.output
    assert "Everybody is refused: check that outcome.favourable names the right decision." in done.stdout
    assert "Everybody is refused" not in asked(folder, call).stdout


class Odd:
    told_as = "somebody's own"


def test_only_classes_of_ours_are_called_otherwise():
    assert model_name(Odd()) == "Odd"
    assert model_name(pd.DataFrame()) == "DataFrame"


def test_the_guess_counts_further_ways_and_other_notions(folder, call, monkeypatch):
    """By a clock that goes on by a second whenever it is looked at, so that no machine decides."""
    clock = itertools.count()
    monkeypatch.setattr(estimates, "perf_counter", lambda: float(next(clock)))

    def guess(*options):
        return json.loads(asked(folder, call, "--json", *options).stdout)["seconds"]

    plain, ways, notions = guess(), guess("--alternatives", "3"), guess("--notions")
    both = guess("--alternatives", "3", "--notions")
    assert min(ways, notions) > plain
    # A second a look: what is asked besides is looked at apart, and adds up.
    assert both - notions == pytest.approx(ways - plain)
