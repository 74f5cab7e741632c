"""Online packing: balanced packs of a stream whose lengths are not known beforehand. It needs only NumPy.

    packer = evenkeel.OnlinePacker({"units": 9, "tokens": 4096}, ranks=8)
    for step in packer.pack((sample, (sample["tiles"], len(sample["ids"]))) for sample in stream):
        for pack in step.of_rank(rank):
            train(pack.samples)

The method is in docs/ALGORITHMS.md, "Online packing".
"""
from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, Union

import numpy as np

from . import online_deal, online_rule, online_window
from .online_rule import CapsLike, Oversize
from .resume import ResumeError

S = TypeVar("S")
FORMAT = 1

# Lengths of a sample: a number for each column in the order of the caps, a mapping by column, or, if there is one
# column, a number.
Lengths = Union[int, Sequence[Any], Mapping[str, Any]]


class OversizeError(ValueError):
    """A sample is over a cap on its own."""


@dataclasses.dataclass(frozen=True)
class Pack(Generic[S]):
    """Samples that are laid end to end in one micro-batch."""
    samples: list[S]
    positions: list[int]  # of the samples in the stream, from 0
    sums: dict[str, int]  # by column
    is_dummy: bool = False  # stands in for a pack that is not there, so that all ranks do the same: give it no weight


@dataclasses.dataclass(frozen=True)
class Step(Generic[S]):
    """The packs of a step: packs[rank][slot], None only in the last step of a stream."""
    index: int
    packs: list[list[Pack[S] | None]]

    def of_rank(self, rank: int) -> list[Pack[S]]:
        """Returns the micro-batches of a rank. Where a pack is missing, the smallest of the step stands in."""
        there = [pack for row in self.packs for pack in row if pack is not None]
        smallest = min(there, key=lambda pack: (list(pack.sums.values())[-1], pack.positions))
        return [pack if pack is not None else dataclasses.replace(smallest, is_dummy=True)
                for pack in self.packs[rank]]

    def mean(self, column: str) -> float:
        """Returns the mean of a column over all slots of the step. Each rank multiplies the sum of its losses by
        1 / (packs per rank x mean of the loss tokens), and every token weighs the same."""
        slots = [pack for row in self.packs for pack in row]
        return sum(pack.sums[column] for pack in slots if pack is not None) / len(slots)


@dataclasses.dataclass(frozen=True)
class OnlineReport:
    """The results of packing so far."""
    samples: int  # in packs
    packs: int
    bound: int  # packs that no packing of these samples can go below, by volume
    price: float  # packs / bound - 1
    fill: dict[str, float]  # share of the caps that packs use
    steps: int
    dist_ratio: dict[str, float]  # mean over whole steps
    windows: int
    longest_wait: int  # windows in which a sample was looked at before it was packed, less one
    oversize: int


@dataclasses.dataclass
class _Counts:
    """Sums for the report."""
    samples: int = 0
    packs: int = 0
    steps: int = 0
    whole_steps: int = 0
    windows: int = 0
    longest_wait: int = 0
    oversize: int = 0
    added: int = 0
    sums: list[int] = dataclasses.field(default_factory=list)
    short: list[float] = dataclasses.field(default_factory=list)


class OnlinePacker(Generic[S]):
    """Packs a stream window by window.

    caps: the most that a pack holds, by column ({"units": 9, "tokens": 4096}), or a rule or a plan, which also gives
        ranks, packs_per_rank, seed, order_window and oversize unless they are passed.
    window: samples that are packed together. Some wait for the next window if that makes packs fuller.
    ranks, packs_per_rank: a step has ranks x packs_per_rank packs.
    order_window: steps whose packs may change places, so that those of a step are alike; 1 leaves them in random order.
    max_wait: maximum number of windows for which a sample waits for its pack.
    oversize: what happens to a sample that exceeds a cap on its own. "refuse" raises OversizeError and changes nothing;
        "alone" makes a pack of it; a function is called with the sample and its lengths, and the sample is in no pack.

    The packs are a function of these arguments and the lengths in their order.
    """

    def __init__(self, caps: CapsLike, *, window: int = 4096, ranks: int | None = None,
                 packs_per_rank: int | None = None, seed: int | None = None, order_window: int | None = None,
                 max_wait: int = 4, oversize: Oversize | None = None) -> None:
        self._settings = online_rule.settings_of(
            caps, window=window, ranks=ranks, packs_per_rank=packs_per_rank, seed=seed, order_window=order_window,
            max_wait=max_wait, oversize=oversize)
        self._caps = np.array(self._settings.caps, np.int64)
        self._held: dict[int, tuple[S, tuple[int, ...]]] = {}  # samples and lengths by position, until they are taken
        self._waiting: list[int] = []
        self._waits: dict[int, int] = {}  # windows that a waiting sample was left by, if any
        self._volume = [0] * len(self._settings.columns)  # of the waiting samples
        self._ready: list[list[int]] = []  # packs that are not dealt yet, the oldest first
        self._steps: deque[list[list[list[int] | None]]] = deque()
        self._dealt = 0  # how often packs were dealt
        self._flushed = False
        self._counts = self._no_counts()

    def _no_counts(self) -> _Counts:
        zeros = [0] * len(self._settings.columns)
        return _Counts(sums=list(zeros), short=[0.0 for _ in zeros])

    @property
    def columns(self) -> tuple[str, ...]:
        return self._settings.columns

    @property
    def ranks(self) -> int:
        return self._settings.ranks

    def add(self, sample: S, lengths: Lengths) -> None:
        """Adds a sample. A full window is packed at once; `steps` then has its steps."""
        if self._flushed:
            raise RuntimeError("the stream has ended (flush): make a new packer for the next one")
        position = self._counts.added
        values = self._values(position, lengths)
        over = next((c for c, value in enumerate(values) if value > self._settings.caps[c]), None)
        if over is not None and not self._pass_oversize(sample, position, values, over):
            return
        self._counts.added += 1
        self._held[position] = (sample, values)
        if over is not None:
            self._ready.append([position])
            return
        self._waiting.append(position)
        for c, value in enumerate(values):
            self._volume[c] += value
        # Samples that do not fill a pack wait on, for any window: a pack has to have them all at some time.
        if len(self._waiting) >= self._settings.window and any(
                volume >= cap for volume, cap in zip(self._volume, self._settings.caps)):
            self._pack_window(last=False)
            self._deal(last=False)

    def _pass_oversize(self, sample: S, position: int, values: tuple[int, ...], over: int) -> bool:
        """Returns whether the sample gets a pack of its own."""
        policy = self._settings.oversize
        if policy == "refuse":
            name = self._settings.columns[over]
            raise OversizeError(f"sample {position} has {values[over]} {name}, a pack holds "
                                f"{self._settings.caps[over]}: "
                                'shorten it, or choose oversize="alone" or a function that takes such samples')
        self._counts.oversize += 1
        if callable(policy):
            self._counts.added += 1
            policy(sample, values)
            return False
        return True

    def _values(self, position: int, lengths: Lengths) -> tuple[int, ...]:
        """Checks lengths. Raises before anything has changed."""
        columns = self._settings.columns
        given: Sequence[Any]
        if isinstance(lengths, Mapping):
            if set(lengths) != set(columns):
                raise ValueError(f"sample {position} has the columns {sorted(map(str, lengths))}, the caps "
                                 f"{sorted(columns)}")
            given = [lengths[name] for name in columns]
        elif isinstance(lengths, (Sequence, np.ndarray)) and not isinstance(lengths, (str, bytes)):
            given = lengths
        else:
            given = (lengths,)
        if len(given) != len(columns):
            raise ValueError(f"sample {position} has {len(given)} lengths, the caps are for {len(columns)} columns: "
                             + ", ".join(columns))
        values = tuple(self._value(position, name, value) for name, value in zip(columns, given))
        if not any(values):
            raise ValueError(f"sample {position} has lengths of 0 alone: at least one must be 1 or more")
        return values

    def _value(self, position: int, name: str, value: Any) -> int:
        scales = self._settings.unit_scales
        if name == "units" and scales:
            if not isinstance(value, (Sequence, np.ndarray)) or len(value) != len(scales):
                raise ValueError(f"units of sample {position} are {value!r}: one number for each of the rule's "
                                 f"{len(scales)} encoders is needed")
            return sum(scale * self._value(position, f"units[{i}]", one)
                       for i, (scale, one) in enumerate(zip(scales, value)))
        if type(value) is int and 0 <= value <= online_rule.MAX_CAP:  # most samples
            return value
        return online_rule.integer(f"{name} of sample {position}", value, 0, online_rule.MAX_CAP)

    def flush(self) -> None:
        """Ends the stream: all samples get into packs. The last step may lack some."""
        if self._flushed:
            return
        self._flushed = True
        self._pack_window(last=True)
        self._deal(last=True)

    def steps(self) -> Iterator[Step[S]]:
        """Takes the steps that are ready."""
        while self._steps:
            step = self.first_step()
            self.drop_step()
            yield step

    @property
    def ready_steps(self) -> int:
        return len(self._steps)

    def first_step(self) -> Step[S]:
        """Returns the next step and keeps it."""
        if not self._steps:
            raise IndexError("no step is ready: add samples, or flush at the end of the stream")
        index = self._counts.steps - len(self._steps)
        return Step(index, [[None if pack is None else self._pack_of(pack) for pack in row] for row in self._steps[0]])

    def drop_step(self) -> None:
        """Forgets the next step and its samples: it is done."""
        for row in self._steps.popleft():
            for position in (p for pack in row if pack is not None for p in pack):
                del self._held[position]

    def _pack_of(self, positions: list[int]) -> Pack[S]:
        held = [self._held[position] for position in positions]
        sums = {name: sum(values[c] for _, values in held) for c, name in enumerate(self._settings.columns)}
        return Pack([sample for sample, _ in held], positions, sums)

    def pack(self, stream: Iterable[tuple[S, Lengths]]) -> Iterator[Step[S]]:
        """Packs a whole stream of (sample, lengths), or the samples after those of a loaded state."""
        yield from self.steps()
        for sample, lengths in stream:
            self.add(sample, lengths)
            if self._steps:
                yield from self.steps()
        self.flush()
        yield from self.steps()

    def _pack_window(self, last: bool) -> None:
        positions = self._waiting
        if not positions:
            return
        lengths = np.array([self._held[p][1] for p in positions], np.int64)
        waits = np.array([self._waits.get(p, 0) for p in positions], np.int64)
        made = online_window.pack_window(lengths, self._caps, waits >= self._settings.max_wait - 1, last)
        for number in online_window.shuffled(len(made.packs), self._settings.seed + self._counts.windows).tolist():
            self._ready.append([positions[i] for i in made.packs[number]])
        packed = np.ones(len(positions), np.bool_)
        packed[made.left] = False
        self._counts.longest_wait = max(self._counts.longest_wait, int(waits[packed].max(initial=0)))
        self._counts.windows += 1
        self._waiting = [positions[i] for i in made.left]
        self._waits = {positions[i]: int(waits[i]) + 1 for i in made.left}
        self._volume = [int(v) for v in lengths[made.left].sum(axis=0)]

    def _deal(self, last: bool) -> None:
        settings = self._settings
        slots = settings.ranks * settings.packs_per_rank
        # A rank that packs for itself deals blocks of one size, so that the blocks of all ranks are at the same steps.
        block = settings.order_window * slots if settings.ranks == 1 else len(self._ready) // slots * slots
        while block and len(self._ready) >= block:
            self._deal_steps(self._ready[:block])
            self._ready = self._ready[block:]
        if not last or not self._ready:
            return
        whole = len(self._ready) // slots * slots
        self._deal_steps(self._ready[:whole])
        rest, self._ready = self._ready[whole:], []
        if rest:
            rows: list[list[list[int] | None]] = [[None] * settings.packs_per_rank for _ in range(settings.ranks)]
            for i, pack in enumerate(rest):
                rows[i % settings.ranks][i // settings.ranks] = pack
            self._steps.append(rows)
            self._counts.steps += 1
            self._count(rest)

    def _deal_steps(self, packs: list[list[int]]) -> None:
        if not packs:
            return
        settings, counts = self._settings, self._counts
        sums = self._count(packs)
        dealt = online_deal.deal(sums, self._caps, settings.ranks, settings.packs_per_rank, settings.order_window,
                                 settings.seed + 2 * self._dealt)
        self._dealt += 1
        for step in dealt:
            self._steps.append([[packs[pack] for pack in row] for row in step.tolist()])
            totals = sums[step].sum(axis=1)
            most = totals.max(axis=0)
            for c in range(len(counts.short)):
                counts.short[c] += float(1 - totals[:, c].mean() / most[c]) if most[c] else 0.0
        counts.steps += len(dealt)
        counts.whole_steps += len(dealt)

    def _count(self, packs: list[list[int]]) -> Any:
        """Adds packs to the report. Returns their sums: a row per pack."""
        sums = np.array([[sum(self._held[p][1][c] for p in pack) for c in range(len(self._caps))] for pack in packs],
                        np.int64)
        self._counts.packs += len(packs)
        self._counts.samples += sum(map(len, packs))
        for c, total in enumerate(sums.sum(axis=0).tolist()):
            self._counts.sums[c] += total
        return sums

    def report(self) -> OnlineReport:
        """Returns figures of all steps that were made, taken or not."""
        counts, settings = self._counts, self._settings
        bound = max((-(-total // cap) for total, cap in zip(counts.sums, settings.caps)), default=0)
        return OnlineReport(
            samples=counts.samples, packs=counts.packs, bound=bound, price=counts.packs / bound - 1 if bound else 0.0,
            fill={name: total / (cap * max(1, counts.packs))
                  for name, total, cap in zip(settings.columns, counts.sums, settings.caps)},
            steps=counts.steps,
            dist_ratio={name: short / max(1, counts.whole_steps)
                        for name, short in zip(settings.columns, counts.short)},
            windows=counts.windows, longest_wait=counts.longest_wait, oversize=counts.oversize)

    def state_dict(self, samples: bool = True) -> dict[str, Any]:
        """Returns the place in the stream, as plain values, with the samples that are held (a window of them, and those
        of steps that were not taken). Without `samples`, it has only their positions and lengths, and
        load_state_dict needs a function that finds a sample again."""
        positions = sorted(self._held)
        state = {"format": FORMAT, "settings": self._settings.identity(), "positions": positions,
                 "lengths": [list(self._held[p][1]) for p in positions], "waiting": list(self._waiting),
                 "waits": [self._waits.get(p, 0) for p in self._waiting], "ready": [list(p) for p in self._ready],
                 "steps": [[[None if pack is None else list(pack) for pack in row] for row in step]
                           for step in self._steps],
                 "dealt": self._dealt, "flushed": self._flushed, "counts": dataclasses.asdict(self._counts)}
        if samples:
            state["samples"] = [self._held[p][0] for p in positions]
        return state

    @property
    def packs_per_rank(self) -> int:
        return self._settings.packs_per_rank

    @property
    def added(self) -> int:
        """How many samples of the stream were read: the position of the next one."""
        return self._counts.added

    def load_state_dict(self, state: Mapping[str, Any], sample_at: Callable[[int], S] | None = None) -> None:
        """Goes on from a state: add the samples from position `added` on. sample_at: finds a held sample by its
        position, if the state has none."""
        try:
            if state["format"] != FORMAT:
                raise ResumeError(f"the state has format {state['format']}, this release reads {FORMAT}")
            for name, mine in self._settings.identity().items():
                if state["settings"].get(name) != mine:
                    raise ResumeError(f"the state is of {name} {state['settings'].get(name)}, this packer has {mine}")
            positions = [int(p) for p in state["positions"]]
            lengths = [tuple(int(v) for v in values) for values in state["lengths"]]
            waiting, waits = [int(p) for p in state["waiting"]], [int(w) for w in state["waits"]]
            ready = [[int(p) for p in pack] for pack in state["ready"]]
            steps = [[[None if pack is None else [int(p) for p in pack] for pack in row] for row in step]
                     for step in state["steps"]]
            counts = _Counts(**state["counts"])
            dealt, flushed = int(state["dealt"]), bool(state["flushed"])
        except ResumeError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ResumeError(f"this is no state of an OnlinePacker: {error!r}") from error
        used = waiting + [p for pack in ready for p in pack]
        used += [p for step in steps for row in step for pack in row if pack is not None for p in pack]
        if sorted(used) != positions or len(lengths) != len(positions) or len(waits) != len(waiting):
            raise ResumeError("the state does not hold together: its packs are not made of its samples")
        if "samples" not in state and sample_at is None and positions:
            raise ResumeError("the state has no samples: pass sample_at, a function from a position in the stream to "
                              "its sample, or save with samples=True")
        found = state["samples"] if "samples" in state else [sample_at(p) for p in positions] if sample_at else []
        if len(found) != len(positions):
            raise ResumeError(f"the state has {len(found)} samples for {len(positions)} positions")
        self._held = {p: (sample, values) for p, sample, values in zip(positions, found, lengths)}
        self._waiting, self._ready, self._steps = waiting, ready, deque(steps)
        self._waits = {p: wait for p, wait in zip(waiting, waits) if wait}
        self._volume = [sum(self._held[p][1][c] for p in waiting) for c in range(len(self._settings.columns))]
        self._dealt, self._flushed, self._counts = dealt, flushed, counts
