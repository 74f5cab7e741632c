"""Code that the sync and the asyncio client share: methods, headers, settings."""
from __future__ import annotations

import dataclasses
import uuid
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message

from . import connection
from .retry import RetryPolicy, check_timeout
from .v1 import catalog_pb2, curve_pb2, packing_pb2, planner_service_pb2, profile_pb2

M = TypeVar("M", bound=Message)

SERVICE = "evenkeel.v1.PlannerService"
PACK_METHOD = f"/{SERVICE}/PackDataset"

# Answers of the methods that take and return one message: METHOD + "Response".
RESPONSES: tuple[type[Message], ...] = (
    planner_service_pb2.PlanJobResponse, planner_service_pb2.EvaluatePlanResponse, planner_service_pb2.GetPlanResponse,
    planner_service_pb2.ListPlansResponse, profile_pb2.RecordProfileResponse, profile_pb2.ListProfilesResponse,
    profile_pb2.RollBackProfileResponse, catalog_pb2.ListModelsResponse, catalog_pb2.ListGpuTypesResponse,
    catalog_pb2.ListTrainersResponse, curve_pb2.PlanCurveResponse)


def method_of(response: type[Message]) -> str:
    return response.DESCRIPTOR.name.removesuffix("Response")


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of one client."""
    target: str
    timeout: float  # limit in seconds for a call, with all its tries
    pack_timeout: float  # limit in seconds for an upload, with all its tries
    retry: RetryPolicy
    wait_for_ready: bool

    def __post_init__(self) -> None:
        connection.check_target(self.target)
        for name in ("timeout", "pack_timeout"):
            check_timeout(name, getattr(self, name))


def serialize(message: Message) -> bytes:
    return message.SerializeToString()


def new_request_id() -> str:
    return uuid.uuid4().hex


def stubs(channel: grpc.Channel | grpc.aio.Channel) -> dict[str, Any]:
    """Returns a callable for each method, for either kind of channel."""
    return {method_of(response): channel.unary_unary(
        f"/{SERVICE}/{method_of(response)}", request_serializer=serialize,
        response_deserializer=response.FromString) for response in RESPONSES}


def pack_stub(channel: grpc.Channel | grpc.aio.Channel) -> Any:
    return channel.stream_stream(PACK_METHOD, request_serializer=serialize,
                                 response_deserializer=packing_pb2.PackDatasetResponse.FromString)
