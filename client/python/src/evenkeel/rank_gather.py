"""Brings the windows of all ranks to rank 0. No rank waits for another, and no collective is used."""
from __future__ import annotations

import os
import sys
import time
from typing import Any, Protocol


class Gather(Protocol):
    def put(self, rank: int, data: bytes) -> None:
        """Replaces the earlier value of the rank."""

    def get(self, rank: int) -> bytes | None:
        """Returns the last value of the rank. None: it has put none so far."""


class FolderGather:
    """Through files of a folder that all ranks share."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = os.fspath(folder)

    def put(self, rank: int, data: bytes) -> None:
        os.makedirs(self._folder, exist_ok=True)
        path = os.path.join(self._folder, f"rank-{rank}")
        with open(path + ".new", "wb") as file:
            file.write(data)
        os.replace(path + ".new", path)

    def get(self, rank: int) -> bytes | None:
        try:
            with open(os.path.join(self._folder, f"rank-{rank}"), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None


class StoreGather:
    """Through the key-value store with which torch.distributed began. It is a client of its own where PyTorch can clone
    one, so that no call of the training waits for ours."""

    def __init__(self, store: Any, prefix: str = "evenkeel-steps") -> None:
        try:
            self._store = store.clone()
        except (AttributeError, RuntimeError, NotImplementedError):  # an older PyTorch, or a store of files
            self._store = store
        self._prefix = prefix

    def put(self, rank: int, data: bytes) -> None:
        self._store.set(f"{self._prefix}/{rank}", data)

    def get(self, rank: int) -> bytes | None:
        key = f"{self._prefix}/{rank}"
        # `check` returns at once, and `get` of a key that is there does too.
        return bytes(self._store.get(key)) if self._store.check([key]) else None


def distributed() -> Any:
    """Returns torch.distributed if the process trains with it. Imports nothing."""
    module = sys.modules.get("torch.distributed")
    try:
        return module if module is not None and module.is_available() and module.is_initialized() else None
    except Exception:  # noqa: BLE001  A PyTorch without it.
        return None


def own_rank() -> tuple[int, int]:
    """Returns the rank of this process and the number of ranks."""
    module = distributed()
    if module is not None:
        return int(module.get_rank()), int(module.get_world_size())
    try:
        return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    except ValueError:
        return 0, 1


def default_gather() -> Gather | None:
    module = distributed()
    if module is None or module.get_world_size() == 1:
        return None
    return StoreGather(module.distributed_c10d._get_default_store())


def collect(gather: Gather, world_size: int, own: int, begun: float, wait_seconds: float,
            stop_early: Any = None) -> dict[int, bytes]:
    """Returns the values of the other ranks, waiting at most `wait_seconds` from `begun` for those that have not."""
    found: dict[int, bytes] = {}
    missing = [rank for rank in range(world_size) if rank != own]
    while True:
        for rank in list(missing):
            data = gather.get(rank)
            if data is not None:
                found[rank] = data
                missing.remove(rank)
        if not missing or time.monotonic() - begun > wait_seconds:
            return found
        if stop_early is not None and stop_early():
            return found
        time.sleep(0.05)
