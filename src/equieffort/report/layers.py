"""The causal graph drawn in layers: causes above their effects, long edges led around the boxes between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from equieffort.report.svg import BOLD, WIDTH, cut, frame, text, width_of

BOX, ROW, GAP, LANE = 40.0, 92.0, 14.0, 18.0
LONE_ROW = 54.0
WIDEST = 190.0

STYLES = {
    "actionable": ("#1b1b1b", "#ffffff", "", 2.4),
    "mutable": ("#555555", "#ffffff", "6 3", 1.6),
    "immutable": ("#999999", "#f2f2f2", "", 1.0),
    "sensitive": ("#555555", "#f2f2f2", "2 2", 2.0),
}
"""Role -> line colour, fill, dash, line width; the role is also written in the box. Colours are for groups."""


@dataclass(eq=False)
class _Slot:
    """A box, or the lane of a long edge through a layer."""

    width: float
    x: float = 0.0
    above: list[tuple[int, int]] = field(default_factory=list)
    """Slots (layer, place) this one hangs from."""


def graph_chart(
    name: str, title: str, described: str, nodes: Sequence[tuple[str, str]], edges: Sequence[tuple[str, str]],
    width: float,
) -> Markup:  # fmt: skip
    """Boxes with name and role, arrows from cause to effect; features without edges stand in rows below."""
    linked = {end for edge in edges for end in edge}
    placed = [node for node, _ in nodes if node in linked]
    lonely = [node for node, _ in nodes if node not in linked]
    roles = dict(nodes)
    widths = _widths(nodes)
    layers, slot_of = _slots(placed, edges, _depths(placed, edges), widths)
    _order(layers)
    for layer in layers:
        _spread(layer, width)
    parts: list[Markup] = [_arrowhead(name)]
    for cause, effect in edges:
        chain = slot_of[(cause, effect)]
        parts.append(_edge(name, [(slot_of[(cause, cause)][0]), *chain, slot_of[(effect, effect)][0]]))
    at = 6.0 + max(len(layers) - 1, 0) * ROW + (BOX + 18 if layers else 0)
    for node in placed:
        slot, layer_of = slot_of[(node, node)][0]
        parts.append(_box(slot.x, 6 + layer_of * ROW, widths[node], node, roles[node]))
    for row in _rows(lonely, widths, width):
        x = (width - sum(widths[node] for node in row) - GAP * (len(row) - 1)) / 2
        for node in row:
            parts.append(_box(x + widths[node] / 2, at, widths[node], node, roles[node]))
            x += widths[node] + GAP
        at += LONE_ROW
    return frame(name, title, described, width, at, parts)


def _widths(nodes: Sequence[tuple[str, str]]) -> dict[str, float]:
    return {node: min(max(width_of(node, BOLD), width_of(role, 11)) + 22, WIDEST) for node, role in nodes}


def graph_width(nodes: Sequence[tuple[str, str]], edges: Sequence[tuple[str, str]]) -> float:
    """How wide the picture must be, so that the boxes of its widest layer stand beside each other."""
    linked = {end for edge in edges for end in edge}
    placed = [node for node, _ in nodes if node in linked]
    layers, _ = _slots(placed, edges, _depths(placed, edges), _widths(nodes))
    total = max([sum(slot.width for slot in layer) + GAP * (len(layer) - 1) for layer in layers] + [0.0])
    return max(WIDTH, total + 8)


def _depths(placed: list[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """The longest way from a root; nodes come in causal order."""
    depth = dict.fromkeys(placed, 0)
    for node in placed:
        depth[node] = max([depth[cause] + 1 for cause, effect in edges if effect == node] + [0])
    return depth


Chain = list[tuple[_Slot, int]]


def _slots(
    placed: list[str], edges: Sequence[tuple[str, str]], depth: dict[str, int], widths: dict[str, float]
) -> tuple[list[list[_Slot]], dict[tuple[str, str], Chain]]:
    """A slot for each box, and a lane in every layer that an edge passes."""
    layers: list[list[_Slot]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    slot_of: dict[tuple[str, str], Chain] = {}
    for node in placed:
        slot = _Slot(widths[node])
        layers[depth[node]].append(slot)
        slot_of[(node, node)] = [(slot, depth[node])]
    for cause, effect in edges:
        chain: Chain = []
        before = (depth[cause], layers[depth[cause]].index(slot_of[(cause, cause)][0][0]))
        for layer in range(depth[cause] + 1, depth[effect]):
            lane = _Slot(LANE, above=[before])
            before = (layer, len(layers[layer]))
            layers[layer].append(lane)
            chain.append((lane, layer))
        slot_of[(effect, effect)][0][0].above.append(before)
        slot_of[(cause, effect)] = chain
    return layers, slot_of


def _order(layers: list[list[_Slot]]) -> None:
    """Put each slot near the middle of what it hangs from, so that fewer edges cross."""
    unsorted = [list(layer) for layer in layers]
    for layer in layers:
        place = {id(slot): k for row in layers for k, slot in enumerate(row)}

        def middle(slot: _Slot, place: dict[int, int] = place) -> float:
            above = [place[id(unsorted[row][k])] / max(len(unsorted[row]) - 1, 1) for row, k in slot.above]
            return sum(above) / len(above) if above else 0.5

        if any(slot.above for slot in layer):
            layer.sort(key=middle)


def _spread(layer: list[_Slot], width: float) -> None:
    used = sum(slot.width for slot in layer)
    gap = min((width - 8 - used) / (len(layer) + 1), 60.0) if layer else 0.0
    x = (width - used - gap * (len(layer) - 1)) / 2
    for slot in layer:
        slot.x = x + slot.width / 2
        x += slot.width + gap


def _rows(lonely: list[str], widths: dict[str, float], width: float) -> list[list[str]]:
    rows: list[list[str]] = []
    room = 0.0
    for node in lonely:
        if not rows or widths[node] + GAP > room:
            rows.append([])
            room = width
        rows[-1].append(node)
        room -= widths[node] + GAP
    return rows


def _arrowhead(name: str) -> Markup:
    return Markup(
        '<defs><marker id="{}-a" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
        'orient="auto-start-reverse"><path class="tip" d="M0 0L10 5L0 10z" fill="#555555"/></marker></defs>'
    ).format(name)


def _edge(name: str, chain: Chain) -> Markup:
    (first, layer), *rest = chain
    x, y = first.x, 6 + layer * ROW + BOX
    path = [f"M{x:.1f} {y:.1f}"]
    for k, (slot, below) in enumerate(rest):
        top = 6 + below * ROW
        middle = (y + top) / 2
        path.append(f"C{x:.1f} {middle:.1f} {slot.x:.1f} {middle:.1f} {slot.x:.1f} {top - 1:.1f}")
        x, y = slot.x, top - 1
        if k < len(rest) - 1:
            path.append(f"V{top + BOX:.1f}")
            y = top + BOX
    return Markup(
        '<path class="edge" d="{}" fill="none" stroke="#555555" stroke-width="1.2" marker-end="url(#{}-a)"/>'
    ).format("".join(path), name)


def _box(x: float, y: float, width: float, label: str, role: str) -> Markup:
    line, fill, dash, stroke = STYLES.get(role, STYLES["immutable"])
    dashed = Markup(' stroke-dasharray="{}"').format(dash) if dash else ""
    box = Markup(
        '<rect class="node {}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}" rx="6" fill="{}" stroke="{}" '
        'stroke-width="{}"{}/>'
    ).format(role, x - width / 2, y, width, f"{BOX:g}", fill, line, stroke, dashed)
    shown = text(x, y + 17, cut(label, width - 12, BOLD), anchor="middle", more=' font-weight="600"')
    return box + shown + text(x, y + 32, role, anchor="middle", size=11, more=' class="soft"')
