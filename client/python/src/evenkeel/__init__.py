"""The planner of Evenkeel in this process, and the client of its service.

    plan = evenkeel.plan(evenkeel.load_job("job.json"))
    with evenkeel.Client("127.0.0.1:50051") as client:
        plan = client.plan_job(evenkeel.load_job("job.json")).plan
    sampler = evenkeel.EvenkeelBatchSampler("127.0.0.1:50051", plan, tokens, units, rank=rank)

`evenkeel.aio.Client` is the asyncio client, `evenkeel.v1` has the messages, `evenkeel.lengths` reads sample lengths,
`evenkeel.media` makes them of images, videos and recordings, `evenkeel.stats` makes histograms of them,
`evenkeel.xtuner` writes presets for XTuner v1. `evenkeel.OnlinePacker` packs streams without a server,
`evenkeel.streams` those of other packages, `evenkeel.ray` counts and packs datasets beyond one machine.
`evenkeel.StepReporter` compares the steps of a training with its plan, `evenkeel.reporting` does so in trainers.
Manual: docs/PYTHON.md.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import (aio, cli, client, connection, energon, errors, lengths, local, media, online, pack_folder, packing,
                   pictures, processor, rank_gather, ray, reporting, retry, sampler, stats, streams, v1, xtuner)
    from ._version import __version__
    from .client import Client, load_job
    from .connection import Tls
    from .errors import (BusyError, CallCancelledError, DeadlineExceededError, EvenkeelError, FieldViolation,
                         InvalidRequestError, NotFoundError, PermissionDeniedError, PreconditionError, ResourceInfo,
                         ServerError, UnauthenticatedError, UnavailableError)
    from .lengths import LengthFileError, SampleLengths, read_lengths
    from .local import LowerBound, Planned, curve, evaluate, gpu_types, lower_bound, models, pack, plan, trainers
    from .media import MediaSampleLengths, read_media_lengths
    from .online import OnlinePacker, OnlineReport, OversizeError, Pack, Step
    from .pack_folder import PackEpoch, PackFolder
    from .packing import Packing
    from .processor import Audio, MediaError, MediaLengths, Processor, Video
    from .reporter import Report, StepReporter
    from .resume import ResumeError
    from .retry import RetryPolicy
    from .sampler import EvenkeelBatchSampler, MicroBatch
    from .stats import histogram

# The module of each name. Modules are loaded on demand: statistics need no gRPC, and planning needs no NumPy.
_HOME = {
    **dict.fromkeys(("LowerBound", "Planned", "curve", "evaluate", "gpu_types", "lower_bound", "models", "pack",
                     "plan", "trainers"), "local"),
    "PackEpoch": "pack_folder", "PackFolder": "pack_folder",
    "Client": "client", "load_job": "requests", "Tls": "connection", "RetryPolicy": "retry", "Packing": "packing",
    "histogram": "stats", "EvenkeelBatchSampler": "sampler", "MicroBatch": "sampler", "ResumeError": "resume",
    "SampleLengths": "lengths", "LengthFileError": "lengths", "read_lengths": "lengths", "__version__": "_version",
    "MediaSampleLengths": "media", "read_media_lengths": "media",
    **dict.fromkeys(("OnlinePacker", "OnlineReport", "OversizeError", "Pack", "Step"), "online"),
    **dict.fromkeys(("Report", "StepReporter"), "reporter"),
    **dict.fromkeys(("Audio", "MediaError", "MediaLengths", "Processor", "Video"), "processor"),
    **dict.fromkeys(("BusyError", "CallCancelledError", "DeadlineExceededError", "EvenkeelError", "FieldViolation",
                     "InvalidRequestError", "NotFoundError", "PermissionDeniedError", "PreconditionError",
                     "ResourceInfo", "ServerError", "UnauthenticatedError", "UnavailableError"), "errors"),
}
_MODULES = ("aio", "cli", "client", "connection", "energon", "errors", "lengths", "local", "media", "online",
            "pack_folder", "packing", "pictures", "processor", "rank_gather", "ray", "reporting", "retry", "sampler",
            "stats", "streams", "v1", "xtuner")

__all__ = [  # the names of _HOME, spelled out for type checkers
    "Audio", "BusyError", "CallCancelledError", "Client", "DeadlineExceededError", "EvenkeelBatchSampler",
    "EvenkeelError", "FieldViolation", "InvalidRequestError", "LengthFileError", "LowerBound", "MediaError",
    "MediaLengths", "MediaSampleLengths", "MicroBatch", "NotFoundError", "OnlinePacker", "OnlineReport",
    "OversizeError", "Pack", "PackEpoch", "PackFolder", "Packing", "PermissionDeniedError", "Planned",
    "PreconditionError", "Processor", "Report", "ResourceInfo", "ResumeError", "RetryPolicy", "SampleLengths",
    "ServerError", "Step", "StepReporter", "Tls", "UnauthenticatedError", "UnavailableError", "Video", "__version__",
    "curve", "evaluate", "gpu_types", "histogram", "load_job", "lower_bound", "models", "pack", "plan", "read_lengths",
    "read_media_lengths", "trainers"]


if not TYPE_CHECKING:  # otherwise a type checker would accept any name
    def __getattr__(name: str) -> Any:
        if name in _HOME:
            return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
        if name in _MODULES:
            return importlib.import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
