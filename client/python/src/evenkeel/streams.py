"""Packs of streams of other packages: Hugging Face `datasets`, MosaicML Streaming, WebDataset, any iterable.

None of them, nor PyTorch, is loaded before a function here needs it. For Megatron-Energon see `evenkeel.energon`.
"""
from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Union

from .online import Lengths, OnlinePacker, Pack
from .online_rule import CapsLike, integer
from .resume import ResumeError

# Where the lengths of a sample are: by column of the caps the key of a number or of something whose len() counts, or a
# function of the sample.
LengthsOf = Union[Mapping[str, Any], Callable[[Any], Lengths]]


def _reader(lengths: LengthsOf, columns: tuple[str, ...]) -> Callable[[Any], Lengths]:
    if callable(lengths):
        return lengths
    if set(lengths) != set(columns):
        raise ValueError(f"lengths has the columns {sorted(lengths)}, the caps {sorted(columns)}")
    keys = [lengths[name] for name in columns]

    def read(sample: Any) -> Lengths:
        values = [sample[key] for key in keys]
        return [len(value) if hasattr(value, "__len__") else value for value in values]
    return read


class PackedStream:
    """The packs of one rank, from a stream. Each iteration packs the stream once more.

    It has state_dict and load_state_dict, so torchdata's StatefulDataLoader keeps its place. A source with both of its
    own goes on where it was; any other is read from its beginning, and what was read before is left out.

    source: samples. Every worker of a loader has to get its own part of it, as the packages' datasets see to.
    lengths: see LengthsOf. collate: makes a batch of a Pack; by default the Pack itself is the batch.
    rank: which rank's packs, if the packer deals to several: then all ranks read the same stream.
    samples_in_state: whether states hold the samples that wait. Otherwise they hold positions, and `sample_at` finds
        the samples again.
    options: those of OnlinePacker.
    """

    def __init__(self, source: Iterable[Any], caps: CapsLike, lengths: LengthsOf, *, rank: int = 0,
                 collate: Callable[[Pack[Any]], Any] | None = None, samples_in_state: bool = True,
                 sample_at: Callable[[int], Any] | None = None, **options: Any) -> None:
        self._source, self._caps, self._options = source, caps, options
        self._packer: OnlinePacker[Any] = self._new_packer()
        self._rank = integer("rank", rank, 0, self._packer.ranks - 1)
        self._lengths = _reader(lengths, self._packer.columns)
        self._collate, self._samples_in_state, self._sample_at = collate, samples_in_state, sample_at
        self._slot = 0  # packs of this rank that were taken of the next step
        self._resumed = False
        self._skip = 0

    def _new_packer(self) -> OnlinePacker[Any]:
        return OnlinePacker(self._caps, **self._options)

    @property
    def packer(self) -> OnlinePacker[Any]:
        """The packer of this iteration, for its report."""
        return self._packer

    def __iter__(self) -> Iterator[Any]:
        if not self._resumed:
            self._packer, self._slot, self._skip = self._new_packer(), 0, 0
        self._resumed = False
        packer = self._packer
        yield from self._taken(packer)
        for number, sample in enumerate(self._source):
            if number < self._skip:
                continue
            packer.add(sample, self._lengths(sample))
            yield from self._taken(packer)
        packer.flush()
        yield from self._taken(packer)

    def _taken(self, packer: OnlinePacker[Any]) -> Iterator[Any]:
        while packer.ready_steps:
            packs = packer.first_step().of_rank(self._rank)
            for pack in packs[self._slot:]:
                self._slot += 1
                if self._slot == len(packs):  # before the yield, so that a state after it counts this pack
                    packer.drop_step()
                    self._slot = 0
                yield pack if self._collate is None else self._collate(pack)

    def _source_has_state(self) -> bool:
        return hasattr(self._source, "state_dict") and hasattr(self._source, "load_state_dict")

    def state_dict(self) -> dict[str, Any]:
        source: Any = self._source
        return {"packer": self._packer.state_dict(self._samples_in_state), "slot": self._slot,
                "source": source.state_dict() if self._source_has_state() else None}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        try:
            packer_state, slot, source_state = state["packer"], int(state["slot"]), state["source"]
        except (KeyError, TypeError, ValueError) as error:
            raise ResumeError(f"this is no state of a PackedStream: {error!r}") from error
        packer = self._new_packer()
        packer.load_state_dict(packer_state, self._sample_at)
        if not 0 <= slot < packer.packs_per_rank:
            raise ResumeError(f"the state is {slot} packs into a step of {packer.packs_per_rank}")
        if (source_state is not None) != self._source_has_state():
            raise ResumeError("the state is of another kind of source: one of the two has no state_dict")
        source: Any = self._source
        if source_state is not None:
            source.load_state_dict(source_state)
        self._skip = 0 if source_state is not None else packer.added
        self._packer, self._slot, self._resumed = packer, slot, True


def packed(source: Iterable[Any], caps: CapsLike, lengths: LengthsOf, **options: Any) -> PackedStream:
    """Returns a PackedStream, which is a torch.utils.data.IterableDataset if PyTorch is installed."""
    if importlib.util.find_spec("torch") is None:
        return PackedStream(source, caps, lengths, **options)
    made: PackedStream = importlib.import_module("evenkeel.torch_stream").TorchPackedStream(
        source, caps, lengths, **options)
    return made


def huggingface(dataset: Any, caps: CapsLike, lengths: LengthsOf, **options: Any) -> PackedStream:
    """Packs a datasets.IterableDataset. It divides its shards among the workers of a loader. For a stream of its own
    for each rank, pass datasets.distributed.split_dataset_by_node(dataset, rank, world_size)."""
    kind = importlib.import_module("datasets").IterableDataset
    if not isinstance(dataset, kind):
        raise TypeError(f"dataset is a {type(dataset).__name__}: a datasets.IterableDataset is needed "
                        "(Dataset.to_iterable_dataset(); but if lengths are known, EvenkeelBatchSampler packs better)")
    return packed(dataset, caps, lengths, **options)


class _MosaicSource:
    """One epoch of a StreamingDataset, the one that its next iteration gives or that a state names."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self._epoch: int | None = None
        self._skip = 0
        self._read = 0

    def __iter__(self) -> Iterator[Any]:
        if self._epoch is not None and self._skip:
            self._dataset.next_epoch = self._epoch
        self._epoch, self._read = self._dataset.next_epoch, 0
        for sample in self._dataset:
            self._read += 1
            if self._read > self._skip:
                yield sample
        self._skip = 0

    def state_dict(self) -> dict[str, Any]:
        return {"epoch": self._dataset.next_epoch if self._epoch is None else self._epoch, "read": self._read}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._epoch, self._skip = int(state["epoch"]), int(state["read"])
        self._read = self._skip


def mosaic(dataset: Any, caps: CapsLike, lengths: LengthsOf, **options: Any) -> PackedStream:
    """Packs a streaming.StreamingDataset (MosaicML Streaming), which divides itself among ranks and workers, so each
    rank packs for itself. Its own resuming counts samples of all ranks alike, but ranks read different numbers of them;
    so a resumed worker reads its part of the epoch from the beginning and leaves out what it had read."""
    kind = importlib.import_module("streaming").StreamingDataset
    if not isinstance(dataset, kind):
        raise TypeError(f"dataset is a {type(dataset).__name__}: a streaming.StreamingDataset is needed")
    stream = packed(_MosaicSource(dataset), caps, lengths, **options)
    if stream.packer.ranks != 1:
        raise ValueError(f"ranks is {stream.packer.ranks}: a StreamingDataset gives each rank other samples, so each "
                         "packs for itself (ranks=1)")
    return stream


def webdataset_stage(caps: CapsLike, lengths: LengthsOf, **options: Any) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Returns a stage for webdataset: WebDataset(urls).decode().compose(webdataset_stage(...)). WebDataset keeps no
    place in its stream; for a state, wrap the pipeline itself: packed(pipeline, ...)."""
    PackedStream((), caps, lengths, **options)  # refuses wrong arguments here, not in a worker

    def stage(samples: Iterable[Any]) -> Iterator[Any]:
        return iter(PackedStream(samples, caps, lengths, **options))
    return stage
