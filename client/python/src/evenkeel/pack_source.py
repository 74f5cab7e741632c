"""Where a sampler has its packs from: a server, asked by every rank or by one for all."""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from .client import Client
from .errors import EvenkeelError
from .packing import Int64s, Packing, PackSettings, Samples, start_message
from .v1 import packing_pb2

Share = Literal["auto", "each", "broadcast"]

# Leading part of an epoch that ran on other ranks: (world_size, packs_per_rank, steps).
Segment = tuple[int, int, int]


class PackSource:
    """Packings of one dataset by one rule."""

    def __init__(self, server: Client | str, settings: PackSettings, samples: Samples, timeout: float,
                 sequence_parallel_group: int = 1) -> None:
        self._server, self._settings, self._samples = server, settings, samples
        self._timeout = timeout
        self._sequence_parallel_group = sequence_parallel_group

    def fetch(self, epoch: int, world_size: int, packs_per_rank: int,
              segments: tuple[Segment, ...] = ()) -> Packing:
        """The packing of an epoch. After `segments`: of what they left, with the sample indices of the whole."""
        if isinstance(self._server, Client):
            return self._fetch(self._server, epoch, world_size, packs_per_rank, segments)
        # A connection is only held while it is used: processes that fork afterwards inherit nothing.
        with Client(self._server, wait_for_ready=True) as client:
            return self._fetch(client, epoch, world_size, packs_per_rank, segments)

    def _fetch(self, client: Client, epoch: int, world_size: int, packs_per_rank: int,
               segments: tuple[Segment, ...]) -> Packing:
        settings, left = self._settings, np.arange(self._samples.tokens.size)
        for ranks, packs, steps in segments:
            packing = self._ask(client, settings, epoch, ranks, packs, left)
            # Caps that were derived from the whole stay what they are.
            settings = PackSettings(packing.summary.rule, settings.plan_id)
            used = packing.order[:packing.step_offsets[steps]]
            gone = np.zeros(self._samples.tokens.size, bool)
            gone[np.concatenate([packing.pack(p) for p in used[used >= 0]] or [np.empty(0, np.int64)])] = True
            left = left[~gone[left]]
        return self._ask(client, settings, epoch, world_size, packs_per_rank, left)

    def _ask(self, client: Client, settings: PackSettings, epoch: int, world_size: int, packs_per_rank: int,
             left: Int64s) -> Packing:
        whole = left.size == self._samples.tokens.size
        samples = self._samples if whole else self._samples.take(left)
        packing = client.pack_start(self.start(settings, epoch, world_size, packs_per_rank), samples,
                                    timeout=self._timeout)
        if whole:
            return packing
        return Packing(packing.pack_offsets, left[packing.sample_index], packing.order, packing.step_offsets,
                       packing.step_group, packing.loss_normalizer, packing.summary, packing.start)

    def start(self, settings: PackSettings, epoch: int, world_size: int,
              packs_per_rank: int) -> packing_pb2.PackDatasetStart:
        if settings.groups:
            return start_message(settings, epoch=epoch)
        return start_message(settings, epoch=epoch, data_parallel=world_size, packs_per_rank=packs_per_rank,
                             sequence_parallel_group=self._sequence_parallel_group)


class Ahead:
    """One computation in a thread of its own, by key: for the next epoch, while this one trains."""

    def __init__(self) -> None:
        self._key: Any = None
        self._thread: threading.Thread | None = None
        self._result: Packing | None = None

    def begin(self, key: Any, work: Callable[[], Packing]) -> None:
        if self._thread is not None:
            return

        def run() -> None:
            try:
                self._result = work()
            except (EvenkeelError, RuntimeError):
                self._result = None  # asked for again when it is needed, and the error raised there
        self._key, self._result = key, None
        self._thread = threading.Thread(target=run, name="evenkeel-next-epoch", daemon=True)
        self._thread.start()

    def take(self, key: Any) -> Packing | None:
        """The result, if this was begun and succeeded."""
        if self._thread is None:
            return None
        self._thread.join()
        self._thread = None
        return self._result if self._key == key else None


def distributed() -> Any:
    """torch.distributed where it is initialised, else None; never imports PyTorch by itself."""
    import sys
    module = sys.modules.get("torch.distributed")
    return module if module is not None and module.is_available() and module.is_initialized() else None


def broadcast(work: Callable[[], Packing], group: Any) -> Packing:
    """`work` on rank 0 of the group, its result or its error on all."""
    dist = distributed()
    source = dist.get_global_rank(group, 0) if group is not None else 0
    box: list[Any] = [None]
    if dist.get_rank() == source:
        try:
            box[0] = work()
        except Exception as error:  # noqa: BLE001  The others wait: they must hear of whatever went wrong.
            box[0] = error
    dist.broadcast_object_list(box, src=source, group=group)
    if isinstance(box[0], Packing):
        return box[0]
    raise box[0]
