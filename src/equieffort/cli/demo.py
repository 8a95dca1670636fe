"""`equieffort demo` and `equieffort paper`: audits to look at without data of your own, and the paper's figures."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equieffort.cli.audit import text
from equieffort.cli.common import Outputs, command_line, write
from equieffort.cli.progress import reporter

if TYPE_CHECKING:
    from equieffort.results.audits import Audit


Shown = tuple[str, "Audit", Any, list[str]]
"""A question, the audit that answers it, what truly became of the people, and which actions are assumed to cause it."""
ADULTS = 1000
"""So many of the people of the Adult data are audited."""
TREES = 100
"""So many trees decide about them."""


class Demo(StrEnum):
    """What can be shown."""

    german = "german"
    synthetic = "synthetic"
    adult = "adult"


class Trees(StrEnum):
    """What decides about the people of the Adult data."""

    forest = "forest"
    boosted = "boosted"


def demo(
    which: Annotated[
        Demo, typer.Argument(help="German credit (linear), drawn people (linear), or Adult census income (trees).")
    ] = Demo.german,
    out: Annotated[Path, typer.Option("--out", "-o", help="Name of the outputs, without ending.")] = Path("demo"),
    model: Annotated[Trees, typer.Option(help="What decides in the Adult data.")] = Trees.forest,
) -> None:
    """Audit example data; writes OUT.audit and OUT.html. Ends with 0 whatever the verdict is."""
    from equieffort.report import render

    outputs = Outputs(out, (".audit", ".html"))
    with reporter() as progress:
        progress("auditing", 0, 1)
        title, made, truth, causes = {Demo.german: _german, Demo.synthetic: _synthetic}.get(
            which, lambda: _adult(model)
        )()
        made = made.with_provenance(title=title, command=command_line())
        made = made.with_notions(labels=truth, causes=causes)
        progress("auditing", 1, 1)
        page = render(made, title=title, command=made.provenance.command)
    made.save(outputs[".audit"])
    write(outputs[".html"], page)
    parts = [title, text(made), _curve(made), _examples(made), f"Wrote {outputs['.audit']} and {outputs['.html']}"]
    typer.echo("\n\n".join(parts))


def _german() -> Shown:
    from equieffort.datasets import german_credit
    from equieffort.effort.neighbours import Nearest
    from equieffort.paper.extras import german_audit
    from equieffort.world.labels import Labels

    made = german_audit(neighbourhood=Nearest(quantile=0.2), labels=Labels(groups={"female": "women", "male": "men"}))
    asked = "German credit: must women work harder than men to be called a good risk?"
    return asked, made, german_credit("paper")[1], ["amount"]


def _synthetic() -> Shown:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import equieffort as ee

    people, outcome = ee.datasets.paper_synthetic(alpha=2.0, n=1000, random_state=0)
    schema = ee.Schema(
        sensitive="S", protected=0, favourable=1, features={"X2": "actionable", "X3": ee.Feature("actionable", upper=2)}
    )
    classifier = make_pipeline(StandardScaler(), LogisticRegression()).fit(people[["X2", "X3"]], outcome)
    scm = ee.StructuralCausalModel([("S", "X2")], nodes=["X3"]).fit(people)
    made = ee.audit(classifier, people, schema=schema, scm=scm, neighbourhood=ee.Nearest(quantile=0.2))
    return "Drawn people: a group that starts behind in X2", made, outcome, ["X2", "X3"]


def _adult(model: Trees) -> Shown:
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    import equieffort as ee

    setting = ee.datasets.adult_setting()
    texts = [name for name in setting.X if setting.X[name].dtype.kind not in "iuf"]
    trees = (
        RandomForestClassifier(TREES, max_depth=6, random_state=0)
        if model == Trees.forest
        else GradientBoostingClassifier(n_estimators=TREES, max_depth=6, random_state=0)
    )
    encode = make_column_transformer((OneHotEncoder(sparse_output=False), texts), remainder="passthrough")
    classifier = make_pipeline(encode, trees).fit(setting.X, setting.y)
    people = setting.X.sample(ADULTS, random_state=0)
    schema = replace(setting.schema, labels=ee.Labels(groups={"Female": "women", "Male": "men"}))
    made = ee.audit(classifier, people, schema=schema, scm=setting.scm, neighbourhood=ee.Nearest(quantile=0.2))
    asked = f"Adult census income: must women work harder than men to be expected above 50,000 ({model.value})?"
    return asked, made, setting.y.loc[people.index], ["education_num", "hours_per_week"]


def _curve(made: Audit) -> str:
    from equieffort.exports import text_table
    from equieffort.world.groups import group_name

    frame, parts = made.curve(), []
    for group, against, columns in dict.fromkeys(
        (found.comparison.group, found.comparison.against, found.comparison.columns) for found in made.verdict.findings
    ):
        rows = frame[(frame["group"] == group) & (frame["against"] == against)]
        shown = rows[["quantile", "acr", "acr_low", "acr_high", "nu", "n_undefined"]].round(2)
        parts.append(
            f"{group_name(group, columns)} against {group_name(against, columns)}, among the share (quantile) of all "
            "people nearest to each refused person:\nratio of average efforts (ACR), its 95 % interval, and about how "
            f"many people it rests on (nu)\n{text_table(shown)}"
        )
    return "\n\n".join(parts)


def _examples(made: Audit) -> str:
    """Somebody who can act, and somebody who cannot."""
    table = made.recourse.frame()
    people = [table.index[table["status"] == status] for status in ("optimal", "feasible", "infeasible")]
    return "\n".join(str(made.explain(found[0])) for found in people if len(found))


def paper(
    out: Annotated[Path, typer.Option(help="Folder to write into.")] = Path("paper"),
    figure: Annotated[str | None, typer.Option(help="Only this figure, by its label in the paper.")] = None,
    seed: Annotated[int, typer.Option(help="First seed of the synthetic draws.", min=0)] = 0,
    n: Annotated[int, typer.Option(help="People in each synthetic draw.", min=20)] = 1000,
    preset: Annotated[str, typer.Option(help="published, corrected or both.")] = "both",
) -> None:
    """Compute the paper's figures and lay them beside the published ones."""
    from equieffort.exports import need
    from equieffort.paper import Size, reproduce

    # Figures are drawn at the end: find out first whether they can be.
    fix = "pip install '.[plot]' in the folder of equieffort."
    need("matplotlib", "The paper's figures need the package matplotlib.", fix)
    with reporter() as progress:
        made = reproduce(out, figure=figure, preset=preset, size=Size(n=n, seed=seed), progress=progress)
    for name, part in made.comparison.groupby("preset", sort=False):
        counts = part["judgement"].value_counts()
        typer.echo(f"{name}: " + ", ".join(f"{count} {judgement}" for judgement, count in counts.items()))
    typer.echo(f"Wrote {made.page} and {out / 'comparison.csv'}")
