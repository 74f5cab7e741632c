"""A second implementation of the order of packs, written only from docs/PACK_ORDER.md ("Dealing").

It is pure Python: slow, short, and a start for data loaders in other languages.
"""
MASK = (1 << 64) - 1


class SplitMix64:
    def __init__(self, state):
        self.state = state & MASK

    def draw(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        return z ^ z >> 31

    def below(self, bound):
        return self.draw() % bound

    def shuffle(self, items):
        for i in range(len(items), 1, -1):
            j = self.below(i)
            items[i - 1], items[j] = items[j], items[i - 1]


def order_of(work, ranks, packs_per_rank, window, group, seed, epoch):
    """Returns rows of ranks x packs_per_rank, flat. `work` are pairs (vision, language)."""
    step_packs = ranks * packs_per_rank
    random = SplitMix64(SplitMix64(seed).draw() + epoch)
    packs = list(range(len(work)))
    random.shuffle(packs)
    full_steps = len(packs) // step_packs
    numbers = list(range(full_steps))
    if window != 1:
        size = window * step_packs if window else max(1, len(packs))
        packs = [
            pack
            for begin in range(0, len(packs), size)
            for pack in group_window(packs[begin : begin + size], work, step_packs)
        ]
        random.shuffle(numbers)
    steps = [packs[s * step_packs : (s + 1) * step_packs] for s in numbers]
    if full_steps * step_packs < len(packs):
        steps.append(packs[full_steps * step_packs :])
    order = []
    for step in steps:
        turn = random.below(ranks)
        rows = [[] for _ in range(ranks)]
        for rank, hand in enumerate(deal_to_ranks(step, work, ranks, packs_per_rank, group)):
            rows[(rank + turn) % ranks] = hand
        for row in rows:
            order += row + [-1] * (packs_per_rank - len(row))
    return order


def short(packs, work, part):
    largest = max(work[p][part] for p in packs)
    if largest == 0:
        return 0
    return (largest - sum(work[p][part] for p in packs) // len(packs)) * 65536 // largest


def short_of_both(packs, work):
    return short(packs, work, 0) + short(packs, work, 1)


def group_window(packs, work, step_packs):
    if len(packs) <= step_packs:
        return packs
    cost, by_vision, strips = lay_out(packs, work, step_packs, 0)
    if all(len({work[p][0] for p in strip}) == 1 for strip in strips):
        return by_vision
    other_cost, by_language, _ = lay_out(packs, work, step_packs, 1)
    return by_language if other_cost < cost else by_vision


def lay_out(packs, work, step_packs, major):
    packs = sorted(packs, key=lambda p: (work[p][major], work[p][1 - major], p))
    strips = best_strips(packs, runs_of(packs, work, step_packs, major), work, step_packs, major)
    row = []
    for strip in strips:
        strip = sorted(strip, key=lambda p: (work[p][1 - major], work[p][major], p))
        shared = len(row) % step_packs
        if shared:
            room = min(len(strip), step_packs - shared)
            before = row[-shared:]
            if short_of_both(before + strip[-room:], work) < short_of_both(before + strip[:room], work):
                strip.reverse()
        row += strip
    return (*place_rest(row, work, step_packs), strips)


def runs_of(packs, work, step_packs, major):
    values = [work[p][major] for p in packs]
    most = min(256, 4 * (len(packs) // step_packs))
    few = len(set(values)) <= most
    runs = []
    for i, pack in enumerate(packs):
        if few:
            begins = i == 0 or values[i] != values[i - 1]
        else:
            begins = i == 0 or i * most // len(packs) != (i - 1) * most // len(packs)
        if begins:
            runs.append([])
        runs[-1].append(pack)
    return runs


def best_strips(window, runs, work, step_packs, major):
    minor = 1 - major

    def strip_cost(strip):
        count = len(strip)
        cost = count * short(strip, work, major)
        if count < step_packs:
            return cost + step_packs * short(window, work, minor)
        lengths = [work[p][minor] for p in strip]
        gap = (max(lengths) - min(lengths)) * 32768 // max(1, sum(lengths) // count)
        return cost + min(65536 * count, step_packs * min(gap, 1 << 30))

    def crossing_cost(run_before, strip):
        largest = max(work[p][major] for p in strip)
        if largest == 0:
            return 0
        mean = sum(work[p][major] for p in run_before) // len(run_before)
        return (largest - mean) * 65536 // largest * step_packs // 2

    best = [(0, [])]  # for the first e runs: cost, strips
    for end in range(1, len(runs) + 1):
        found = None
        for begin in range(end - 1, -1, -1):
            strip = [p for run in runs[begin:end] for p in run]
            cost = best[begin][0] + strip_cost(strip)
            if begin > 0:
                cost += crossing_cost(runs[begin - 1], strip)
            if found is None or cost < found[0]:
                found = (cost, begin, strip)
        best.append((found[0], best[found[1]][1] + [found[2]]))
    return best[-1][1]


def place_rest(row, work, step_packs):
    steps, rest = divmod(len(row), step_packs)

    def costs(begin):
        cuts = range(begin, begin + steps * step_packs, step_packs)
        return [short_of_both(row[i : i + step_packs], work) for i in cuts]

    front = costs(0)
    if rest == 0:
        return sum(front), row
    back = costs(rest)
    totals = [sum(front[:j]) + sum(back[j:]) for j in range(steps + 1)]
    j = totals.index(min(totals))
    at = j * step_packs
    return totals[j], row[:at] + row[at + rest :] + row[at : at + rest]


def deal_to_ranks(packs, work, ranks, packs_per_rank, group):
    """Returns the packs of each rank, before ranks are rotated."""
    if packs_per_rank == 1:
        return [[p] for p in packs] + [[] for _ in range(ranks - len(packs))]
    full = len(packs) == ranks * packs_per_rank
    if group > 1:
        packs = sorted(packs, key=lambda p: (-work[p][1], -work[p][0], p))
    size = group if full else 1
    bundles = [packs[i : i + size] for i in range(0, len(packs), size)]
    sums = [[sum(work[p][part] for p in b) for part in (0, 1)] for b in bundles]
    units = [max(1, max(s[part] for s in sums), -(-sum(s[part] for s in sums) // ranks)) for part in (0, 1)]
    shares = [[(s[part] << 20) // units[part] for part in (0, 1)] for s in sums]
    hands, totals = spread(shares, ranks)
    if len(bundles) > ranks:
        exchange(hands, totals, shares)
    if group == 1 or full:
        for hand in hands:
            small_at_the_ends(hand, sums)
    return [[p for b in hand for p in bundles[b]] for hand in hands]


def spread(shares, ranks):
    numbers = list(range(len(shares)))
    if len(shares) > ranks:
        numbers.sort(key=lambda b: (-sum(shares[b]), b))
    hands = [[] for _ in range(ranks)]
    totals = [[0, 0] for _ in range(ranks)]
    for begin in range(0, len(numbers), ranks):
        takers = list(range(ranks))
        if begin:
            takers.sort(key=lambda r: (sum(totals[r]), r))
        for rank, bundle in zip(takers, numbers[begin : begin + ranks]):
            hands[rank].append(bundle)
            for part in (0, 1):
                totals[rank][part] += shares[bundle][part]
    return hands, totals


def exchange(hands, totals, shares):
    ranks = range(len(hands))
    means = [sum(share[part] for share in shares) // len(hands) for part in (0, 1)]
    above = [0] * len(hands)
    looks = 512 * len(shares)
    while looks > 0:
        for r in ranks:
            above[r] = max(totals[r][0] - means[0], totals[r][1] - means[1])
        worst = above.index(max(above))
        if above[worst] <= 128:
            return
        best, found = 0, None
        for other in ranks:
            gap = [totals[worst][part] - totals[other][part] for part in (0, 1)]
            if other == worst or gap[0] ** 2 + gap[1] ** 2 <= -4 * best:
                continue
            looks -= len(hands[worst]) * len(hands[other])
            for i, mine in enumerate(hands[worst]):
                for j, theirs in enumerate(hands[other]):
                    dv = shares[theirs][0] - shares[mine][0]
                    dl = shares[theirs][1] - shares[mine][1]
                    change = dv * (dv + gap[0]) + dl * (dl + gap[1])
                    if change < best:
                        best, found = change, (i, other, j)
        if found is None:
            return
        i, other, j = found
        mine, theirs = hands[worst][i], hands[other][j]
        hands[worst][i], hands[other][j] = theirs, mine
        for part in (0, 1):
            moved = shares[theirs][part] - shares[mine][part]
            totals[worst][part] += moved
            totals[other][part] -= moved


def small_at_the_ends(hand, sums):
    ascending = sorted(hand, key=lambda b: (sum(sums[b]), b))
    hand[:] = ascending[0::2] + ascending[1::2][::-1]
