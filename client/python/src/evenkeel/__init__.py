"""Client of the Evenkeel planning service.

    with evenkeel.Client("127.0.0.1:50051") as client:
        plan = client.plan_job(evenkeel.load_job("job.json")).plan
    sampler = evenkeel.EvenkeelBatchSampler("127.0.0.1:50051", plan, tokens, units, rank=rank)

`evenkeel.aio.Client` is the asyncio client, `evenkeel.v1` has the messages, `evenkeel.lengths` reads sample lengths,
`evenkeel.stats` makes histograms of them, `evenkeel.xtuner` writes presets for XTuner v1. `evenkeel.OnlinePacker` packs
streams without a server, `evenkeel.streams` those of other packages. Manual: docs/PYTHON.md.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import (aio, cli, client, connection, energon, errors, lengths, online, packing, retry, sampler, stats,
                   streams, v1, xtuner)
    from ._version import __version__
    from .client import Client, load_job
    from .connection import Tls
    from .errors import (BusyError, CallCancelledError, DeadlineExceededError, EvenkeelError, FieldViolation,
                         InvalidRequestError, NotFoundError, PermissionDeniedError, PreconditionError, ResourceInfo,
                         ServerError, UnauthenticatedError, UnavailableError)
    from .lengths import LengthFileError, SampleLengths, read_lengths
    from .online import OnlinePacker, OnlineReport, OversizeError, Pack, Step
    from .packing import Packing
    from .resume import ResumeError
    from .retry import RetryPolicy
    from .sampler import EvenkeelBatchSampler, MicroBatch

# The module of each name. Modules are loaded on demand: statistics need no gRPC, and planning needs no NumPy.
_HOME = {
    "Client": "client", "load_job": "client", "Tls": "connection", "RetryPolicy": "retry", "Packing": "packing",
    "EvenkeelBatchSampler": "sampler", "MicroBatch": "sampler", "ResumeError": "resume",
    "SampleLengths": "lengths", "LengthFileError": "lengths", "read_lengths": "lengths", "__version__": "_version",
    **dict.fromkeys(("OnlinePacker", "OnlineReport", "OversizeError", "Pack", "Step"), "online"),
    **dict.fromkeys(("BusyError", "CallCancelledError", "DeadlineExceededError", "EvenkeelError", "FieldViolation",
                     "InvalidRequestError", "NotFoundError", "PermissionDeniedError", "PreconditionError",
                     "ResourceInfo", "ServerError", "UnauthenticatedError", "UnavailableError"), "errors"),
}
_MODULES = ("aio", "cli", "client", "connection", "energon", "errors", "lengths", "online", "packing", "retry",
            "sampler", "stats", "streams", "v1", "xtuner")

__all__ = [  # the names of _HOME, spelled out for type checkers
    "BusyError", "CallCancelledError", "Client", "DeadlineExceededError", "EvenkeelBatchSampler", "EvenkeelError",
    "FieldViolation", "InvalidRequestError", "LengthFileError", "MicroBatch", "NotFoundError", "Packing",
    "PermissionDeniedError", "PreconditionError", "ResourceInfo", "ResumeError", "RetryPolicy", "SampleLengths",
    "ServerError", "Tls", "UnauthenticatedError", "UnavailableError", "__version__", "load_job", "read_lengths"]


if not TYPE_CHECKING:  # otherwise a type checker would accept any name
    def __getattr__(name: str) -> Any:
        if name in _HOME:
            return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
        if name in _MODULES:
            return importlib.import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
