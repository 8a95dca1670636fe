"""The example specs are complete: they are read with their data, fit the JSON schema, and their data can be rebuilt."""

from __future__ import annotations

import runpy
from pathlib import Path

import jsonschema
import pytest
import yaml

import equieffort as ee
from equieffort.data.inputs import read_table
from equieffort.spec import SpecError, json_schema, read_spec
from equieffort.world.groups import Groups

EXAMPLES = Path(__file__).parents[2] / "examples"
SPECS = [EXAMPLES / "german" / "german.yaml", EXAMPLES / "loans" / "loans.yaml"]


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_the_spec_fits_its_data(path):
    spec = read_spec(path)
    people = read_table(spec.data)
    assert spec.label in people.columns
    assert spec.schema.favourable in set(people[spec.label])
    graph = ee.CausalGraph.of(spec.edges, spec.nodes)
    spec.schema.check(people.drop(columns=spec.label), graph, spec.features)
    groups = Groups.of(people, spec.schema)
    assert groups.protected
    for rule in spec.subgroups.values():
        columns = {name: people[name].to_numpy() for name in people.columns}
        assert 0 < ee.parse_rule(rule).evaluate(columns).sum() < len(people)


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_the_spec_fits_the_schema(path):
    # What an editor sees: YAML read by another program.
    jsonschema.validate(yaml.safe_load(path.read_text(encoding="utf-8")), json_schema())


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_the_data_can_be_rebuilt(path):
    made = runpy.run_path(str(path.parent / "make.py"))["table"]()
    assert read_spec(path).data.path.read_text(encoding="utf-8") == made


def test_the_german_table_is_the_dataset():
    people = read_table(read_spec(SPECS[0]).data)
    X, y = ee.datasets.german_credit("paper")
    assert people.index[0] == "0001"
    assert (people[list(X.columns)].to_numpy() == X.to_numpy()).all()
    assert people["decision"].tolist() == y.tolist()


def test_the_loans_have_names_and_a_group_called_none():
    people = read_table(read_spec(SPECS[1]).data)
    assert len(people) == 400
    assert people.index.is_unique
    assert all(len(name) == 5 for name in people.index)
    assert any(name.startswith("00") for name in people.index)
    assert set(people["region"]) == {"None", "North", "South"}
    assert [str(people[name].dtype) for name in ("income", "debt", "years")] == ["int64"] * 3


def test_the_error_on_the_page_is_what_a_typo_gives(tmp_path):
    page = (EXAMPLES.parent / "docs" / "spec.md").read_text(encoding="utf-8")
    text = SPECS[0].read_text(encoding="utf-8")
    (tmp_path / "german.yaml").write_text(text.replace("age: {role:", "age: {rol:"), encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        read_spec(tmp_path / "german.yaml")
    assert caught.value.what in page
