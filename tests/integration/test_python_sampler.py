"""EvenkeelBatchSampler on real servers: what ranks get, resuming, refusing, elastic resuming, orders by the twins."""
import json
import os
import random
import sys
import unittest

import harness
from harness import Server

import numpy as np

import evenkeel

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "reference"))

import step_order_twin  # noqa: E402

RULE = {"unit_cap": 9, "token_cap": 4096, "seed": 5}


def dataset(count, seed=1):
    chance = random.Random(seed)
    units = [chance.choice((0, 1, 1, 2, 3, 5, 7)) for _ in range(count)]
    return [256 * u + 1 + min(int(chance.expovariate(1 / 150)), 2000) for u in units], units


TOKENS, UNITS = dataset(3000)


class SamplerCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.__exit__)

    def sampler(self, rank=0, world_size=4, rule=None, tokens=TOKENS, units=UNITS, **options):
        options.setdefault("prefetch", False)
        return evenkeel.EvenkeelBatchSampler(self.server.address, rule or RULE, tokens, units, rank=rank,
                                             world_size=world_size, **options)

    def ranks(self, world_size=4, **options):
        return [self.sampler(rank, world_size, **options) for rank in range(world_size)]

    def trained(self, samplers, batches=None):
        """Samples that count, of the next `batches` batches of each rank."""
        seen = []
        for sampler in samplers:
            for i, micro in enumerate(sampler.micro_batches(iter(sampler))):
                if not micro.is_dummy:
                    seen += micro.batch
                if batches is not None and i + 1 == batches:
                    break
        return seen


class StreamTest(SamplerCase):
    def test_every_sample_once_and_ranks_in_step(self):
        for packs_per_rank in (1, 3):
            samplers = self.ranks(packs_per_rank=packs_per_rank)
            self.assertEqual(len({len(s) for s in samplers}), 1)
            self.assertEqual(sorted(self.trained(samplers)), list(range(len(TOKENS))))
            self.assertEqual(len(samplers[0]), samplers[0].steps_per_epoch * packs_per_rank)
            for batch in list(samplers[1]):
                self.assertLessEqual(sum(TOKENS[i] for i in batch), 4096)
                self.assertLessEqual(sum(UNITS[i] for i in batch), 9)

    def test_tokens_weigh_the_same_on_all_ranks(self):
        """Sum of loss_scale x loss tokens over all ranks is the number of ranks: the mean over them is a mean over
        tokens."""
        loss = [t // 3 for t in TOKENS]
        samplers = self.ranks(packs_per_rank=2, loss_tokens=loss)
        steps = {}
        dummies = 0
        for sampler in samplers:
            for micro in sampler.micro_batches(iter(sampler)):
                steps[micro.step] = steps.get(micro.step, 0) + micro.loss_scale * sum(loss[i] for i in micro.batch)
                dummies += micro.is_dummy
        self.assertGreater(dummies, 0)  # else the last step proves nothing
        for total in steps.values():
            self.assertAlmostEqual(total, 4)

    def test_the_order_is_the_documented_one(self):
        """Bit for bit what the twin of docs/ALGORITHMS.md makes, for other seeds and epochs too."""
        for seed, epoch, window, packs_per_rank in ((5, 0, 16, 1), (6, 3, 4, 2), (5, 1, 1, 1)):
            sampler = self.sampler(seed=seed, epoch=epoch, packs_per_rank=packs_per_rank,
                                   rule={**RULE, "order_window": window})
            packing = sampler.packing
            sums = [(sum(UNITS[i] for i in packing.pack(p)), sum(TOKENS[i] for i in packing.pack(p)))
                    for p in range(packing.pack_count)]
            scale = 1
            while 2 * scale * max(max(pair) for pair in sums) <= 1 << 30:
                scale *= 2
            work = [(v * scale, w * scale) for v, w in sums]
            self.assertEqual(packing.order.tolist(), step_order_twin.order_of(
                work, 4, packs_per_rank, window, 1, seed, epoch))

    def test_epochs_and_seeds_differ(self):
        sampler = self.sampler()
        first = list(sampler)
        self.assertEqual(first, list(sampler))  # as DistributedSampler: set_epoch makes another
        sampler.set_epoch(1)
        second = list(sampler)
        self.assertNotEqual(first, second)
        self.assertEqual(second, list(self.sampler(epoch=1)))
        self.assertNotEqual(first, list(self.sampler(seed=6)))
        with self.assertRaisesRegex(ValueError, "epoch is -1"):
            sampler.set_epoch(-1)

    def test_the_next_epoch_is_asked_for_early(self):
        calls = {"grpc_method": "PackDataset", "grpc_code": "OK"}
        sampler = self.sampler(prefetch=True)
        begun = self.server.metric("grpc_server_handled_total", **calls)
        batches = iter(sampler)
        next(batches)
        sampler._ahead._thread.join()  # pylint: disable=protected-access
        self.assertEqual(self.server.metric("grpc_server_handled_total", **calls) - begun, 1)
        list(batches)
        sampler.set_epoch(1)
        self.assertEqual(list(sampler), list(self.sampler(epoch=1)))

    def test_a_plan_with_packing_groups(self):
        tokens = [min(30000, int(random.Random(i).lognormvariate(5.5, 1.3)) + 1) for i in range(6000)]
        groups = [{"length_tokens": 4096, "sequence_parallel": 1, "data_parallel": 8, "packs_per_rank": 2},
                  {"length_tokens": 32768, "sequence_parallel": 4, "data_parallel": 2}]
        plan = {"plan_id": "plan-" + "1" * 32, "batch_rule": {"token_cap": 32768, "seed": 1}, "packing_groups": groups}
        loss = [t // 2 + 1 for t in tokens]
        samplers = [evenkeel.EvenkeelBatchSampler(self.server.address, plan, tokens, loss_tokens=loss, rank=r,
                                                  prefetch=False) for r in range(8)]
        self.assertEqual(len({len(s) for s in samplers}), 1)
        seen, weights, kinds = [], {}, set()
        for micros in zip(*(s.micro_batches(iter(s)) for s in samplers)):
            kinds.add(micros[0].sequence_parallel)
            for rank, micro in enumerate(micros):
                self.assertEqual(micro.sequence_rank, rank % micro.sequence_parallel)
                self.assertEqual(micro.batch, micros[rank - micro.sequence_rank].batch)
                if micro.sequence_rank == 0 and not micro.is_dummy:
                    seen += micro.batch
                # Each of those who share a pack sums over its part of the tokens.
                part = sum(loss[i] for i in micro.batch) / micro.sequence_parallel
                weights[micro.step] = weights.get(micro.step, 0) + micro.loss_scale * part
        self.assertEqual(sorted(seen), list(range(len(tokens))))
        self.assertEqual(kinds, {1, 4})
        for total in weights.values():
            self.assertAlmostEqual(total, 8)

    def test_a_real_plan_brings_its_degrees(self):
        with evenkeel.Client(self.server.address) as client:
            plan = client.plan_job(evenkeel.load_job(harness.JOB)).plan
        sampler = evenkeel.EvenkeelBatchSampler(self.server.address, plan, TOKENS, UNITS, rank=1, prefetch=False)
        self.assertEqual(len(sampler), sampler.steps_per_epoch * plan.predictions.micro_batches)
        self.assertEqual(sampler.state_dict()["plan_id"], plan.plan_id)
        for options, text in (({"rank": 0, "world_size": 3}, "plan deals to 4"), ({}, "rank is needed"),
                              ({"rank": 4}, "must be 0 to 3")):
            with self.assertRaisesRegex(ValueError, text):
                evenkeel.EvenkeelBatchSampler(self.server.address, plan, TOKENS, UNITS, **options)
        with self.assertRaisesRegex(ValueError, "empty"):
            evenkeel.EvenkeelBatchSampler(self.server.address, plan, [], rank=0)


class ResumeTest(SamplerCase):
    def test_to_the_identical_stream(self):
        for place in (0, 1, 37, None):
            sampler = self.sampler(rank=2, epoch=1)
            whole = list(self.sampler(rank=2, epoch=1))
            place = len(whole) if place is None else place
            batches = iter(sampler)
            for _ in range(place):
                next(batches)
            state = json.loads(json.dumps(sampler.state_dict()))
            resumed = self.sampler(rank=2)
            resumed.load_state_dict(state)
            resumed.set_epoch(1)  # as training loops do
            self.assertEqual(resumed.state_dict(), state)
            self.assertEqual(list(resumed), whole[place:])
            self.assertEqual(list(resumed), whole)  # and then whole epochs again
            resumed.set_epoch(2)
            self.assertEqual(list(resumed), list(self.sampler(rank=2, epoch=2)))

    def test_the_loop_counts_not_what_workers_read_ahead(self):
        sampler = self.sampler(packs_per_rank=3)
        whole = list(sampler)
        ahead = list(sampler)  # all read, as workers with a long queue do
        for i, _ in enumerate(sampler.micro_batches(ahead)):
            if i == 10:
                break
        state = sampler.state_dict()
        self.assertEqual((state["step"], state["batch"]), (3, 9))  # 11 batches are 3 whole steps
        resumed = self.sampler(packs_per_rank=3)
        resumed.load_state_dict(state)
        self.assertEqual(list(resumed), whole[9:])

    def test_the_state_of_one_rank_is_that_of_all(self):
        states = []
        for sampler in self.ranks():
            next(iter(sampler))
            states.append(sampler.state_dict())
        self.assertEqual(states, [states[0]] * 4)

    def test_refuses_what_is_another_stream(self):
        plan = {"plan_id": "plan-" + "1" * 32, "batch_rule": RULE, "parallelism": {"data": 4},
                "predictions": {"micro_batches": 1}}
        other = {**plan, "plan_id": "plan-" + "2" * 32}
        state = self.sampler(rule=plan).state_dict()
        self.sampler(rule=plan).load_state_dict(state)
        swapped = [TOKENS[1], TOKENS[0], *TOKENS[2:]]
        for text, options in (("this sampler runs plan-2222", {"rule": other}), ("a rule without a plan", {}),
                              ("seed 5, this sampler has seed 9", {"rule": plan, "seed": 9}),
                              ("3000 samples, this sampler has 2999",
                               {"rule": plan, "tokens": TOKENS[1:], "units": UNITS[1:]}),
                              ("other lengths", {"rule": plan, "tokens": swapped}),
                              ("another batch rule", {"rule": {**plan, "batch_rule": {**RULE, "token_cap": 4000}}})):
            with self.subTest(text), self.assertRaisesRegex(evenkeel.ResumeError, text):
                self.sampler(**options).load_state_dict(state)
        for broken in ({}, {**state, "format": 99}, {**state, "batch": 10 ** 6}):
            with self.assertRaises(evenkeel.ResumeError):
                self.sampler(rule=plan).load_state_dict(broken)

    def test_another_number_of_ranks_is_refused_unless_elastic(self):
        before = self.ranks(4, packs_per_rank=2)
        done = self.trained(before, batches=40)
        state = before[0].state_dict()
        self.assertEqual(state["step"], 20)
        with self.assertRaisesRegex(evenkeel.ResumeError, "4 ranks x 2 packs, this sampler deals to 3 x 1"):
            self.sampler(0, 3).load_state_dict(state)
        between = self.ranks(3)
        for sampler in between:
            sampler.load_state_dict(state, elastic=True)
        done += self.trained(between, batches=25)
        state = between[1].state_dict()  # and once more, on six
        after = self.ranks(6)
        for sampler in after:
            sampler.load_state_dict(json.loads(json.dumps(state)), elastic=True)
            sampler.set_epoch(0)
        self.assertEqual(len({len(s) for s in after}), 1)
        done += self.trained(after)
        self.assertEqual(sorted(done), list(range(len(TOKENS))))
        again = self.sampler(2, 6)  # the third state resumes like any other
        middle = self.sampler(2, 6)
        middle.load_state_dict(state, elastic=True)
        batches = iter(middle)
        head = [next(batches) for _ in range(5)]
        again.load_state_dict(middle.state_dict())
        self.assertEqual(head + list(again), head + list(batches))
        again.set_epoch(1)
        self.assertEqual(list(again), list(self.sampler(2, 6, epoch=1)))

    def test_elastic_at_the_end_of_an_epoch(self):
        before = self.sampler(0, 2)
        list(before)
        after = self.sampler(0, 3)
        after.load_state_dict(before.state_dict(), elastic=True)
        self.assertEqual((len(after), list(after)), (0, []))
        after.set_epoch(1)
        self.assertEqual(list(after), list(self.sampler(0, 3, epoch=1)))

    def test_derived_caps_stay_what_they_are(self):
        before = self.ranks(2, rule={"seed": 1})
        done = self.trained(before, batches=30)
        caps = before[0].packing.summary.rule
        after = self.ranks(3, rule={"seed": 1})
        for sampler in after:
            sampler.load_state_dict(before[0].state_dict(), elastic=True)
            self.assertEqual(sampler.packing.summary.rule.token_cap, caps.token_cap)
        self.assertEqual(sorted(done + self.trained(after)), list(range(len(TOKENS))))


class XtunerTest(SamplerCase):
    def test_the_preset_is_that_of_evenkeelctl(self):
        with harness.tempfile.TemporaryDirectory() as folder, evenkeel.Client(self.server.address) as client:
            at = os.path.join
            np.save(at(folder, "a.npy"), np.stack([UNITS[:2000], TOKENS[:2000]], axis=1))
            np.save(at(folder, "b.npy"), np.stack([UNITS[2000:], TOKENS[2000:]], axis=1))
            done = self.server.ctl("pack", at(folder, "a.npy"), at(folder, "b.npy"), "--unit-cap", "9", "--token-cap",
                                   "4096", "--seed", "5", "--dp", "4", "--packs-per-rank", "2", "--xtuner",
                                   at(folder, "ctl"), "--xtuner-path", "a.jsonl", "--xtuner-path", "b.jsonl")
            self.assertEqual(done.returncode, 0, done.stderr)
            packing = client.pack_dataset(RULE, TOKENS, UNITS, data_parallel=4, packs_per_rank=2)
            parts = [("a.jsonl", 2000), ("b.jsonl", 1000)]
            evenkeel.xtuner.write_preset(at(folder, "py"), packing, TOKENS, parts)
            for name in ("boundaries.npy", "samples.npy", "order.npy"):
                ours, theirs = (np.load(at(folder, kind, name)) for kind in ("py", "ctl"))
                self.assertEqual(ours.dtype, theirs.dtype)
                np.testing.assert_array_equal(ours, theirs)
            with open(at(folder, "py", "paths.json"), encoding="utf-8") as file:
                self.assertEqual(json.load(file), ["a.jsonl", "b.jsonl"])
            with self.assertRaisesRegex(ValueError, "parts sum to 2000"):
                evenkeel.xtuner.write_preset(at(folder, "no"), packing, TOKENS, parts[:1])


if __name__ == "__main__":
    unittest.main()
