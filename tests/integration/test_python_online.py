"""Tests evenkeel.OnlinePacker: what is packed, resuming at every point, waiting, refusing, and against brute force."""
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

import harness

import numpy as np

import evenkeel

CAPS = {"units": 9, "tokens": 4096}


def dataset(count, seed=1):
    """A law like the shipped sets': mostly 5 tiles, else 1 to 4."""
    chance = random.Random(seed)
    units = [chance.choice((1, 1, 3, 4, 5, 5, 5, 5)) for _ in range(count)]
    return [(u, 256 * u + 40 + min(int(chance.expovariate(1 / 90)), 1200)) for u in units]


def run(samples, caps=None, **options):
    packer = evenkeel.OnlinePacker(CAPS if caps is None else caps, **options)
    return packer, list(packer.pack(enumerate(samples)))


def packs_of(steps):
    return [pack for step in steps for row in step.packs for pack in row if pack is not None]


def plain(steps):
    return [(step.index, [[None if pack is None else pack.positions for pack in row] for row in step.packs])
            for step in steps]


class PackingTest(unittest.TestCase):
    def check(self, samples, caps=None, **options):
        packer, steps = run(samples, caps, **options)
        packs, caps = packs_of(steps), CAPS if caps is None else caps
        self.assertEqual(sorted(s for pack in packs for s in pack.samples), list(range(len(samples))))
        self.assertEqual([step.index for step in steps], list(range(len(steps))))
        for pack in packs:
            self.assertEqual(pack.positions, pack.samples)
            for c, (name, cap) in enumerate(caps.items()):
                values = [samples[p] if isinstance(samples[p], int) else samples[p][c] for p in pack.positions]
                self.assertEqual(pack.sums[name], sum(values))
                self.assertLessEqual(pack.sums[name], cap)
        report = packer.report()
        self.assertEqual((report.samples, report.packs, report.steps), (len(samples), len(packs), len(steps)))
        self.assertLess(report.longest_wait, options.get("max_wait", 4))
        return packer, steps

    def test_every_sample_once_and_no_pack_over_a_cap(self):
        for window, ranks, packs_per_rank in ((1, 1, 1), (30, 2, 1), (64, 3, 2), (512, 8, 4), (5000, 1, 1)):
            with self.subTest(window=window, ranks=ranks):
                self.check(dataset(600), window=window, ranks=ranks, packs_per_rank=packs_per_rank)
        self.check([], ranks=4)
        self.check([(1, 300)], ranks=4)

    def test_any_columns(self):
        chance = random.Random(5)
        three = [(chance.randrange(4), chance.randrange(1, 900), chance.randrange(0, 50)) for _ in range(1200)]
        self.check(three, {"units": 9, "tokens": 4096, "audio": 150}, window=256, ranks=2)
        self.check([chance.randrange(1, 2000) for _ in range(1200)], {"tokens": 8192}, window=256, ranks=2)
        self.check([chance.randrange(1, 9) for _ in range(3000)], {"tokens": 4096}, window=300)  # many in a pack
        self.check([chance.randrange(1, 1 << 31) for _ in range(300)], {"bytes": 1 << 32}, window=64)

    def test_steps_are_alike_and_packs_few(self):
        """The limits of docs/BENCHMARKS.md, on a drawn set against evenkeelctl's packs."""
        samples = dataset(12000, seed=3)
        for caps in ((9, 4096), (20, 6656), (37, 11008)):
            with self.subTest(caps=caps):
                packer, _ = run(samples, {"units": caps[0], "tokens": caps[1]}, ranks=8)
                with tempfile.TemporaryDirectory() as folder:
                    path = os.path.join(folder, "lengths.npy")
                    np.save(path, np.array(samples, np.int32))
                    answer = subprocess.run([harness.CTL, "pack", path, "--unit-cap", str(caps[0]),
                                             "--token-cap", str(caps[1]), "--dp", "8", "--local", "--json"], check=True,
                                            stdout=subprocess.PIPE).stdout
                report = packer.report()
                self.assertLessEqual(report.packs, 1.01 * int(json.loads(answer)["rule"]["pack_count"]))
                self.assertLessEqual(report.dist_ratio["units"], .01)
                self.assertLessEqual(report.dist_ratio["tokens"], .02)

    def test_ranks_that_pack_for_themselves_are_alike(self):
        """The n-th packs of ranks are of the same place in their blocks, though nobody talks to anybody."""
        samples = dataset(8000, seed=4)

        def short(**options):
            ranks = [packs_of(run(samples[r::4], window=512, **options)[1]) for r in range(4)]
            tokens = np.array([[p.sums["tokens"] for p in row] for row in zip(*ranks)])
            return float((1 - tokens.mean(axis=1) / tokens.max(axis=1)).mean())
        self.assertLess(short(), short(order_window=1) / 2)

    def test_against_every_packing_of_tiny_windows(self):
        chance = random.Random(11)
        more = 0
        for case in range(150):
            samples = [(chance.randrange(1, 6), chance.randrange(200, 1800)) for _ in range(7)]
            least = fewest(samples, (9, 4096))
            packs = len(packs_of(run(samples)[1]))
            self.assertLessEqual(packs, least + 1, (case, samples))
            more += packs - least
        self.assertLessEqual(more, 3)

    def test_a_function_of_the_arguments(self):
        samples = dataset(900)
        first = plain(run(samples, window=128, ranks=2)[1])
        self.assertEqual(first, plain(run(samples, window=128, ranks=2)[1]))
        self.assertNotEqual(first, plain(run(samples, window=128, ranks=2, seed=1)[1]))
        self.assertEqual(first, plain(run([(np.int32(u), np.int64(t)) for u, t in samples], window=128, ranks=2)[1]))
        self.assertEqual(first, plain(run([{"tokens": t, "units": u} for u, t in samples], window=128, ranks=2)[1]))

    def test_no_sample_waits_longer_than_it_may(self):
        """Samples of 7 units leave room for 2, which nothing fills: they would wait for ever."""
        chance = random.Random(2)
        samples = [(7, 500) if chance.random() < .03 else (3, 500) for _ in range(2000)]
        for max_wait in (1, 2, 5):
            _, steps = self.check(samples, window=100, max_wait=max_wait)
            ends = [max(pack.positions) for pack in packs_of(steps)]
            for pack, end in zip(packs_of(steps), ends):
                self.assertLess(end - min(pack.positions), 100 * max_wait + 100)

    def test_the_last_step_may_lack_packs(self):
        _, steps = run(dataset(50), ranks=8, packs_per_rank=3)
        last = steps[-1]
        self.assertTrue(any(pack is None for row in last.packs for pack in row))
        for rank in range(8):
            mine = last.of_rank(rank)
            self.assertEqual([pack.is_dummy for pack in mine], [pack is None for pack in last.packs[rank]])
            self.assertEqual(len(mine), 3)
        total = sum(pack.sums["tokens"] for row in last.packs for pack in row if pack is not None)
        self.assertEqual(last.mean("tokens"), total / 24)

    def test_a_window_that_fills_no_pack_waits(self):
        packer, steps = run([(0, 10)] * 1000, window=16)
        self.assertEqual(len(packs_of(steps)), 3)
        self.assertEqual(packer.report().bound, 3)


def fewest(samples, caps):
    """Returns the least number of packs, by trying every division."""
    best = len(samples)

    def place(at, packs):
        nonlocal best
        if len(packs) >= best:
            return
        if at == len(samples):
            best = len(packs)
            return
        for pack in packs:
            if all(have + more <= cap for have, more, cap in zip(pack, samples[at], caps)):
                before = list(pack)
                pack[:] = [have + more for have, more in zip(pack, samples[at])]
                place(at + 1, packs)
                pack[:] = before
        place(at + 1, packs + [list(samples[at])])
    place(0, [])
    return best


class ResumingTest(unittest.TestCase):
    def test_at_every_point(self):
        samples = [(7, 500) if i % 11 == 5 else (3, 500 + i) for i in range(110)]  # the long ones wait
        options = {"window": 20, "ranks": 2, "packs_per_rank": 2, "seed": 9, "max_wait": 2}
        whole, steps = run(samples, **options)
        self.assertEqual(whole.report().longest_wait, 1)
        wanted = plain(steps)
        for with_samples in (True, False):
            packer, taken = evenkeel.OnlinePacker(CAPS, **options), []
            for at in range(len(samples) + 1):
                # A step is taken now and then only, so that states hold some.
                if packer.ready_steps and at % 3 == 0:
                    taken.append(packer.first_step())
                    packer.drop_step()
                state = json.loads(json.dumps(packer.state_dict(samples=with_samples)))
                other = evenkeel.OnlinePacker(CAPS, **options)
                other.load_state_dict(state, sample_at=None if with_samples else lambda position: position)
                self.assertEqual(other.added, at)
                rest = list(other.pack((i, samples[i]) for i in range(at, len(samples))))
                self.assertEqual(plain(taken + rest), wanted, at)
                self.assertEqual(other.report(), whole.report())
                if at < len(samples):
                    packer.add(at, samples[at])

    def test_after_the_end(self):
        packer = evenkeel.OnlinePacker(CAPS, ranks=2)
        for i, lengths in enumerate(dataset(40)):
            packer.add(i, lengths)
        packer.flush()
        other = evenkeel.OnlinePacker(CAPS, ranks=2)
        other.load_state_dict(packer.state_dict())
        self.assertEqual(plain(other.steps()), plain(packer.steps()))
        with self.assertRaisesRegex(RuntimeError, "ended"):
            other.add(0, (1, 1))

    def test_other_states_are_refused(self):
        packer = evenkeel.OnlinePacker(CAPS)
        for i, lengths in enumerate(dataset(40)):
            packer.add(i, lengths)
        state = packer.state_dict()
        for name, options in (("seed", {"seed": 1}), ("window", {"window": 9}), ("ranks", {"ranks": 3}),
                              ("oversize", {"oversize": "alone"}), ("max_wait", {"max_wait": 9})):
            with self.assertRaisesRegex(evenkeel.ResumeError, name):
                evenkeel.OnlinePacker(CAPS, **options).load_state_dict(state)
        with self.assertRaisesRegex(evenkeel.ResumeError, "caps"):
            evenkeel.OnlinePacker({"units": 9, "tokens": 4097}).load_state_dict(state)
        with self.assertRaisesRegex(evenkeel.ResumeError, "sample_at"):
            evenkeel.OnlinePacker(CAPS).load_state_dict(packer.state_dict(samples=False))
        for change in ({"format": 7}, {"waiting": [0, 0]}, {"waiting": list(range(39))}, {"samples": []},
                       {"lengths": "x"}, {"counts": {"a": 1}}, {"settings": 3}):
            with self.assertRaises(evenkeel.ResumeError, msg=str(change)):
                evenkeel.OnlinePacker(CAPS).load_state_dict({**state, **change})
        for broken in ({}, {"format": 1}):
            with self.assertRaises(evenkeel.ResumeError):
                evenkeel.OnlinePacker(CAPS).load_state_dict(broken)


class RefusingTest(unittest.TestCase):
    def test_lengths(self):
        packer = evenkeel.OnlinePacker(CAPS)
        for lengths, text in (((1,), "1 lengths"), (5, "1 lengths"), ((1, 2, 3), "3 lengths"),
                              ((-1, 5), "units of sample 0"),
                              ((1, 2.5), "tokens of sample 0 is 2.5"), ((True, 5), "units of sample 0"),
                              ((0, 0), "of 0 alone"),
                              ({"units": 1}, "columns"), ({"units": 1, "tokens": 2, "x": 1}, "columns"),
                              ("12", "1 lengths"), (None, "1 lengths"), ((1, float("nan")), "nan"), ((1, "5"), "'5'"),
                              ((1, 1 << 70), "must be 0 to")):
            with self.assertRaisesRegex((ValueError, TypeError), text, msg=str(lengths)):
                packer.add("s", lengths)
        self.assertEqual(packer.added, 0)
        packer.add("s", (1, 2))
        self.assertEqual(packer.added, 1)

    def test_samples_over_a_cap(self):
        packer = evenkeel.OnlinePacker(CAPS)
        with self.assertRaisesRegex(evenkeel.OversizeError, "sample 0 has 4097 tokens, a pack holds 4096.*alone"):
            packer.add("long", (1, 4097))
        packer.add("short", (1, 4096))
        packer.flush()
        self.assertEqual([p.samples for p in packs_of(packer.steps())], [["short"]])

        samples = dataset(300) + [(12, 5000)] + dataset(100, seed=2)
        packer, steps = run(samples, oversize="alone", window=64)
        self.assertIn([300], [p.positions for p in packs_of(steps)])
        self.assertEqual((packer.report().oversize, packer.report().samples), (1, 401))

        got = []
        packer, steps = run(samples, oversize=lambda sample, lengths: got.append((sample, lengths)), window=64)
        self.assertEqual(got, [(300, (12, 5000))])
        self.assertEqual(sorted(s for p in packs_of(steps) for s in p.samples),
                         [i for i in range(len(samples)) if i != 300])

    def test_arguments(self):
        for options, text in (({"window": 0}, "window is 0"), ({"ranks": 0}, "ranks is 0"),
                              ({"ranks": 1.5}, "ranks is 1.5"),
                              ({"packs_per_rank": -1}, "packs_per_rank"), ({"max_wait": 0}, "max_wait"),
                              ({"order_window": 0}, "order_window"), ({"oversize": "drop"}, "oversize is 'drop'"),
                              ({"seed": "x"}, "seed")):
            with self.assertRaisesRegex((ValueError, TypeError), text):
                evenkeel.OnlinePacker(CAPS, **options)
        for caps, text in (({}, "0 columns"), ({"tokens": 0}, "caps\\['tokens'\\] is 0"), ({"tokens": "9"}, "'9'"),
                           ({3: 9}, "names are strings"), ({f"c{i}": 1 for i in range(17)}, "17 columns")):
            with self.assertRaisesRegex((ValueError, TypeError), text):
                evenkeel.OnlinePacker(caps)
        with self.assertRaisesRegex(IndexError, "no step is ready"):
            evenkeel.OnlinePacker(CAPS).first_step()


class RuleTest(unittest.TestCase):
    def test_a_rule_gives_caps_and_more(self):
        packer = evenkeel.OnlinePacker({"unit_cap": 9, "token_cap": 4096, "seed": 7, "order_window": 3})
        self.assertEqual(packer.columns, ("units", "tokens"))
        samples = dataset(700)
        self.assertEqual(plain(packer.pack(enumerate(samples))),
                         plain(run(samples, seed=7, order_window=3, oversize="alone")[1]))
        self.assertEqual(evenkeel.OnlinePacker({"token_cap": 4096}).columns, ("tokens",))

    def test_units_of_several_encoders_are_scaled(self):
        packer = evenkeel.OnlinePacker({"unit_cap": 90, "token_cap": 4096, "unit_scales": [10, 3]})
        packer.add("a", ((1, 2), 100))
        packer.flush()
        self.assertEqual(packs_of(packer.steps())[0].sums, {"units": 16, "tokens": 100})
        for units in (5, (1,), (1, 2, 3)):
            with self.assertRaisesRegex(ValueError, "2 encoders"):
                evenkeel.OnlinePacker({"unit_cap": 90, "token_cap": 9, "unit_scales": [10, 3]}).add("a", (units, 5))

    def test_rules_that_a_stream_cannot_follow(self):
        for rule, text in (({"unit_cap": 9}, "token_cap"), ({"token_cap": 9, "packer": "PACKER_ISF"}, "PACKER_ISF"),
                           ({"token_cap": 9, "level": "PACK_LEVEL_TIME"}, "PACK_LEVEL_TIME"),
                           ({"token_cap": 9, "nonsense": 1}, "nonsense")):
            with self.assertRaisesRegex(ValueError, text):
                evenkeel.OnlinePacker(rule)
        packer = evenkeel.OnlinePacker({"token_cap": 9, "oversize_policy": "OVERSIZE_POLICY_REJECT"})
        with self.assertRaises(evenkeel.OversizeError):
            packer.add("a", 10)

    def test_caps_load_no_messages(self):
        code = ("import sys, evenkeel; evenkeel.OnlinePacker({'tokens': 9}); evenkeel.streams; evenkeel.energon; "
                "assert not {'google.protobuf', 'grpc', 'torch'} & set(sys.modules)")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        self.assertEqual(subprocess.run([sys.executable, "-c", code], check=False, env=environment).returncode, 0)


class StreamTest(unittest.TestCase):
    """evenkeel.streams with plain iterables; the real packages are in tests/python/test_streams.py."""

    def samples(self, count=150):
        return [{"id": i, "tiles": u, "input_ids": list(range(t))} for i, (u, t) in enumerate(dataset(count))]

    def stream(self, samples, **options):
        options = {"window": 40, "ranks": 2, "packs_per_rank": 3, **options}
        return evenkeel.streams.PackedStream(samples, CAPS, {"units": "tiles", "tokens": "input_ids"},
                                             collate=lambda pack: [s["id"] for s in pack.samples], **options)

    def test_ranks_share_a_stream(self):
        samples = self.samples()
        batches = [list(self.stream(samples, rank=rank)) for rank in range(2)]
        self.assertEqual(len(batches[0]), len(batches[1]))
        seen = [i for rank in batches for batch in rank for i in batch]
        self.assertEqual(set(seen), set(range(150)))

    def test_resumes_after_every_batch(self):
        samples = self.samples()
        whole = list(self.stream(samples))
        for with_samples in (True, False):
            options = {"samples_in_state": with_samples, "sample_at": samples.__getitem__}
            for count in (0, 1, 2, 3, 20, len(whole) - 1, len(whole)):
                stream = self.stream(samples, **options)
                first = list(itertools.islice(stream, count))
                other = self.stream(samples, **options)
                other.load_state_dict(json.loads(json.dumps(stream.state_dict())))
                self.assertEqual(first + list(other), whole, count)
                if 0 < count < len(whole):
                    self.assertEqual(list(other), whole)  # the next epoch is whole

    def test_wrong_arguments(self):
        with self.assertRaisesRegex(ValueError, "rank is 2"):
            self.stream([], rank=2)
        with self.assertRaisesRegex(ValueError, "columns"):
            evenkeel.streams.PackedStream([], CAPS, {"tokens": "x"})
        for state in ({}, {"packer": {}, "slot": 0, "source": None}):
            with self.assertRaises(evenkeel.ResumeError):
                self.stream([]).load_state_dict(state)
        state = self.stream([]).state_dict()
        with self.assertRaisesRegex(evenkeel.ResumeError, "slot|packs into"):
            self.stream([]).load_state_dict({**state, "slot": 3})
        with self.assertRaisesRegex(evenkeel.ResumeError, "another kind"):
            self.stream([]).load_state_dict({**state, "source": {}})


if __name__ == "__main__":
    unittest.main()
