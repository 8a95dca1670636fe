"""What a spec says for neighbouring notions, against the people, before anybody is solved."""

from __future__ import annotations

import pandas as pd

from equieffort.errors import collecting
from equieffort.notions.huang import checked_treatments
from equieffort.recourse.problem import RecourseProblem
from equieffort.results.inputs import AuditInputs
from equieffort.spec.learning import whole
from equieffort.spec.parsed import Spec
from equieffort.spec.runs import Prepared, placed_problem
from equieffort.spec.treatments import PATH
from equieffort.spec.validate_data import placed, refuse_truth
from equieffort.words.problems import spec_words


def check_truth(prepared: Prepared) -> None:
    """Refuse what became of people where notions could not be read by it."""
    spec, truth = prepared.spec, prepared.truth
    if truth is None:
        return
    nodes = [name for edge in spec.edges for name in edge]
    stays = whole(prepared.people, [*spec.schema.features, *spec.features, *spec.model.features, *nodes])
    refuse_truth(spec, truth if spec.data.missing == "error" else truth[stays])


def check_treatments(prepared: Prepared) -> None:
    """Refuse a treatment that these people cannot be set to."""
    spec = prepared.spec
    if spec.treatments is None:
        return
    # The audit itself tells what there is to be told of its parts.
    with spec_words(), placed_problem(spec), collecting(in_silence=True):
        inputs = AuditInputs.of(
            prepared.classifier, prepared.people, solver=spec.solver, subgroups=spec.subgroups, **prepared.arguments
        )
    refuse_treatments(spec, inputs.problem, inputs.people.frame)


def refuse_treatments(spec: Spec, problem: RecourseProblem, people: pd.DataFrame) -> None:
    """What the spec says of treatments, against what they are in the data."""
    for one in spec.treatments or ():
        with spec_words(), placed(spec, *PATH, one.column):
            checked_treatments(problem, people, [one])
