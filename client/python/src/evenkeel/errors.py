"""Errors that calls raise: the google.rpc details of a failed call, decoded. Reasons: docs/ERRORS.md."""
from __future__ import annotations

import dataclasses
from typing import Any

import grpc
from google.rpc import error_details_pb2, status_pb2

DOMAIN = "evenkeel.dev"


@dataclasses.dataclass(frozen=True)
class FieldViolation:
    """One invalid field of a request."""
    field: str  # path, such as "job.cluster.pools[0].gpu_count"
    description: str  # what would be accepted


@dataclasses.dataclass(frozen=True)
class ResourceInfo:
    """The object that was not found."""
    type: str
    name: str


@dataclasses.dataclass(frozen=True)
class PreconditionViolation:
    """Something that a call needed and did not find."""
    type: str
    subject: str
    description: str


class EvenkeelError(Exception):
    """A call failed. Use the class, `code` and `reason` to decide what to do, never the message."""

    def __init__(self, method: str, code: grpc.StatusCode, message: str, request_id: str = "",
                 target: str = "") -> None:
        self.method = method  # such as "PlanJob"
        self.code = code
        self.message = message  # from the server, or from gRPC itself
        self.request_id = request_id  # as in the server's log
        self.target = target  # the client's target
        self.reason = ""  # from docs/ERRORS.md; empty if gRPC itself, not the service, made the error
        self.metadata: dict[str, str] = {}  # the variable parts of the message
        self.retry_after: float | None = None  # seconds after which another try may succeed
        self.violations: list[FieldViolation] = []
        self.preconditions: list[PreconditionViolation] = []
        self.resource: ResourceInfo | None = None
        super().__init__(message)

    def __str__(self) -> str:
        name = f"{self.code.name}, {self.reason}" if self.reason else self.code.name
        silent = bool(self.target) and not self.reason  # perhaps there is no server
        where = f" at {self.target}" if silent else ""
        lines = [f"{self.method}{where}: {self.message or 'no message'} ({name})"]
        if silent and self.code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
            lines.append("  Is an evenkeel-server running there?")
        faults = [f"{v.field}: {v.description}" if v.field else v.description for v in self.violations]
        if faults != [self.message]:  # the message of a single violation is the violation
            lines += ["  " + fault for fault in faults]
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.method, self.code, self.message, self.request_id, self.target), self.__dict__


class InvalidRequestError(EvenkeelError):
    """INVALID_ARGUMENT: `violations` names every invalid field. Retrying does not help."""


class NotFoundError(EvenkeelError):
    """NOT_FOUND: there is no such plan, dataset or revision (`resource`): it was evicted, or belongs to another
    tenant."""


class BusyError(EvenkeelError):
    """RESOURCE_EXHAUSTED: the queue or a limit is full. Try again after `retry_after`; if it is None, do not retry."""


class UnavailableError(EvenkeelError):
    """UNAVAILABLE: no server, a broken connection, a server that drains, or a store that cannot be written."""


class DeadlineExceededError(EvenkeelError):
    """DEADLINE_EXCEEDED: `timeout` passed first, or the server's own limit for a computation (PLAN_TIME_LIMIT)."""


class UnauthenticatedError(EvenkeelError):
    """UNAUTHENTICATED: the policy requires proof of the caller's identity."""


class PermissionDeniedError(EvenkeelError):
    """PERMISSION_DENIED: the policy does not let this caller call this method."""


class PreconditionError(EvenkeelError):
    """FAILED_PRECONDITION: see `preconditions`. CALIBRATION_BEHIND: ask again, or another replica."""


class CallCancelledError(EvenkeelError):
    """CANCELLED: the caller cancelled, or its channel was closed."""


class ServerError(EvenkeelError):
    """Any other code: INTERNAL, UNIMPLEMENTED, ABORTED and the like."""


_CLASSES: dict[grpc.StatusCode, type[EvenkeelError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidRequestError,
    grpc.StatusCode.NOT_FOUND: NotFoundError,
    grpc.StatusCode.RESOURCE_EXHAUSTED: BusyError,
    grpc.StatusCode.UNAVAILABLE: UnavailableError,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceededError,
    grpc.StatusCode.UNAUTHENTICATED: UnauthenticatedError,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDeniedError,
    grpc.StatusCode.FAILED_PRECONDITION: PreconditionError,
    grpc.StatusCode.CANCELLED: CallCancelledError,
}


def _add_detail(error: EvenkeelError, detail: Any) -> None:
    """Reads a detail into the error. Ignores unknown details, because a newer server may send more."""
    if detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
        info = error_details_pb2.ErrorInfo()
        detail.Unpack(info)
        if info.domain == DOMAIN:
            error.reason, error.metadata = info.reason, dict(info.metadata)
    elif detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR):
        retry = error_details_pb2.RetryInfo()
        detail.Unpack(retry)
        error.retry_after = retry.retry_delay.seconds + retry.retry_delay.nanos * 1e-9
    elif detail.Is(error_details_pb2.BadRequest.DESCRIPTOR):
        bad = error_details_pb2.BadRequest()
        detail.Unpack(bad)
        error.violations += [FieldViolation(v.field, v.description) for v in bad.field_violations]
    elif detail.Is(error_details_pb2.PreconditionFailure.DESCRIPTOR):
        failure = error_details_pb2.PreconditionFailure()
        detail.Unpack(failure)
        error.preconditions += [PreconditionViolation(v.type, v.subject, v.description) for v in failure.violations]
    elif detail.Is(error_details_pb2.ResourceInfo.DESCRIPTOR):
        resource = error_details_pb2.ResourceInfo()
        detail.Unpack(resource)
        error.resource = ResourceInfo(resource.resource_type, resource.resource_name)


def from_rpc_error(rpc_error: Any, method: str, request_id: str = "", target: str = "") -> EvenkeelError:
    """Makes the error of a failed call, for the sync or the asyncio API."""
    code = rpc_error.code()
    error = _CLASSES.get(code, ServerError)(method, code, rpc_error.details() or "", request_id, target)
    for key, value in rpc_error.trailing_metadata() or ():
        if key != "grpc-status-details-bin":
            continue
        try:
            details = status_pb2.Status.FromString(value).details
            for detail in details:
                _add_detail(error, detail)
        except Exception:  # noqa: BLE001  Details that can not be read (DecodeError differs by runtime) hide no error.
            continue
    return error


def from_failure(method: str, kind: str, details: list[tuple[str, str]]) -> EvenkeelError:
    """Makes the error of a computation in this process, as a server would answer it."""
    code, reason, message = {
        "invalid": (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_REQUEST", ""),
        "deadline": (grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED",
                     "the deadline passed before the answer was ready"),
        "cancelled": (grpc.StatusCode.CANCELLED, "CANCELLED", "the caller cancelled"),
        "defect": (grpc.StatusCode.INTERNAL, "PLANNER_DEFECT",
                   "the planner failed on this request, which is a defect of it; please report it"),
    }[kind]
    violations = [FieldViolation(field, description) for field, description in details]
    if kind == "invalid":
        message = f"{violations[0].field}: {violations[0].description}"
        if len(violations) > 1:
            message = f"{len(violations)} fields are wrong; the first: {message}"
    error = _CLASSES.get(code, ServerError)(method, code, message)
    error.reason, error.violations = reason, violations
    if kind == "invalid":
        error.metadata = {"violations": str(len(violations))}
    return error
