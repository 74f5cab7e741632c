"""A second implementation of packing groups, written only from docs/PACK_ORDER.md ("Packing groups"): samples' homes,
GreedyFill and the order of steps. The way in which a group packs its own samples is left to the requested packer.
"""
from step_order_twin import SplitMix64, order_of


class Group:
    def __init__(self, length, shared, ranks, packs_per_rank=1, longest=None, unit_cap=None):
        self.length, self.shared, self.ranks, self.packs_per_rank = length, shared, ranks, packs_per_rank
        self.longest = length if longest is None else longest
        self.unit_cap = unit_cap

    def holds(self, units, tokens):
        return tokens <= self.length and (self.unit_cap is None or units <= self.unit_cap)

    def step_packs(self):
        return self.ranks * self.packs_per_rank


def home_of(groups, units, tokens):
    group = 0
    while group + 1 < len(groups) and tokens > groups[group].longest:
        group += 1
    while group + 1 < len(groups) and not groups[group].holds(units, tokens):
        group += 1
    return group


def fill(group, samples, own, left, home):
    """Returns the samples that GreedyFill adds to a pack of `own`: those of the shortest group first, and the longest
    of these first. Removes them from `left`, a set of indices. `home` is the group of each sample. For groups without
    a unit cap."""
    room = group.length - sum(samples[i][1] for i in own)
    added = []
    for shorter in sorted({home[i] for i in left}):
        while room > 0:
            fitting = [i for i in left if home[i] == shorter and samples[i][1] <= room]
            if not fitting:
                break
            best = max(fitting, key=lambda i: (samples[i][1], -i))
            left.remove(best)
            added.append(best)
            room -= samples[best][1]
    return added


def scaled(value, most):
    bits = most.bit_length()
    return value >> bits - 30 if bits > 30 else value << 30 - bits


def work_of(samples, packs):
    """Returns the work of packs of text only: tokens and squared lengths."""
    tokens = [sum(samples[i][1] for i in pack) for pack in packs]
    squared = [sum(samples[i][1] ** 2 for i in pack) for pack in packs]
    return [(scaled(t, max(tokens)), scaled(s, max(squared))) for t, s in zip(tokens, squared)]


def grouped_order(work, counts, groups, window, seed, epoch, curriculum):
    """Returns (group of each step, order, leading steps). `counts` is the number of packs of each group."""
    dealt, full, first = [], [], 0
    for group, count in zip(groups, counts):
        order = order_of(work[first : first + count], group.ranks, group.packs_per_rank, window, 1, seed, epoch)
        order = [p + first if p >= 0 else -1 for p in order]
        size = group.step_packs()
        dealt.append([order[i : i + size] for i in range(0, len(order), size)])
        full.append(count // size)
        first += count
    steps = sum(map(len, dealt))
    shortest = next((g for g, count in enumerate(counts) if count), 0)
    leading = min(max(0, curriculum - epoch * steps), full[shortest]) if steps else 0
    mixed = [g for g in range(len(groups)) for _ in range(full[g] - (leading if g == shortest else 0))]
    seeds = SplitMix64(seed)
    seeds.draw()
    SplitMix64(seeds.draw() + epoch).shuffle(mixed)
    of = [shortest] * leading + mixed + [g for g in range(len(groups)) if len(dealt[g]) > full[g]]
    rows = [iter(steps_of) for steps_of in dealt]
    return of, [slot for g in of for slot in next(rows[g])], leading


def loss_normalizers(loss, packs, groups, of, order):
    normalizers, at = [], 0
    for g in of:
        size = groups[g].step_packs()
        there = [p for p in order[at : at + size] if p >= 0]
        normalizers.append(sum(loss[i] for p in there for i in packs[p]) / size)
        at += size
    return normalizers
