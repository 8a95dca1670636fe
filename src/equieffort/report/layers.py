"""The causal graph drawn in layers: causes above their effects, long edges led around the boxes between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from equieffort.report.svg import BOLD, WIDTH, frame, lines_of, text, width_of

BOX, LINE, GAP, LANE = 40.0, 15.0, 14.0, 18.0
"""How high a box with a name of one line is, and each further line; gaps across, and lanes for edges."""
BETWEEN, LONE_BETWEEN = 52.0, 14.0
"""From one row of boxes to the next."""
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
    layer: int
    tall: float
    """How high every box is."""
    x: float = 0.0
    above: list[_Slot] = field(default_factory=list)
    """What this one hangs from."""

    @property
    def top(self) -> float:
        return 6 + self.layer * (self.tall + BETWEEN)


Edges = Sequence[tuple[str, str]]


class _Layout:
    """Slots in layers: a box for each feature that an edge mentions, and a lane in every layer that an edge passes."""

    def __init__(self, nodes: Sequence[tuple[str, str]], edges: Edges) -> None:
        linked = {end for edge in edges for end in edge}
        # A long name is broken into lines rather than cut; every box is as high as the highest.
        self.lines = {node: lines_of(node, WIDEST - 12, BOLD) for node, _ in nodes}
        self.tall = BOX + LINE * (max([len(lines) for node, lines in self.lines.items() if node in linked] + [1]) - 1)
        self.widths = {
            node: min(max([width_of(line, BOLD) for line in self.lines[node]] + [width_of(role, 11)]) + 22, WIDEST)
            for node, role in nodes
        }
        self.lonely = [node for node, _ in nodes if node not in linked]
        self.boxes: dict[str, _Slot] = {}
        # The longest way from a root; the graph has its nodes in causal order.
        for node in (node for node, _ in nodes if node in linked):
            depth = max([self.boxes[cause].layer + 1 for cause, effect in edges if effect == node] + [0])
            self.boxes[node] = _Slot(self.widths[node], depth, self.tall)
        self.layers: list[list[_Slot]] = [[] for _ in range(max([box.layer for box in self.boxes.values()] + [-1]) + 1)]
        for box in self.boxes.values():
            self.layers[box.layer].append(box)
        self.chains = [self._chain(self.boxes[cause], self.boxes[effect]) for cause, effect in edges]

    def height(self, node: str) -> float:
        """How high its box is: those that edges run to are as high as the highest."""
        return self.tall if node in self.boxes else BOX + LINE * (len(self.lines[node]) - 1)

    def _chain(self, cause: _Slot, effect: _Slot) -> list[_Slot]:
        """The slots that an edge runs through."""
        chain = [cause]
        for layer in range(cause.layer + 1, effect.layer):
            chain.append(_Slot(LANE, layer, self.tall, above=[chain[-1]]))
            self.layers[layer].append(chain[-1])
        effect.above.append(chain[-1])
        return [*chain, effect]


def graph_width(nodes: Sequence[tuple[str, str]], edges: Edges) -> float:
    """How wide the picture must be, so that the boxes of its widest layer stand beside each other."""
    layers = _Layout(nodes, edges).layers
    return max([sum(slot.width for slot in layer) + GAP * (len(layer) - 1) + 8 for layer in layers] + [WIDTH])


def graph_chart(
    name: str, title: str, described: str, nodes: Sequence[tuple[str, str]], edges: Edges, width: float
) -> Markup:
    """Boxes with name and role, arrows from cause to effect; features without edges stand in rows below."""
    layout, roles = _Layout(nodes, edges), dict(nodes)
    places, height = _placed(layout, width)
    parts: list[Markup] = [_arrowhead(name), *(_edge(name, chain) for chain in layout.chains)]
    parts += [
        _box(x, top, layout.widths[node], layout.height(node), layout.lines[node], roles[node])
        for node, (x, top) in places.items()
    ]
    return frame(name, title, described, width, height, parts)


def graph_places(
    nodes: Sequence[tuple[str, str]], edges: Edges, width: float
) -> tuple[dict[str, tuple[float, float]], float]:
    """The middle of each feature's box, and how high the picture is."""
    layout = _Layout(nodes, edges)
    places, height = _placed(layout, width)
    return {node: (x, top + layout.height(node) / 2) for node, (x, top) in places.items()}, height


def _placed(layout: _Layout, width: float) -> tuple[dict[str, tuple[float, float]], float]:
    """Where each box stands: the middle across, and its top; and where the picture ends."""
    layers, widths = layout.layers, layout.widths
    _order(layers)
    for layer in layers:
        _spread(layer, width)
    places = {node: (slot.x, slot.top) for node, slot in layout.boxes.items()}
    at = 6.0 + max(len(layers) - 1, 0) * (layout.tall + BETWEEN) + (layout.tall + 18 if layers else 0)
    for row in _rows(layout.lonely, widths, width):
        x = (width - sum(widths[node] for node in row) - GAP * (len(row) - 1)) / 2
        for node in row:
            places[node] = x + widths[node] / 2, at
            x += widths[node] + GAP
        at += max(map(layout.height, row)) + LONE_BETWEEN
    return places, at


def _order(layers: list[list[_Slot]]) -> None:
    """Put each slot near the middle of what it hangs from, so that fewer edges cross."""
    for layer in layers:
        place = {id(slot): k / max(len(row) - 1, 1) for row in layers for k, slot in enumerate(row)}

        def middle(slot: _Slot, place: dict[int, float] = place) -> float:
            return sum(place[id(one)] for one in slot.above) / len(slot.above) if slot.above else 0.5

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


def _edge(name: str, chain: list[_Slot]) -> Markup:
    first, *rest = chain
    x, y = first.x, first.top + first.tall
    path = [f"M{x:.1f} {y:.1f}"]
    for slot in rest:
        middle, end = (y + slot.top) / 2, slot.top - 1
        path.append(f"C{x:.1f} {middle:.1f} {slot.x:.1f} {middle:.1f} {slot.x:.1f} {end:.1f}")
        x, y = slot.x, end
        if slot is not rest[-1]:
            y = slot.top + slot.tall
            path.append(f"V{y:.1f}")
    return Markup(
        '<path class="edge" d="{}" fill="none" stroke="#555555" stroke-width="1.2" marker-end="url(#{}-a)"/>'
    ).format("".join(path), name)


def _box(x: float, y: float, width: float, tall: float, lines: list[str], role: str) -> Markup:
    line, fill, dash, stroke = STYLES.get(role, STYLES["immutable"])
    dashed = Markup(' stroke-dasharray="{}"').format(dash) if dash else ""
    box = Markup(
        '<rect class="node {}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}" rx="6" fill="{}" stroke="{}" '
        'stroke-width="{}"{}/>'
    ).format(role, x - width / 2, y, width, f"{tall:g}", fill, line, stroke, dashed)
    top = y + 17 + (tall - BOX - LINE * (len(lines) - 1)) / 2
    shown = [text(x, top + LINE * k, line, anchor="middle", more=' font-weight="600"') for k, line in enumerate(lines)]
    return (
        box
        + Markup("").join(shown)
        + text(x, top + LINE * len(lines), role, anchor="middle", size=11, more=' class="soft"')
    )
