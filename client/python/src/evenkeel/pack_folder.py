"""Packs of a dataset in a folder, as evenkeel.ray writes them. Reading needs only NumPy: any rank reads any pack.

    manifest.json                 what was packed, and how near to the fewest packs; written last
    packs/000012.offsets.npy      of partition 12: pack p holds ids[offsets[p]:offsets[p + 1]]
    packs/000012.ids.npy          ids of samples, pack by pack
    packs/000012.sums.npy         a row for each pack: its units, if there are any, and its tokens
    epoch-0/manifest.json         how the packs are dealt; written last
    epoch-0/000003.npy            steps x ranks x packs per rank: numbers of packs, or -1
"""
from __future__ import annotations

import bisect
import functools
import json
import os
from collections.abc import Iterator
from typing import Any, Union

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]
Path = Union[str, "os.PathLike[str]"]

VERSION = 1
MANIFEST = "manifest.json"


def write_json(path: str, values: dict[str, Any]) -> None:
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(values, file, indent=1)
    os.replace(path + ".part", path)


def save(path: str, array: npt.NDArray[Any]) -> None:
    """Writes a file as a whole or not at all, so that a task may run again, or twice at a time."""
    part = f"{path}.{os.getpid()}.part"
    with open(part, "wb") as file:
        np.save(file, array, allow_pickle=False)
    os.replace(part, path)


def pack_file(folder: str, partition: int, what: str) -> str:
    return os.path.join(folder, "packs", f"{partition:06}.{what}.npy")


def epoch_folder(folder: str, epoch: int) -> str:
    return os.path.join(folder, f"epoch-{epoch}")


def step_file(folder: str, epoch: int, number: int) -> str:
    return os.path.join(epoch_folder(folder, epoch), f"{number:06}.npy")


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            values: dict[str, Any] = json.load(file)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} is not there: it is written when all packs, or all steps, are") from None
    if values.get("version") != VERSION:
        raise ValueError(f"{path} has version {values.get('version')}: this release reads version {VERSION}")
    return values


class PackFolder:
    """The packs in a folder, numbered over all partitions from 0."""

    def __init__(self, folder: Path) -> None:
        self.folder = os.path.abspath(os.fspath(folder))
        self.manifest = _read(os.path.join(self.folder, MANIFEST))
        self.first_pack = [0]  # of each partition, and the end of the last
        for partition in self.manifest["partitions"]:
            self.first_pack.append(self.first_pack[-1] + partition["packs"])
        self._open = functools.lru_cache(64)(lambda path: np.load(path, mmap_mode="r", allow_pickle=False))

    @property
    def pack_count(self) -> int:
        return self.first_pack[-1]

    @property
    def sample_count(self) -> int:
        return int(self.manifest["samples"])

    @property
    def lower_bound(self) -> int:
        """No packing of all samples, by partition or at once, has fewer packs."""
        return int(self.manifest["lower_bound"])

    @property
    def excess(self) -> float:
        """Upper bound on the share of packs beyond those of packing all samples at once."""
        return self.pack_count / self.lower_bound - 1 if self.lower_bound else 0.0

    @property
    def digest(self) -> str:
        """Equal if the packs are."""
        return str(self.manifest["digest"])

    def pack(self, number: int) -> Int64s:
        """Returns the ids of a pack's samples."""
        if not 0 <= number < self.pack_count:
            raise IndexError(f"pack {number} of {self.pack_count}")
        partition = bisect.bisect_right(self.first_pack, number) - 1
        at = number - self.first_pack[partition]
        begin, end = self._open(pack_file(self.folder, partition, "offsets"))[at:at + 2]
        return np.array(self._open(pack_file(self.folder, partition, "ids"))[begin:end], np.int64)

    def epoch(self, epoch: int = 0) -> PackEpoch:
        """Returns the order of an epoch, which evenkeel.ray.order has written."""
        return PackEpoch(self, epoch)


class PackEpoch:
    """The packs of an epoch by step, rank and slot."""

    def __init__(self, packs: PackFolder, epoch: int) -> None:
        self.packs, self.epoch = packs, epoch
        self.manifest = _read(os.path.join(epoch_folder(packs.folder, epoch), MANIFEST))
        if self.manifest["digest"] != packs.digest:
            raise ValueError(f"the order of epoch {epoch} is of other packs")
        self._first_step = [0]
        for steps in self.manifest["steps"]:
            self._first_step.append(self._first_step[-1] + steps)

    @property
    def step_count(self) -> int:
        return self._first_step[-1]

    @property
    def ranks(self) -> int:
        return int(self.manifest["data_parallel"])

    def step(self, index: int) -> Int64s:
        """Returns ranks x packs per rank: numbers of packs. -1, only in the last step, is a missing pack."""
        if not 0 <= index < self.step_count:
            raise IndexError(f"step {index} of {self.step_count}")
        file = bisect.bisect_right(self._first_step, index) - 1
        rows = self.packs._open(step_file(self.packs.folder, self.epoch, file))
        return np.array(rows[index - self._first_step[file]], np.int64)

    def of_rank(self, rank: int, first_step: int = 0) -> Iterator[list[Int64s]]:
        """Yields, step by step, the ids of each pack of a rank. A missing pack is empty: run a dummy of weight zero."""
        if not 0 <= rank < self.ranks:
            raise ValueError(f"rank is {rank}: must be 0 to {self.ranks - 1}")
        for index in range(first_step, self.step_count):
            yield [self.packs.pack(int(number)) if number >= 0 else np.empty(0, np.int64)
                   for number in self.step(index)[rank]]
