"""A plan as tables: for terminals and, as HTML, for notebooks. `evenkeelctl plan` shows more."""
from __future__ import annotations

import html as escape
from collections.abc import Iterator

from . import pictures
from .v1 import job_pb2, plan_pb2, planner_service_pb2, stage_pb2

GIB = 1 << 30
KINDS = {stage_pb2.LAYER_KIND_PATCH_EMBEDDING: "patches", stage_pb2.LAYER_KIND_ENCODER: "encoder",
         stage_pb2.LAYER_KIND_PROJECTOR: "projector", stage_pb2.LAYER_KIND_TOKEN_EMBEDDING: "embedding",
         stage_pb2.LAYER_KIND_HEAD: "head"}
SCHEDULES = {job_pb2.PIPELINE_SCHEDULE_INTERLEAVED: "interleaved 1F1B", job_pb2.PIPELINE_SCHEDULE_GPIPE: "GPipe",
             job_pb2.PIPELINE_SCHEDULE_ZERO_BUBBLE: "zero-bubble"}
STAGE_COLUMNS = ("stage", "layers", "recomputed", "forward ms", "backward ms", "packs held", "used GiB", "free GiB")
STYLE = """<style>
.evenkeel { font-variant-numeric: tabular-nums; max-width: 62em; }
.evenkeel table { border-collapse: collapse; margin: .5em 0; }
.evenkeel th, .evenkeel td { padding: .2em .7em; text-align: right; vertical-align: top; }
.evenkeel .text { text-align: left; white-space: normal; }
.evenkeel .bar { background: rgba(128, 128, 128, .25); width: 8em; height: .5em; margin-top: .2em; }
.evenkeel .used { background: #3b7dd8; height: 100%; }
</style>"""


def text(response: planner_service_pb2.PlanJobResponse) -> str:
    """Returns the tables as lines of text."""
    rows = list(_summary(response))
    width = max(len(name) for name, _ in rows)
    lines = [_title(response), *(f"  {name:<{width}}  {value}" for name, value in rows)]
    stages = [STAGE_COLUMNS, *(_cells(stage) for stage in response.plan.stages)]
    if len(stages) > 1:
        widths = [max(len(row[at]) for row in stages) for at in range(len(STAGE_COLUMNS))]
        lines += ["", *("  " + "  ".join(cell.ljust(size) if 1 <= at <= 2 else cell.rjust(size)
                                         for at, (cell, size) in enumerate(zip(row, widths))) for row in stages)]
    return "\n".join(lines)


def html(response: planner_service_pb2.PlanJobResponse) -> str:
    """Returns the tables as a piece of HTML."""
    summary = "".join(f"<tr><th class=text>{escape.escape(name)}</th><td class=text>{escape.escape(value)}</td></tr>"
                      for name, value in _summary(response))
    parts = [STYLE, f'<div class="evenkeel"><strong>{escape.escape(_title(response))}</strong>',
             f"<table>{summary}</table>"]
    if response.plan.predictions.step.total_seconds > 0:
        parts.append(pictures.step_parts(response.plan).svg)
    if response.plan.stages:
        parts.append(f"<table><tr>{_row('th', STAGE_COLUMNS)}</tr>")
        for stage in response.plan.stages:
            used = 100 * stage.memory.total_bytes / max(1, stage.capacity_bytes)
            bar = f'<div class="bar"><div class="used" style="width: {min(100.0, max(0.0, used)):.1f}%"></div></div>'
            parts.append(f"<tr>{_row('td', _cells(stage), bar)}</tr>")
        parts.append("</table>")
    return "".join([*parts, "</div>"])


def _row(tag: str, cells: tuple[str, ...], bar: str = "") -> str:
    marks = ["", " class=text", " class=text"]
    return "".join(f"<{tag}{marks[at] if at < 3 else ''}>{escape.escape(cell)}{bar if at == 6 else ''}</{tag}>"
                   for at, cell in enumerate(cells))


def _title(response: planner_service_pb2.PlanJobResponse) -> str:
    subject = response.plan.subject
    if not response.HasField("plan"):
        return "Checked, not planned (validate_only)"
    return f"{subject.model} on {subject.gpu_count} x {subject.gpu_type}"


def _summary(response: planner_service_pb2.PlanJobResponse) -> Iterator[tuple[str, str]]:
    yield "plan", response.plan_id
    plan, predictions = response.plan, response.plan.predictions
    if not response.HasField("plan"):
        return
    if plan.HasField("misfit"):
        yield "does not fit", plan.misfit.text
        for remedy in plan.misfit.remedies:
            yield "instead", remedy.text
        return
    low, high = (ratio * predictions.step.total_seconds
                 for ratio in (predictions.step_interval.low_ratio, predictions.step_interval.high_ratio))
    yield "a step", (f"{predictions.step.total_seconds:.3g} s "
                     f"({predictions.step_interval.coverage_ratio:.0%} of runs: {low:.3g} to {high:.3g} s)")
    cost = f", cost {predictions.cost:,.2f}" if predictions.cost else ""
    yield "an epoch", f"{predictions.epoch_seconds / 3600:.3g} h, {predictions.steps_per_epoch:,} steps"
    yield "in all", f"{predictions.gpu_days:.3g} GPU-days, MFU {predictions.mfu:.1%}{cost}"
    degrees = plan.parallelism
    others = "".join(f", {name} {value}" for name, value in (
        ("context", degrees.context), ("expert", degrees.expert), ("virtual stages", degrees.virtual_stages))
        if value > 1)
    yield "split", f"tensor {degrees.tensor} x pipeline {degrees.pipeline} x data {degrees.data}{others}"
    yield "schedule", SCHEDULES.get(plan.schedule, "1F1B")
    rule = plan.batch_rule
    units = f"{rule.unit_cap:,} units, " if rule.unit_cap else ""
    if plan.HasField("padded_batches"):
        yield from _padding(plan)
        return
    yield "a pack", f"at most {units}{rule.token_cap:,} tokens; {rule.samples_per_pack:.3g} samples on average"
    yield "a step holds", (f"{predictions.micro_batches:,} packs on each rank, {predictions.samples_per_step:,.0f} "
                           "samples in all")


def _padding(plan: plan_pb2.Plan) -> Iterator[tuple[str, str]]:
    padded, rule, predictions = plan.padded_batches, plan.batch_rule, plan.predictions
    yield "a micro-batch", (f"{padded.micro_batch_samples:,} samples, padded to {padded.mean_row_tokens:,.0f} tokens "
                            f"each on average, {padded.longest_row_tokens:,} at most; {rule.pad_ratio:.0%} padding")
    yield "a step holds", (f"{predictions.micro_batches:,} micro-batches on each rank, "
                           f"{predictions.samples_per_step:,.0f} samples in all")
    if padded.HasField("packing_gain_ratio"):
        change = 1 / (1 + padded.packing_gain_ratio) - 1
        yield "with packing", (f"{padded.packed.gpu_days:.3g} GPU-days, {abs(change):.0%} "
                               f"{'less' if change < 0 else 'more'}")


def _cells(stage: stage_pb2.Stage) -> tuple[str, ...]:
    recomputed = sum(group.recomputed_count for group in stage.layers)
    return (str(stage.index), " + ".join(_layers(group) for group in stage.layers),
            f"{recomputed:,} layers" if recomputed else "none", f"{1e3 * stage.forward_seconds:,.0f}",
            f"{1e3 * stage.backward_seconds:,.0f}", str(stage.in_flight),
            f"{stage.memory.total_bytes / GIB:.1f}", f"{stage.free_bytes / GIB:.1f}")


def _layers(group: stage_pb2.LayerGroup) -> str:
    name = KINDS.get(group.kind, "language")
    if group.encoder_index:
        name += f" {group.encoder_index + 1}"
    if group.layer_count == 1 and group.kind not in (stage_pb2.LAYER_KIND_ENCODER,) and name != "language":
        return name
    last = group.first_layer + group.layer_count - 1
    return f"{name} {group.first_layer}-{last}" if last > group.first_layer else f"{name} {last}"
