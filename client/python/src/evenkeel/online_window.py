"""Packs one window of samples: as few packs as possible, none over a cap, all alike in every column.

Everything is a function of the arguments: sums are integers held exactly by float64, costs are made of single
operations of IEEE 754, and ties go to the first. The method is in docs/ALGORITHMS.md, "Online packing".
"""
from __future__ import annotations

import bisect
import dataclasses

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_LOOSE = 32.0  # what the square of an excess over a cap costs against that of a sum
_MOST_SLOTS = 9  # samples of a pack that a round looks at
_LEVEL_ROUNDS, _CONCENTRATE_ROUNDS, _LEAST_GAIN = 48, 200, 1e-12


def shuffled(count: int, seed: int) -> Ints:
    """Returns 0 to count - 1 in random order, by keys of SplitMix64 (Steele et al. 2014), equal under all releases."""
    z = (np.arange(1, count + 1, dtype=np.uint64) + np.uint64(seed * 0x632be59bd9b4e019 % (1 << 64)))
    z = z * np.uint64(0x9e3779b97f4a7c15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
    return np.argsort(z ^ (z >> np.uint64(31)), kind="stable").astype(np.int64)


@dataclasses.dataclass(frozen=True)
class WindowPacks:
    """Packs of a window, as indices of its samples, and the samples that wait for the next window."""
    packs: list[list[int]]
    left: list[int]


class _Weights:
    """The samples of a window: one row of numbers for each column, with a last sample that weighs nothing."""

    def __init__(self, columns: Ints, caps: Ints) -> None:
        self.count = len(columns)
        self.rows: list[Floats] = [np.append(columns[:, c], 0).astype(np.float64) for c in range(columns.shape[1])]
        self.caps = [float(cap) for cap in caps]
        self.share = np.zeros(self.count + 1)  # of the fullest column, and a little of the others, to order samples
        for row, cap in zip(self.rows, self.caps):
            self.share = np.maximum(self.share, row / cap)


class _Packs:
    """Packs as rows of a table, filled up with the sample that weighs nothing."""

    def __init__(self, weights: _Weights, table: Ints) -> None:
        self.weights = weights
        self.table = table
        self.sums: list[Floats] = [row[table].sum(axis=1) for row in weights.rows]
        self.counts: Ints = (table != weights.count).sum(axis=1)
        self._close_gaps(np.arange(len(table)))

    @staticmethod
    def of(weights: _Weights, packs: list[list[int]]) -> _Packs:
        slots = max(map(len, packs), default=0) + 1
        table = np.full((len(packs), slots), weights.count, np.int64)
        for row, pack in zip(table, packs):
            row[:len(pack)] = pack
        return _Packs(weights, table)

    @staticmethod
    def dealt(weights: _Weights, count: int) -> _Packs:
        """Deals the samples to `count` packs, the largest first, in rounds: the largest goes to the emptiest."""
        order = np.argsort(-weights.share[:-1], kind="stable")
        rounds = -(-weights.count // count)
        table = np.full((count, rounds + 1), weights.count, np.int64)
        total = np.zeros(count)
        for turn in range(rounds):
            some = order[turn * count:(turn + 1) * count]
            rows = np.argsort(total, kind="stable")[:some.size]
            table[rows, turn] = some
            total[rows] += weights.share[some]
        return _Packs(weights, table)

    def lists(self) -> list[list[int]]:
        none = self.weights.count
        return [[i for i in row if i != none] for row in self.table.tolist()]

    def over(self) -> Bools:
        bad = np.zeros(len(self.table), np.bool_)
        for values, cap in zip(self.sums, self.weights.caps):
            bad |= values > cap
        return bad

    def exchange(self, first: Ints, second: Ints, turn: int, wishes: list[float], strict: bool) -> int:
        """Each pair of packs exchanges the two samples, or hands on the one, that help most. Returns how many did.

        `wishes` has a factor for the squares of each column: packs get alike if it is positive, unlike if negative.
        Strict: no pack may exceed a cap, and none does. Otherwise what exceeds a cap costs more than unlike packs do.
        """
        table, weights = self.table, self.weights
        slots_one, slots_two = self._slots(first, turn), self._slots(second, turn)
        one, two = table[first[:, None], slots_one], table[second[:, None], slots_two]
        looked = slots_one.shape[1]
        cost = np.zeros((first.size, looked, looked))
        barred = np.zeros(cost.shape, np.bool_)
        for row, sums, cap, wish in zip(weights.rows, self.sums, weights.caps, wishes):
            change = row[two][:, None, :] - row[one][:, :, None]  # to the first pack; the second loses it
            room_one, room_two = (cap - sums[pack][:, None, None] for pack in (first, second))
            if wish:  # (x + d)^2 + (y - d)^2 is more than x^2 + y^2 by 2 d (d + x - y)
                step = change + (room_two - room_one)
                step *= change
                step *= wish / (cap * cap)
                cost += step
            if strict:
                barred |= change > room_one
                barred |= change < -room_two
                continue
            for excess in (change - room_one, -change - room_two):
                np.maximum(excess, 0.0, out=excess)
                excess *= excess
                excess *= _LOOSE / (cap * cap)
                cost += excess
            before = np.maximum(-room_one, 0.0) ** 2 + np.maximum(-room_two, 0.0) ** 2
            cost -= before * (_LOOSE / (cap * cap))
        if strict:
            cost[barred] = np.inf
        flat = cost.reshape(first.size, -1)
        best = flat.argmin(axis=1)
        better = np.flatnonzero(flat[np.arange(first.size), best] < -_LEAST_GAIN)
        if not better.size:
            return 0
        a, b = first[better], second[better]
        slot_a = slots_one[better, best[better] // looked]
        slot_b = slots_two[better, best[better] % looked]
        moved = table[a, slot_a].copy()
        table[a, slot_a] = table[b, slot_b]
        table[b, slot_b] = moved
        for row, sums in zip(weights.rows, self.sums):
            sums[a] = row[table[a]].sum(axis=1)
            sums[b] = row[table[b]].sum(axis=1)
        self._close_gaps(np.concatenate([a, b]))
        return int(better.size)

    def _slots(self, packs: Ints, turn: int) -> Ints:
        """Returns the slots of each pack that a round looks at, an empty one last."""
        look = np.arange(min(self.table.shape[1] - 1, _MOST_SLOTS))
        slots: Ints = (look + turn * 5) % np.maximum(self.counts[packs], 1)[:, None]
        return np.concatenate([slots, np.full((packs.size, 1), self.table.shape[1] - 1)], axis=1)

    def _close_gaps(self, changed: Ints) -> None:
        """Moves the samples of packs to their first slots, and sees to it that every pack has an empty one."""
        self.table[changed] = np.sort(self.table[changed], axis=1)  # the sample that weighs nothing has the last number
        self.counts[changed] = (self.table[changed] != self.weights.count).sum(axis=1)
        slots = int(self.counts.max()) + 1
        if slots > self.table.shape[1]:
            extra = np.full((len(self.table), 1), self.weights.count)
            self.table = np.concatenate([self.table, extra], axis=1)

    def level(self, strict: bool) -> None:
        """Pairs opposite packs in the order of one column after another, until few exchanges help."""
        half, columns = len(self.table) // 2, len(self.sums)
        if half == 0:
            return
        idle = 0
        for turn in range(_LEVEL_ROUNDS):
            which, again = turn % (columns + 1), turn // (columns + 1)
            key = self.sums[which] if which < columns else self._fullness()
            order = np.argsort(key, kind="stable")
            low, high = order[:half], order[::-1][:half]
            if again % 2:  # also pairs that are not quite opposite
                high = np.roll(high, again * 5 + 1)
            done = self.exchange(low, high, turn, [1.0] * columns, strict)
            idle = 0 if done * 50 > half else idle + 1
            if idle > columns:
                break

    def _fullness(self) -> Floats:
        """Returns how full packs are: the sum of all columns."""
        total = np.zeros(len(self.table))
        for values, cap in zip(self.sums, self.weights.caps):
            total += values / cap
        return total

    def concentrate(self) -> None:
        """Makes full packs fuller and empty ones emptier in the column that fills most, between random pairs."""
        volumes = [float(s.sum()) / cap for s, cap in zip(self.sums, self.weights.caps)]
        fullest = max(range(len(volumes)), key=lambda c: volumes[c])
        wishes = [-1.0 if c == fullest else 0.0 for c in range(len(volumes))]
        half, idle = len(self.table) // 2, 0
        for turn in range(_CONCENTRATE_ROUNDS):
            order = shuffled(len(self.table), turn)
            done = self.exchange(order[:half], order[half:2 * half], turn, wishes, strict=True)
            idle = 0 if done * 250 > half else idle + 1
            if idle > 8:
                break


class _Fitter:
    """Best fit: open packs by the rest of the first column, and then by the rest of the second.

    `packs` are begun ones. Columns after the second are only checked.
    """

    def __init__(self, weights: _Weights, packs: list[list[int]], columns: Ints, caps: Ints) -> None:
        self._columns: list[list[int]] = columns.tolist()
        self._caps: list[int] = caps.tolist()
        self.packs = packs
        self._left: list[list[int]] = []
        self._many = len(self._caps)
        self._grain = max(1, -(-self._caps[0] // 48))  # 48 shelves at most
        self._shelves: list[list[tuple[int, int]]] = [[] for _ in range(self._caps[0] // self._grain + 1)]
        self._least = [int(row[:-1].min()) if weights.count else 0 for row in weights.rows]
        for number, pack in enumerate(packs):
            left = list(self._caps)
            for sample in pack:
                for c, value in enumerate(self._columns[sample]):
                    left[c] -= value
            self._left.append(left)
            self._put(number)

    def _put(self, number: int) -> None:
        left = self._left[number]
        for c in range(self._many):
            if left[c] < self._least[c]:
                return  # nothing fits any more
        bisect.insort(self._shelves[left[0] // self._grain], (left[-1], number))

    def add(self, sample: int) -> None:
        need = self._columns[sample]
        first, last = need[0], need[-1]
        for shelf in self._shelves[first // self._grain:]:
            if not shelf:
                continue
            for at in range(bisect.bisect_left(shelf, (last, -1)), len(shelf)):
                number = shelf[at][1]
                left = self._left[number]
                if left[0] >= first and (self._many < 3 or all(left[c] >= need[c] for c in range(self._many))):
                    del shelf[at]
                    self.packs[number].append(sample)
                    for c in range(self._many):
                        left[c] -= need[c]
                    self._put(number)
                    return
        self.packs.append([sample])
        self._left.append([cap - value for cap, value in zip(self._caps, need)])
        self._put(len(self.packs) - 1)


def _drop_excess(packs: list[list[int]], over: Bools, columns: Ints, caps: Ints, share: Floats,
                 must: Bools) -> list[int]:
    """Takes samples out of packs over a cap: the smallest sample that suffices, or else the largest and so on. Takes
    samples that must not wait only if there are no others."""
    pool: list[int] = []
    for number in np.flatnonzero(over).tolist():
        pack = packs[number]
        excess = columns[pack].sum(axis=0) - caps
        while (excess > 0).any():
            enough = [i for i in pack if (columns[i] >= excess).all()]
            chosen = (min(enough, key=lambda i: (must[i], share[i], i)) if enough
                      else min(pack, key=lambda i: (must[i], -share[i], i)))
            pack.remove(chosen)
            pool.append(chosen)
            excess = excess - columns[chosen]
    return pool


def _by_best_fit(weights: _Weights, columns: Ints, caps: Ints, packs: list[list[int]], samples: list[int]) -> None:
    fitter = _Fitter(weights, packs, columns, caps)
    for sample in sorted(samples, key=lambda i: (-weights.share[i], i)):
        fitter.add(sample)


def pack_window(columns: Ints, caps: Ints, must: Bools, last: bool) -> WindowPacks:
    """Packs the samples (rows of `columns`, none over a cap). Samples may be left for the next window unless they
    `must` not, or this is the last one."""
    if not len(columns):
        return WindowPacks([], [])
    weights = _Weights(columns, caps)
    totals = columns.sum(axis=0)
    count = max(1, int((-(-totals // caps) if last else totals // caps).max()))
    dealt = _Packs.dealt(weights, count)
    dealt.level(strict=False)
    packs = dealt.lists()
    pool = _drop_excess(packs, dealt.over(), columns, caps, weights.share, must)
    kept = len(packs)
    _by_best_fit(weights, columns, caps, packs, pool)
    fitted: list[list[int]] = []
    if len(packs) > kept + 1:
        _by_best_fit(weights, columns, caps, fitted, list(range(weights.count)))
        if len(fitted) < len(packs):
            packs = fitted
    if len(packs) > count + count // 100 + 1:
        packs = _fewer(packs, weights, columns, caps)
    left = [] if last else _taken_back(packs, weights, must)
    result = _Packs.of(weights, [p for p in packs if p])
    result.level(strict=True)
    return WindowPacks(result.lists(), left)


def _fewer(packs: list[list[int]], weights: _Weights, columns: Ints, caps: Ints) -> list[list[int]]:
    """Concentrates the packs, packs the emptiest fifth anew, and concentrates once more."""
    packs = _concentrated(weights, packs)
    order = sorted(range(len(packs)), key=lambda n: (float(weights.share[packs[n]].sum()), n))
    out = set(order[:len(packs) // 5])
    tried = [list(pack) for n, pack in enumerate(packs) if n not in out]
    _by_best_fit(weights, columns, caps, tried, [sample for n in sorted(out) for sample in packs[n]])
    return _concentrated(weights, tried) if len(tried) <= len(packs) else packs


def _concentrated(weights: _Weights, packs: list[list[int]]) -> list[list[int]]:
    table = _Packs.of(weights, packs)
    table.concentrate()
    return [pack for pack in table.lists() if pack]


def _taken_back(packs: list[list[int]], weights: _Weights, must: Bools) -> list[int]:
    """Takes the emptiest packs apart, for the next window: those that hold less than others could, 2% at most."""
    fill = np.array([max(float(row[p].sum()) / cap for row, cap in zip(weights.rows, weights.caps)) for p in packs])
    order = np.argsort(fill, kind="stable").tolist()
    typical = float(fill[order[len(order) // 2]])
    left: list[int] = []
    for number in order[:max(1, len(packs) // 50)]:
        if fill[number] >= 0.97 * typical or must[packs[number]].any():
            continue
        left += packs[number]
        packs[number] = []
    return sorted(left)
