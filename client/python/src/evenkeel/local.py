"""The planner in this process: no server, the same plans. `evenkeel.plan`, `curve`, `evaluate`, `pack` and the
catalogue.

The computation runs without Python's lock, so threads plan side by side. Ctrl-C ends it, as do `timeout` and
`cancelled`. A process keeps neither plans nor profiles nor datasets: what a request says about them is refused.
"""
from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from . import requests
from .requests import JobLike, NodesLike, PlanLike
from .v1 import catalog_pb2, curve_pb2, plan_pb2, planner_service_pb2

if TYPE_CHECKING:
    import numpy.typing as npt

    from . import packing, stats
    from .v1 import batching_pb2

try:
    from . import _native
except ImportError as missing:
    raise ImportError(
        f"this installation of evenkeel has no planner of its own ({missing}): it was built with EVENKEEL_PURE=1. Ask "
        "a server with evenkeel.Client, or install again without EVENKEEL_PURE") from missing

# Returns whether the answer is no longer wanted, such as threading.Event().is_set. Called about 30 times a second.
Cancelled = Callable[[], bool]


class Planned:
    """A plan that this process made. In a notebook it shows itself as tables."""

    def __init__(self, response: planner_service_pb2.PlanJobResponse) -> None:
        self.response = response  # as PlanJob of a server answers

    @property
    def plan_id(self) -> str:
        return self.response.plan_id

    @property
    def plan(self) -> plan_pb2.Plan:
        """The plan. A job that does not fit has one too, with `misfit`."""
        return requests.plan_of(self.response)

    @property
    def offers(self) -> Sequence[plan_pb2.Plan]:
        """Plans of all offers, if the job has several: pools of a cluster, or GPU counts of a pool."""
        return self.response.offers

    @property
    def fits(self) -> bool:
        return self.response.HasField("plan") and not self.response.plan.HasField("misfit")

    def __repr__(self) -> str:
        from . import plan_tables
        return plan_tables.text(self.response)

    def _repr_html_(self) -> str:
        from . import plan_tables
        return plan_tables.html(self.response)


def plan(job: JobLike, *, timeout: float | None = None, cancelled: Cancelled | None = None, **fields: Any) -> Planned:
    """Plans a job as Client.plan_job does: same id, same bytes. `fields` are other fields of PlanJobRequest, such as
    compare_sizes=True. A job that does not fit is not an error: see `fits`."""
    request = requests.with_fields(requests.plan_job_request(job), fields)
    response = planner_service_pb2.PlanJobResponse()
    response.ParseFromString(_call("PlanJob", _native.plan_job, request.SerializeToString(), timeout, cancelled))
    return Planned(response)


def curve(job: JobLike, nodes: NodesLike, *, timeout: float | None = None, cancelled: Cancelled | None = None,
          **fields: Any) -> curve_pb2.PlanCurveResponse:
    """Plans a job for several numbers of nodes, such as range(1, 65), as Client.plan_curve does. `fields` are other
    fields of PlanCurveRequest, such as search=CURVE_SEARCH_SHORT."""
    request = requests.with_fields(requests.plan_curve_request(job, nodes), fields)
    response = curve_pb2.PlanCurveResponse()
    response.ParseFromString(_call("PlanCurve", _native.plan_curve, request.SerializeToString(), timeout, cancelled))
    return response


def evaluate(job: JobLike, plan: PlanLike, *, include_timeline: bool = False, timeout: float | None = None,
             cancelled: Cancelled | None = None) -> planner_service_pb2.EvaluatePlanResponse:
    """Predicts the caller's plan next to ours, as Client.evaluate_plan does."""
    request = planner_service_pb2.EvaluatePlanRequest(
        job=requests.plan_job_request(job).job, plan=requests.plan_of(plan),
        include_timeline=include_timeline)
    response = planner_service_pb2.EvaluatePlanResponse()
    response.ParseFromString(
        _call("EvaluatePlan", _native.evaluate_plan, request.SerializeToString(), timeout, cancelled))
    return response


def pack(rule: packing.RuleLike, tokens: npt.ArrayLike, units: npt.ArrayLike | None = None, *,
         loss_tokens: npt.ArrayLike | None = None, data_parallel: int | None = None,
         packs_per_rank: int | None = None, epoch: int = 0, sequence_parallel_group: int = 1,
         apart: Sequence[int] = (), groups: Sequence[batching_pb2.PackingGroup] = (),
         curriculum_steps: int | None = None, summary_only: bool = False, timeout: float | None = None,
         cancelled: Cancelled | None = None) -> packing.Packing:
    """Packs samples by a rule or a plan, as Client.pack_dataset does."""
    from . import packing
    start = packing.start_message(
        packing.settings_of(rule), data_parallel=data_parallel, packs_per_rank=packs_per_rank, epoch=epoch,
        sequence_parallel_group=sequence_parallel_group, apart=apart, groups=groups,
        curriculum_steps=curriculum_steps, summary_only=summary_only)
    samples = packing.Samples.of(tokens, units, loss_tokens)
    arguments = (*packing.native_columns(start, samples), _seconds(timeout), cancelled)
    try:
        answer = _native.pack_dataset(packing.announced(start, samples).SerializeToString(), *arguments)
    except _native.Failure as failure:
        _raise("PackDataset", failure)
    return packing.native_result(start, answer)


class LowerBound(NamedTuple):
    packs: int  # no packing has fewer
    method: str  # how that is proven, such as "volume"


def lower_bound(rule: packing.RuleLike, counts: stats.LengthCounts, *, timeout: float | None = None,
                cancelled: Cancelled | None = None) -> LowerBound:
    """Returns a proven lower bound on the number of packs of counted samples, however many there are. The rule must
    have caps."""
    import numpy as np

    from . import packing, stats
    start = packing.start_message(packing.settings_of(rule), data_parallel=1)
    packing.check_encoders(start, packing.Samples(counts.tokens, counts.units if counts.units.any() else None, None))
    scales = np.array(start.rule.unit_scales, np.int64)
    units = counts.units if counts.units.ndim == 1 else counts.units @ scales
    packed = stats.LengthCounts.merged([dataclasses.replace(counts, units=units)])
    columns = (packed.units.astype(np.int32).tobytes(), packed.tokens.astype(np.int32).tobytes(),
               packed.count.astype(np.int64).tobytes())
    try:
        return LowerBound(*_native.pack_bound(start.SerializeToString(), *columns, _seconds(timeout), cancelled))
    except _native.Failure as failure:
        _raise("PackDataset", failure)


def models() -> catalog_pb2.ListModelsResponse:
    """Lists the models of the catalogue."""
    return catalog_pb2.ListModelsResponse.FromString(_call("ListModels", _native.list_models))


def gpu_types() -> catalog_pb2.ListGpuTypesResponse:
    """Lists the GPU types of the catalogue."""
    return catalog_pb2.ListGpuTypesResponse.FromString(_call("ListGpuTypes", _native.list_gpu_types))


def trainers() -> catalog_pb2.ListTrainersResponse:
    """Lists the trainers whose defaults are known."""
    return catalog_pb2.ListTrainersResponse.FromString(_call("ListTrainers", _native.list_trainers))


def _seconds(timeout: float | None) -> float:
    if timeout is None:
        return math.inf
    if not timeout > 0:
        raise ValueError(f"timeout is {timeout}: must be more than 0 seconds, or None for no limit")
    return float(timeout)


def _call(method: str, function: Callable[[bytes, float, Cancelled | None], bytes], request: bytes = b"",
          timeout: float | None = None, cancelled: Cancelled | None = None) -> bytes:
    try:
        return function(request, _seconds(timeout), cancelled)
    except _native.Failure as failure:
        _raise(method, failure)


def _raise(method: str, failure: _native.Failure) -> NoReturn:
    from . import errors  # loads gRPC, whose status codes errors have
    raise errors.from_failure(method, *failure.args) from None
