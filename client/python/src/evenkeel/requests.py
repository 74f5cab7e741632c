"""Makes requests from the objects that callers have."""
from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeVar, Union

from google.protobuf import json_format
from google.protobuf.message import Message

from .v1 import curve_pb2, job_pb2, plan_pb2, planner_service_pb2, profile_pb2

M = TypeVar("M", bound=Message)

# A Job or a whole request, or either as a mapping in protobuf JSON, as in deploy/examples.
JobLike = Union[job_pb2.Job, planner_service_pb2.PlanJobRequest, Mapping[str, Any]]


class HasResponse(Protocol):
    """An object that holds an answer with a plan, such as evenkeel.Planned."""
    response: planner_service_pb2.PlanJobResponse


PlanLike = Union[plan_pb2.Plan, planner_service_pb2.PlanJobResponse, planner_service_pb2.GetPlanResponse,
                 Mapping[str, Any], HasResponse]
# Numbers of nodes: of all pools, as range(1, 65) or [1, 2, 4], or ranges of the contract, one for each pool.
NodesLike = Union[Iterable[int], Iterable[curve_pb2.NodeRange], curve_pb2.NodeRange]
ProfileLike = Union[profile_pb2.RecordProfileRequest, Mapping[str, Any]]


def parse(values: Mapping[str, Any], message: M, name: str) -> M:
    """Parses protobuf JSON into `message`. A key that the message does not have is an error."""
    try:
        json_format.ParseDict(dict(values), message)
    except json_format.ParseError as error:
        raise ValueError(f"{name} is not a {message.DESCRIPTOR.name} in protobuf JSON: {error}") from error
    return message


def plan_job_request(job: JobLike) -> planner_service_pb2.PlanJobRequest:
    """Returns the request as a copy, so that the caller's message stays unchanged."""
    request = planner_service_pb2.PlanJobRequest()
    if isinstance(job, planner_service_pb2.PlanJobRequest):
        request.CopyFrom(job)
    elif isinstance(job, job_pb2.Job):
        request.job.CopyFrom(job)
    elif isinstance(job, Mapping):
        if "job" in job:
            parse(job, request, "job")
        else:
            parse(job, request.job, "job")
    else:
        raise TypeError(f"job is a {type(job).__name__}: must be a Job, a PlanJobRequest or a mapping; "
                        "evenkeel.load_job reads a file")
    return request


def plan_curve_request(job: JobLike, nodes: NodesLike) -> curve_pb2.PlanCurveRequest:
    """Returns the request. Leaves out the numbers of GPUs in the job, because `nodes` replaces them. Refuses fields of
    a PlanJobRequest that a PlanCurveRequest lacks, because a curve shows plans without them."""
    plan = plan_job_request(job)
    request = curve_pb2.PlanCurveRequest(job=plan.job, label=plan.label, max_violations=plan.max_violations,
                                         min_calibration_revision=plan.min_calibration_revision)
    for name in ("job", "label", "max_violations", "min_calibration_revision"):
        plan.ClearField(name)
    others = [field.name for field, _ in plan.ListFields()]
    if others:
        raise ValueError(f"a curve takes no {', '.join(others)}: give the job alone")
    for pool in request.job.cluster.pools:
        pool.ClearField("gpu_count")
        pool.ClearField("gpu_counts")
    given = [nodes] if isinstance(nodes, curve_pb2.NodeRange) else list(nodes)
    ranges = [range_ for range_ in given if isinstance(range_, curve_pb2.NodeRange)]
    if len(ranges) == len(given):
        request.nodes.extend(ranges)
    else:
        request.nodes.add(counts=given)
    return request


def with_fields(request: M, fields: Mapping[str, Any]) -> M:
    """Sets the fields. False and 0 also override the request's own value."""
    made = type(request)(**fields)
    for name in fields:
        request.ClearField(name)
    request.MergeFrom(made)
    return request


def load_job(path: str | os.PathLike[str]) -> planner_service_pb2.PlanJobRequest:
    """Reads a request from a file in protobuf JSON: a PlanJobRequest, as in deploy/examples, or a Job."""
    with open(path, encoding="utf-8") as file:
        try:
            values = json.load(file)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)} is not JSON: {error}") from error
    if not isinstance(values, dict):
        raise ValueError(f"{os.fspath(path)} holds no JSON object")
    return plan_job_request(values)


def plan_of(plan: PlanLike, name: str = "plan") -> plan_pb2.Plan:
    plan = getattr(plan, "response", plan)  # of a Planned
    if isinstance(plan, plan_pb2.Plan):
        return plan
    if isinstance(plan, (planner_service_pb2.PlanJobResponse, planner_service_pb2.GetPlanResponse)):
        if not plan.HasField("plan"):
            raise ValueError(f"{name}: the answer has no plan (validate_only?)")
        return plan.plan
    if isinstance(plan, Mapping):
        if "plan" in plan:  # an answer, as written by `evenkeelctl plan --save`
            return parse(plan["plan"], plan_pb2.Plan(), name)
        return parse(plan, plan_pb2.Plan(), name)
    raise TypeError(f"{name} is a {type(plan).__name__}: must be a Plan, an answer that has one, or a mapping")


def profile_request(profile: ProfileLike) -> profile_pb2.RecordProfileRequest:
    if isinstance(profile, profile_pb2.RecordProfileRequest):
        return profile
    if isinstance(profile, Mapping):
        return parse(profile, profile_pb2.RecordProfileRequest(), "profile")
    raise TypeError(f"profile is a {type(profile).__name__}: must be a RecordProfileRequest or a mapping")
