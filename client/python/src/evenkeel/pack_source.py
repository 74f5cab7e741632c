"""The source of a sampler's packs: a server that every rank asks, or that one rank asks for all."""
from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Literal, Union

import numpy as np

from . import ahead
from .client import Client
from .packing import Int64s, Packing, PackSettings, Samples, start_message
from .sampler_state import Segment, check_packing
from .v1 import packing_pb2

# An address, or a function that makes a Client (such as one with TLS), or a Client, which then stays connected.
Server = Union[str, Callable[[], Client], Client]

Share = Literal["auto", "each", "broadcast"]


class PackSource:
    """Packings of one dataset by one rule."""

    def __init__(self, server: Server, settings: PackSettings, samples: Samples, timeout: float | None,
                 sequence_parallel_group: int = 1) -> None:
        if not isinstance(server, (str, Client)) and not callable(server):
            raise TypeError(f"server is a {type(server).__name__}: must be an address, a Client or a function that "
                            "makes one")
        self._server, self._settings, self._samples = server, settings, samples
        self._timeout = timeout
        self._sequence_parallel_group = sequence_parallel_group
        self._open: Client | None = None

    def fetch(self, epoch: int, world_size: int, packs_per_rank: int,
              segments: tuple[Segment, ...] = ()) -> Packing:
        """Returns the packing of an epoch. After `segments`, returns that of the samples that they left, with indices
        into the whole dataset."""
        if isinstance(self._server, Client):
            return self._fetch(self._server, epoch, world_size, packs_per_rank, segments)
        # A connection is held only while it is used, so processes that fork afterwards inherit nothing.
        before = set(threading.enumerate())
        made = Client(self._server, wait_for_ready=True) if isinstance(self._server, str) else self._server()
        self._open = made
        try:
            with made as client:
                return self._fetch(client, epoch, world_size, packs_per_rank, segments)
        finally:
            self._open = None
            ahead.wait_for_grpc(before)

    def cancel(self) -> None:
        """Ends the call that `fetch` waits for in another thread. A given Client stays open, and is waited for."""
        client = self._open
        if client is not None:
            client.close()

    def _fetch(self, client: Client, epoch: int, world_size: int, packs_per_rank: int,
               segments: tuple[Segment, ...]) -> Packing:
        settings, left = self._settings, np.arange(self._samples.tokens.size)
        for ranks, packs, steps, digest in segments:
            packing = self._ask(client, settings, epoch, ranks, packs, left)
            check_packing(digest, packing.digest, epoch)
            # Caps that were derived from the whole dataset stay unchanged.
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


def distributed() -> Any:
    """Returns torch.distributed if it is initialised, otherwise None. Never imports PyTorch."""
    import sys
    module = sys.modules.get("torch.distributed")
    return module if module is not None and module.is_available() and module.is_initialized() else None


def broadcast(work: Callable[[], Packing], group: Any, question: Mapping[str, Any]) -> Packing:
    """Runs `work` on rank 0 of the group, and returns its result or raises its error on all ranks. `question` is what
    it answers. A rank that asks another question raises ValueError."""
    dist = distributed()
    source = dist.get_global_rank(group, 0) if group is not None else 0
    box: list[Any] = [dict(question), None]
    if dist.get_rank() == source:
        try:
            box[1] = work()
        except Exception as error:  # noqa: BLE001  The others wait: they must hear of whatever went wrong.
            box[1] = error
    dist.broadcast_object_list(box, src=source, group=group)
    differing = [f"{name} {value!r}, rank 0 has {box[0].get(name)!r}" for name, value in question.items()
                 if box[0].get(name) != value]
    if differing:
        raise ValueError(f"rank {dist.get_rank(group)} asks for other packs than rank 0: {'; '.join(differing)}")
    if isinstance(box[1], Packing):
        return box[1]
    raise box[1]
