"""The answer, first of all things: whose decisions were audited, the verdict in its own words, and what they mean."""

from __future__ import annotations

from math import isnan

from equieffort.data.frames import number
from equieffort.effort.measures import MEASURES
from equieffort.effort.verdict import REASONS, Finding
from equieffort.errors import CODES
from equieffort.models.fidelity import Refusals, Surrogate
from equieffort.recourse.solvers import Status
from equieffort.report.blocks import Text
from equieffort.report.material import Material
from equieffort.report.tables import Table
from equieffort.report.words import Cell, Link, Name, Words, count, joined, kept, name_list, say, share
from equieffort.results.explanation import assumed_spans
from equieffort.words.shown import interval_text, zone_ends
from equieffort.words.verdicts import measure_words
from equieffort.world.giveaways import FIRST


def check_first(material: Material) -> list[Text]:
    """What the features give away, before anything is read into the numbers."""
    found = dict.fromkeys((w.code, w.what) for w in material.audit.warnings if w.code in FIRST)
    # A sentence may tell of a single person.
    hidden = material.guard.is_on
    words = [(CODES[code],) if hidden else (*material.told(what), " ", CODES[code]) for code, what in found]
    return [Text(("Check first: ", *one, f" ({code})"), "warning") for (code, _), one in zip(found, words, strict=True)]


def surrogate_notice(material: Material) -> list[Words]:
    """Whose decisions these are, if they are those of a model trained to repeat others."""
    found = material.audit.verdict.surrogate
    if found is None:
        return []
    words: Words = material.told(str(found))
    if material.guard.is_on:
        words = _surrogate_kept_back(material, found)
    about = chance(material) if found.refusals is None or material.guard.is_on else ""
    return [(*words, f" {about}" if about else "", " Everything below is about this surrogate model.")]


def surrogate_in_short(material: Material) -> list[Words]:
    """The same in few sentences, for the first page: that it is one, how often it agrees, and why that may not do."""
    found = material.audit.verdict.surrogate
    if found is None or (material.guard.is_on and not found.suffices):
        return surrogate_notice(material)
    short = material.told(f"{found.shortfall} ") if found.shortfall else ()
    words = say(
        "This audits a {} model trained on the decisions, not the system that made them; it repeats {} of decisions it "
        "has not seen. {}Everything below is about this surrogate model. ",
        found.kind, share(found.agreement), short,
    )  # fmt: skip
    return [(*words, Link("More", "people"), ".")]


def surrogate_in_full(material: Material) -> list[Text]:
    """How well it repeats the decisions, by group; none where the first page or a table has it."""
    found = material.audit.verdict.surrogate
    has_table = found is not None and found.refusals is not None and not material.guard.is_on
    if found is None or has_table or (material.guard.is_on and not found.suffices):
        return []
    return [Text(words) for words in surrogate_notice(material)]


def _surrogate_kept_back(material: Material, found: Surrogate) -> Words:
    """The same without shares from which the number of a few people could be worked out."""
    told = {}
    for label, value in found.by_group.items():
        n = material.stats[label].n if label in material.stats else 0
        told[label] = not material.guard.hides(n, round(n * value), n - round(n * value))
    groups: Words = ()
    if all(told.values()):
        by_group = ((Name(material.name(label)), f" {share(value)}") for label, value in found.by_group.items())
        groups = say(" ({})", joined(by_group))
    words = say(
        "This audits a {} model trained on the decisions, not the system that made them; it repeats {} of decisions it "
        "has not seen{}.",
        found.kind, share(found.agreement), groups,
    )  # fmt: skip
    if found.suffices:
        return words
    agreement = {"": found.agreement, **found.by_group}
    for what, least, shares in (
        ("repeats fewer of the decisions", found.required, agreement),
        ("finds fewer of the refusals", found.min_refusal_recall, found.recalls),
    ):
        short = [label for label, value in shares.items() if value < least]
        if short:
            named = name_list([material.name(label) for label in short if label])
            where: Words = (" overall",) if "" in short else ()
            where += (" and" if where else "", " for ", *named) if named else ()
            words += say(" It {} than the {} asked for{}, so nothing is concluded.", what, share(least), where)
    return words


def fidelity(material: Material) -> list[Table]:
    """How the surrogate decides about people it was not trained on, against the record and a constant answer."""
    found = material.audit.verdict.surrogate
    if found is None or found.refusals is None:
        return []
    guard, rows = material.guard, []
    everybody: Cell = "everybody"
    counted = ((everybody, found.refusals), *((material.group(n), c) for n, c in found.refusals_by_group.items()))
    # What one group keeps back could be worked out from the others and the whole.
    told = not any(guard.hides(*_four(counts)) for _, counts in counted)
    for who, counts in counted:
        best = counts.constant
        which = "refuse" if best.by_surrogate else "approve"
        rows.append(
            [
                who, guard.count(counts.n, seen=told), kept(share(counts.agreement), told),
                kept(f"{share(best.agreement)} ({which})", told),
                guard.count(counts.recorded, seen=told), kept(share(counts.recall), told),
                guard.count(counts.by_surrogate, seen=told), kept(share(counts.precision), told),
            ]
        )  # fmt: skip
    head = (
        "group", "people", "agreement", "with one answer for all", "recorded refusals", "of these found",
        "refusals by the surrogate", "of these recorded",
    )  # fmt: skip
    return [Table("The surrogate model on people it was not trained on", head, rows)]


def _four(counts: Refusals) -> tuple[int, int, int, int]:
    """How many are refused by both, by the record only, by the surrogate only, and by neither."""
    only = counts.recorded - counts.by_both, counts.by_surrogate - counts.by_both
    return counts.by_both, *only, counts.n - counts.by_both - sum(only)


def chance(material: Material) -> str:
    """How many decisions a rule would repeat that gives everybody the commoner one."""
    known = material.audit.recorded
    if known is None or not known.n:
        return ""
    favourable = known.n_favourable / known.n
    if material.guard.hides(known.n_favourable, known.n - known.n_favourable):
        return ""
    which = "Approving" if favourable >= 0.5 else "Refusing"
    return f"{which} everybody would agree with {share(max(favourable, 1 - favourable))} of the decisions."


def finding_words(material: Material, finding: Finding) -> Words:
    """One comparison for a committee: the verdict's own sentence, or what of it may be shown."""
    guard, c = material.guard, finding.comparison
    if not guard.is_on:
        return material.told(finding.sentence)
    mine, theirs = material.seen_sides(c)
    words: Words = ("This concerns the surrogate model only: ",) if "SURROGATE" in finding.codes else ()
    first = len(words)
    for one in finding.judged:
        both = mine.effort and theirs.effort
        told = both if one.measure == "acr" else both and mine.parts and theirs.parts
        if told and not isnan(one.reading.estimate):
            words += (*material.told(measure_words(c, one.reading, material.audit.criteria)), " ")
    if len(words) == first:
        words += say("{} against {}: ", Name(material.name(c.group)), Name(material.name(c.against)))
        if not (mine.rate and theirs.rate):
            words += ("the counts are too small to be shown. ",)
    return (*words, " ".join(_reason(material, finding, code) for code in finding.codes if code != "SURROGATE"))


def _reason(material: Material, finding: Finding, code: str) -> str:
    c = finding.comparison
    if code == "NOISE" and any(one.differs for one in finding.judged):
        return "The groups differ; whether by more than the thresholds allow is not decided."
    if code != "ACR_BEYOND":
        return REASONS.get(code, code)
    low, high = material.audit.criteria.rule.ends(material.audit.criteria.tau)
    side = f"above {number(high)}" if c.acr > high else f"below {number(round(low, 4))}"
    return f"Effort is unequal: the ratio of average efforts lies {side}."


UNSETTLED = {
    Status.UNKNOWN: "Of {} ({}) it is not known whether they have an action: none was found, and none excluded. They "
    "count as people without an action in the shares, and not at all in the average efforts; the ranges called certain "
    "allow for them.",
    Status.FEASIBLE: "Of {} ({}) an action is known that may not be the cheapest. It is counted at what it costs; the "
    "ranges called certain allow for a cheaper one.",
}


def unsettled(material: Material) -> list[Text]:
    """Of whom nothing is known, and whose action may not be the cheapest."""
    found = []
    for status, words in UNSETTLED.items():
        total, exact = 0, True
        by_group: list[Words] = []
        for group in material.groups:
            n = group.stats.count(status)
            rest = group.stats.count(Status.OPTIMAL) if status == Status.FEASIBLE else 0
            shown = material.guard.count(n, seen=group.seen.parts and not material.guard.hides(rest))
            total, exact = total + n, exact and shown == count(n)
            by_group.append((material.group(group.label), f" {shown}"))
        if total:
            people = f"{count(total) if exact else 'some'} refused {'person' if exact and total == 1 else 'people'}"
            found.append(Text(say(words, people, joined(by_group))))
    return found


MOST_ASSUMED = 8
"""So many features are named on the first page; the table of limits has all of them."""


def assumed(material: Material) -> list[Text]:
    """How far features may be set where nobody declared it."""
    schema = material.table.source.schema
    named: list[Words] = [(material.feature(name), f" {span}") for name, span in assumed_spans(schema.assumed).items()]
    words = joined(named[:MOST_ASSUMED])
    if len(named) > MOST_ASSUMED:
        words += (f" and {len(named) - MOST_ASSUMED} more, listed under Assumptions",)
    found = []
    if named:
        text = (
            "Assumed limits: nobody declared how far these may be set, so actions stay within the observed values: {}."
        )
        found.append(Text(say(text, words), "warning"))
    if schema.zero_one:
        found.append(Text(say("Set to 0 or 1 only: {}.", name_list(map(schema.names.feature, schema.zero_one)))))
    return found


def terms(material: Material) -> Words:
    """What equal means here, and what the numbers do not say."""
    criteria = material.audit.criteria
    zones = []
    for name in criteria.judged:
        measure = MEASURES[name]
        ends = zone_ends(criteria, measure)
        if ends is not None:
            title = f"{measure.title[0].lower()}{measure.title[1:]}"
            zones.append(f"the {title} lies from {interval_text(measure, *ends)}")
    sure = "" if criteria.certified else " The numbers are as found: what is not solved to the end could change them."
    return (
        f"Equal means here: {', and '.join(zones)}. Refused means: decided unfavourably. These thresholds meet no "
        f"legal test by themselves.{sure}",
    )


def outcome(finding: Finding) -> str:
    """The outcome of a finding in a table."""
    return "not concluded" if "SURROGATE" in finding.codes else finding.outcome
