"""Deals the packs of a stream to steps and ranks."""
from __future__ import annotations

import numpy as np

from .online_window import Floats, Ints, shuffled


def deal(sums: Ints, caps: Ints, ranks: int, packs_per_rank: int, order_window: int, seed: int) -> Ints:
    """Returns packs by step, rank and slot. As many whole steps are made as there are packs for, from the first ones;
    packs of `order_window` steps may change places, so that those of a step are alike. `sums` has a row per pack."""
    slots = ranks * packs_per_rank
    steps = len(sums) // slots
    if steps == 0:
        return np.empty((0, ranks, packs_per_rank), np.int64)
    shares = sums[:steps * slots] / caps
    made: list[Ints] = []
    for at in range(0, steps * slots, order_window * slots):
        made.append(_alike(shares, np.arange(at, min(at + order_window * slots, steps * slots)), slots))
    rows = np.concatenate(made)[shuffled(steps, seed)]
    turns = shuffled(steps * ranks, seed + 1).reshape(steps, ranks)[:, 0] % ranks
    return np.stack([_to_ranks(shares, row, ranks, int(turn)) for row, turn in zip(rows, turns)])


def _alike(shares: Floats, packs: Ints, slots: int) -> Ints:
    """Sorts packs by one column after the other, and cuts them into steps. The first column is the one that leaves the
    least unlike packs."""
    best, least = packs.reshape(-1, slots), np.inf
    if packs.size == slots:
        return best
    if slots == 1:  # ranks that pack for themselves sort alike, so that their n-th packs are alike
        order = np.lexsort([shares[packs, c] for c in reversed(range(shares.shape[1]))])
        alone: Ints = packs[order].reshape(-1, 1)
        return alone
    for first in range(shares.shape[1]):
        others = [c for c in range(shares.shape[1]) if c != first]
        keys = [shares[packs, c] for c in reversed(others)] + [shares[packs, first]]
        rows = packs[np.lexsort(keys)].reshape(-1, slots)
        spread = _short(shares[rows])
        if spread < least:
            best, least = rows, spread
    return best


def _short(shares: Floats) -> float:
    """Returns the sum of the DistRatios of all steps and columns: shares by step, pack and column."""
    most = shares.max(axis=1)
    short = most - shares.mean(axis=1)
    return float(np.divide(short, most, out=np.zeros_like(short), where=most > 0).sum())


def _to_ranks(shares: Floats, packs: Ints, ranks: int, turn: int) -> Ints:
    """Deals the packs of a step, the largest first, in rounds: the largest goes to the rank with the least so far."""
    per_rank = packs.size // ranks
    if per_rank == 1:
        return np.roll(packs, turn).reshape(ranks, 1)
    total = shares[packs].sum(axis=1)
    order = np.argsort(-total, kind="stable").reshape(per_rank, ranks)
    dealt = np.empty((ranks, per_rank), np.int64)
    sums = np.zeros((ranks, shares.shape[1]))
    for slot in range(per_rank):
        rows = np.argsort(sums.max(axis=1), kind="stable")
        dealt[rows, slot] = packs[order[slot]]
        sums[rows] += shares[packs[order[slot]]]
    return np.roll(dealt, turn, axis=0)
