"""Pictures for notebooks, as SVG without scripts: where a step's time goes, a step pass by pass, a curve over sizes.

    evenkeel.pictures.timeline(evenkeel.evaluate(job, plan, include_timeline=True))
    evenkeel.pictures.curve(client.plan_curve(job, range(1, 9)))
"""
from __future__ import annotations

import html
from collections.abc import Iterator

from .v1 import curve_pb2, plan_pb2, planner_service_pb2, timeline_pb2

WIDTH, ROW, LABEL = 860, 22, 60
MOST_PASSES = 4000  # of one picture; a browser draws no more gladly
STEP_PARTS = (("encoder compute", "encoder_compute_seconds", "#3b7dd8"),
              ("language compute", "language_compute_seconds", "#2a9d5c"),
              ("recompute", "recompute_seconds", "#e0a030"),
              ("communication in layers", "tensor_communication_seconds", "#8e5bc4"),
              ("pipeline bubble", "pipeline_bubble_seconds", "#b8b8b8"), ("imbalance", "imbalance_seconds", "#d9534f"),
              ("data sync", "data_sync_seconds", "#4bb0b5"), ("optimizer", "optimizer_seconds", "#7a6a52"))
PASSES = {timeline_pb2.OPERATION_KIND_FORWARD: ("forward", "#3b7dd8"),
          timeline_pb2.OPERATION_KIND_RECOMPUTE: ("recompute", "#e0a030"),
          timeline_pb2.OPERATION_KIND_BACKWARD: ("backward", "#2a9d5c"),
          timeline_pb2.OPERATION_KIND_WEIGHT_GRADIENT: ("weight gradient", "#8e5bc4"),
          timeline_pb2.OPERATION_KIND_GRADIENT_SYNC: ("gradient sync", "#4bb0b5"),
          timeline_pb2.OPERATION_KIND_PARAMETER_GATHER: ("parameter gather", "#d9534f"),
          timeline_pb2.OPERATION_KIND_OPTIMIZER: ("optimizer", "#7a6a52")}


class Picture:
    """A picture that shows itself in a notebook. `save` writes it to a file."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_html_(self) -> str:
        return self.svg

    def save(self, path: str) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)


def _svg(height: float, parts: Iterator[str]) -> str:
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
            f'height="{height:.0f}" font-family="sans-serif" font-size="11" fill="currentColor">{"".join(parts)}</svg>')


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(words)}</text>'


def _box(x: float, y: float, width: float, height: float, colour: str, words: str = "") -> str:
    title = f"<title>{html.escape(words)}</title>" if words else ""
    return f'<rect x="{x:.2f}" y="{y:.1f}" width="{width:.2f}" height="{height:.1f}" fill="{colour}">{title}</rect>'


def _legend(entries: list[tuple[str, str]], y: float) -> Iterator[str]:
    x = 0.0
    for name, colour in entries:
        yield _box(x, y, 10, 10, colour)
        yield _text(x + 14, y + 9, name)
        x += 26 + 6.2 * len(name)


def step_parts(plan: plan_pb2.Plan) -> Picture:
    """Shows where the time of a step goes. Hover over a part for its seconds."""
    step = plan.predictions.step
    shown = [(name, colour, float(getattr(step, field))) for name, field, colour in STEP_PARTS
             if getattr(step, field) > 0]
    total = sum(seconds for _, _, seconds in shown) or 1.0

    def parts() -> Iterator[str]:
        x = 0.0
        for name, colour, seconds in shown:
            wide = WIDTH * seconds / total
            yield _box(x, 0, wide, ROW, colour, f"{name}: {seconds:.3g} s, {seconds / total:.1%}")
            x += wide
        yield from _legend([(name, colour) for name, colour, _ in shown], ROW + 8)
    return Picture(_svg(ROW + 22, parts()))


def timeline(answer: planner_service_pb2.EvaluatePlanResponse | timeline_pb2.Timeline) -> Picture:
    """Shows a step pass by pass, with a row for each stage. Of a long step, it shows only the beginning, and says
    so."""
    line = answer if isinstance(answer, timeline_pb2.Timeline) else answer.timeline
    if not line.stages:
        raise ValueError("there is no timeline: evaluate with include_timeline=True")
    passes = [[(kind, pack, start, end) for kind, pack, start, end in zip(
        stage.operations.kinds, stage.operations.packs, stage.operations.start_seconds, stage.operations.end_seconds)
        if kind in PASSES] for stage in line.stages]
    most = max(1, MOST_PASSES // len(passes))
    cut = any(len(row) > most for row in passes)
    last = min(row[most][2] for row in passes if len(row) > most) if cut else line.step_seconds
    scale = (WIDTH - LABEL) / (last or 1.0)
    kinds = sorted({kind for row in passes for kind, *_ in row})

    def parts() -> Iterator[str]:
        for at, row in enumerate(passes):
            y = at * (ROW + 4)
            yield _text(0, y + 15, f"stage {at}")
            yield _box(LABEL, y, WIDTH - LABEL, ROW, "rgba(128,128,128,.15)")
            for kind, pack, start, end in row:
                if start < last:
                    name, colour = PASSES[kind]
                    yield _box(LABEL + start * scale, y, max(.3, (min(end, last) - start) * scale), ROW, colour,
                               f"{name}, pack {pack}: {start:.4g} to {end:.4g} s")
        y = len(passes) * (ROW + 4)
        yield _text(LABEL, y + 12, "0 s")
        yield _text(WIDTH, y + 12, f"{last:.3g} s" + (f" of {line.step_seconds:.3g} s" if cut else ""), "end")
        yield from _legend([PASSES[kind] for kind in kinds], y + 20)
    return Picture(_svg(len(passes) * (ROW + 4) + 34, parts()))


CURVE_COLOURS = ("#3b7dd8", "#2a9d5c", "#d9534f", "#8e5bc4", "#e0a030", "#4bb0b5")


def curve(response: curve_pb2.PlanCurveResponse) -> Picture:
    """Shows samples per second by GPUs, a line for each pool; a grey line shows perfect scaling from the first size.
    Hover over a point for its plan. Sizes that do not fit are marked at the bottom."""
    fits = [point for line in response.curves for point in line.points
            if point.state == curve_pb2.CURVE_POINT_STATE_FITS]
    if not fits:
        raise ValueError("no size of the curve fits: there is nothing to draw")
    most_gpus = max(point.gpu_count for line in response.curves for point in line.points)
    most = 1.05 * max(point.samples_per_second for point in fits)
    tall = 260

    def place(gpus: float, rate: float) -> tuple[float, float]:
        return LABEL + (WIDTH - LABEL - 10) * gpus / most_gpus, tall * (1 - rate / most)

    def parts() -> Iterator[str]:
        yield _box(LABEL, 0, WIDTH - LABEL, tall, "rgba(128,128,128,.08)")
        yield _text(0, 10, f"{most:.3g}/s")
        yield _text(0, tall, "0")
        yield _text(WIDTH, tall + 14, f"{most_gpus:,} GPUs", "end")
        for at, line in enumerate(response.curves):
            colour = CURVE_COLOURS[at % len(CURVE_COLOURS)]
            good = [point for point in line.points if point.state == curve_pb2.CURVE_POINT_STATE_FITS]
            if good:
                rate = good[0].samples_per_second / max(1, good[0].gpu_count)
                end = min(float(most_gpus), most / rate if rate > 0 else most_gpus)
                (x1, y1), (x2, y2) = place(0, 0), place(end, rate * end)
                yield f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#b8b8b8"/>'
            dots = [place(point.gpu_count, point.samples_per_second) for point in good]
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots)
            yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
            for point, (x, y) in zip(good, dots):
                words = (f"{point.gpu_count:,} GPUs: {point.samples_per_second:.4g} samples/s, "
                         f"{point.scaling_efficiency_ratio:.1%}; {point.parallelism_text}; {point.plan_id}")
                yield (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"><title>{html.escape(words)}</title>'
                       "</circle>")
            for point in line.points:
                if point.state != curve_pb2.CURVE_POINT_STATE_FITS:
                    x, _ = place(point.gpu_count, 0)
                    yield _box(x - 3, tall - 6, 6, 6, colour, f"{point.gpu_count:,} GPUs: {point.reason or 'no plan'}")
        yield from _legend([(f"{line.gpu_type} x {line.gpus_per_node}", CURVE_COLOURS[at % len(CURVE_COLOURS)])
                            for at, line in enumerate(response.curves)], tall + 22)
    return Picture(_svg(tall + 36, parts()))
