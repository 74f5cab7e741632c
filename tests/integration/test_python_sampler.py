"""Tests EvenkeelBatchSampler on real servers: what ranks get, (elastic) resuming, refusing, orders by the twins."""
import json
import os
import random
import signal
import sys
import threading
import time
import unittest
import warnings
from unittest import mock

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
        """Returns the samples with weight of the next `batches` batches of each rank."""
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
        """The sum of loss_scale x loss tokens over all ranks is the number of ranks, so the mean over ranks is a mean
        over tokens."""
        loss = [t // 3 for t in TOKENS]
        samplers = self.ranks(packs_per_rank=2, loss_tokens=loss)
        steps = {}
        dummies = 0
        for sampler in samplers:
            for number, micro in enumerate(sampler.micro_batches(iter(sampler))):
                steps[micro.step] = steps.get(micro.step, 0) + micro.loss_scale * sum(loss[i] for i in micro.batch)
                dummies += micro.is_dummy
                self.assertEqual(sampler.loss_scale(number), micro.loss_scale)
        self.assertGreater(dummies, 0)  # otherwise the last step proves nothing
        for total in steps.values():
            self.assertAlmostEqual(total, 4)

    def test_the_order_is_the_documented_one(self):
        """The order is exactly that of the twin of docs/PACK_ORDER.md, for other seeds and epochs too."""
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
        self.assertEqual(first, list(sampler))  # like DistributedSampler, only set_epoch makes another order
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
        begun = self.server.metric_at_rest("grpc_server_handled_total", **calls)
        batches = iter(sampler)
        next(batches)
        sampler._ahead._thread.join()  # pylint: disable=protected-access
        self.assertEqual(self.server.metric_at_rest("grpc_server_handled_total", **calls) - begun, 1)
        list(batches)
        sampler.set_epoch(1)
        self.assertEqual(list(sampler), list(self.sampler(epoch=1)))

    def test_set_epoch_asks_and_shows_errors(self):
        server = Server()
        sampler = evenkeel.EvenkeelBatchSampler(server.address, RULE, TOKENS, UNITS, rank=0, world_size=2,
                                                prefetch=False, timeout=1)
        first = list(sampler)
        server.__exit__()
        with self.assertRaises(evenkeel.EvenkeelError):
            sampler.set_epoch(1)
        self.assertEqual((sampler.epoch, len(sampler), list(sampler)), (0, len(first), first))

    def test_a_server_may_be_a_function_that_makes_a_client(self):
        made = []

        def connect():
            made.append(evenkeel.Client(self.server.address))
            return made[-1]
        sampler = evenkeel.EvenkeelBatchSampler(connect, RULE, TOKENS, UNITS, rank=1, world_size=4, prefetch=False)
        self.assertEqual(list(sampler), list(self.sampler(rank=1)))
        sampler.set_epoch(1)
        self.assertEqual(len(made), 2)
        for client in made:  # nothing stays connected while workers fork
            with self.assertRaisesRegex(ValueError, "closed"):
                client.list_models()

    def test_a_closed_client_shows_where_it_is_needed(self):
        with evenkeel.Client(self.server.address) as client:
            sampler = evenkeel.EvenkeelBatchSampler(client, RULE, TOKENS, UNITS, rank=1, world_size=4)
        errors = []
        previous, threading.excepthook = threading.excepthook, errors.append
        try:
            self.assertEqual(list(sampler), list(self.sampler(rank=1)))  # asks ahead, without success
            with self.assertRaisesRegex(ValueError, "closed"):
                sampler.set_epoch(1)
        finally:
            threading.excepthook = previous
        self.assertEqual(errors, [])

    @staticmethod
    def forked():
        """Returns how a child that was forked now ended, and after how many seconds."""
        began = time.monotonic()
        child = os.fork()
        if child == 0:
            os._exit(7)
        seconds = time.monotonic() - began
        deadline = time.monotonic() + 30
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status), seconds
            if time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                raise AssertionError("the child hangs")
            time.sleep(0.01)

    def test_a_fork_waits_for_the_next_epoch(self):
        """A child that is forked in the middle of a call may crash."""
        tokens, units = dataset(200_000)
        sampler = self.sampler(tokens=tokens, units=units, prefetch=True)
        next(iter(sampler))
        thread = sampler._ahead._thread  # pylint: disable=protected-access
        self.assertTrue(thread.is_alive())
        self.assertEqual(self.forked()[0], 7)
        self.assertFalse(thread.is_alive())
        self.assertEqual([t.name for t in threading.enumerate() if t is not threading.main_thread()], [])
        asked = self.server.metric_at_rest("grpc_server_handled_total", grpc_method="PackDataset")
        sampler.set_epoch(1)
        self.assertEqual(self.server.metric_at_rest("grpc_server_handled_total", grpc_method="PackDataset"), asked)

    def test_a_fork_does_not_wait_for_a_server_that_is_gone(self):
        server = Server()
        sampler = evenkeel.EvenkeelBatchSampler(server.address, RULE, TOKENS, UNITS, rank=0, world_size=2)
        server.__exit__()
        next(iter(sampler))
        with mock.patch("evenkeel.ahead.FORK_WAIT_SECONDS", .5):
            status, seconds = self.forked()
        self.assertEqual(status, 7)
        self.assertLess(seconds, 10)
        self.assertFalse(sampler._ahead._thread.is_alive())  # pylint: disable=protected-access

    def test_nothing_is_under_way_when_the_program_ends(self):
        code = ("import atexit, sys, threading, numpy\n"
                "atexit.register(lambda: print([thread.name for thread in threading.enumerate()]))\n"
                "import evenkeel\n"
                "tokens = numpy.arange(300_000) % 999 + 1\n"
                "sampler = evenkeel.EvenkeelBatchSampler(sys.argv[1], {'token_cap': 4096}, tokens, rank=0,\n"
                "                                        world_size=4)\n"
                "next(iter(sampler))\n"
                "print(threading.active_count() > 1)\n")
        done = harness.run([sys.executable, "-c", code, self.server.address],
                           environment={"PYTHONPATH": harness.PROTOS.name})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "True\n['MainThread']\n", ""))

    def test_an_epoch_run_twice_is_told(self):
        sampler = self.sampler()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            next(iter(sampler))
            list(sampler)
            sampler.set_epoch(0)  # on purpose
            list(sampler)
            with self.assertRaisesRegex(RuntimeWarning, "epoch 0 is run again.*call set_epoch"):
                list(sampler)
            sampler.set_epoch(1)
            list(sampler)

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
                # Each rank that shares a pack sums over its part of the tokens.
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


class Loader(list):
    """A loader with the parts that micro_batches uses."""

    def __init__(self, batches, **attributes):
        super().__init__(batches)
        self.__dict__.update(attributes)


class LoaderTest(SamplerCase):
    def test_loaders_of_other_batches_are_refused(self):
        sampler, other = self.sampler(), self.sampler()
        for text, attributes in (("is a EvenkeelBatchSampler, not this", {"batch_sampler": other}),
                                 ("is a Loader, not this", {"batch_sampler": Loader([])}),
                                 ("is a NoneType", {"batch_sampler": None}),
                                 ("in_order", {"batch_sampler": sampler, "in_order": False}),
                                 ("snapshot_every", {"batch_sampler": sampler, "snapshot_every_n_steps": 7}),
                                 ("dataset has 2999 samples, tokens has 3000", {"dataset": TOKENS[1:]}),
                                 ("dataset has 3001", {"dataset": [0, *TOKENS]})):
            with self.subTest(text), self.assertRaisesRegex(ValueError, text):
                next(sampler.micro_batches(Loader(list(sampler), **attributes)))
        good = Loader(list(sampler), batch_sampler=sampler, dataset=TOKENS, in_order=True, snapshot_every_n_steps=1)
        self.assertEqual(next(sampler.micro_batches(good)).batch, good[0])


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
            resumed.set_epoch(1)  # like training loops
            self.assertEqual(resumed.state_dict(), state)
            self.assertEqual(list(resumed), whole[place:])
            self.assertEqual(list(resumed), whole)  # and then whole epochs again
            resumed.set_epoch(2)
            self.assertEqual(list(resumed), list(self.sampler(rank=2, epoch=2)))

    def test_the_loop_counts_not_what_workers_read_ahead(self):
        sampler = self.sampler(packs_per_rank=3)
        whole = list(sampler)
        ahead = list(sampler)  # everything is read, as by workers with a long queue
        for i, _ in enumerate(sampler.micro_batches(ahead)):
            if i == 10:
                break
        state = sampler.state_dict()
        self.assertEqual((state["step"], state["batch"]), (3, 9))  # 11 batches are 3 whole steps
        resumed = self.sampler(packs_per_rank=3)
        resumed.load_state_dict(state)
        self.assertEqual(list(resumed), whole[9:])

    def test_a_pass_has_a_state_of_its_own(self):
        """Tests the state that torchdata's StatefulDataLoader keeps, while the sampler's own state says what the loop
        has done, in the order of its calls. tests/python tries them on the real one."""
        sampler = self.sampler(packs_per_rank=3)
        whole = list(sampler)
        sampler.set_epoch(0)
        batches = iter(sampler)
        self.assertEqual(batches.state_dict()["batch"], 0)
        loop = sampler.micro_batches(batches)
        for _ in range(4):
            next(loop)
        ahead = [next(batches) for _ in range(3)]
        self.assertEqual((sampler.state_dict()["batch"], batches.state_dict()["batch"]), (3, 7))
        resumed = self.sampler(packs_per_rank=3)
        resumed.load_state_dict(sampler.state_dict())
        again = iter(resumed)
        again.load_state_dict(batches.state_dict())
        rest = list(resumed.micro_batches(again))
        self.assertEqual(ahead, whole[4:7])
        self.assertEqual([micro.batch for micro in rest], whole[7:])
        self.assertEqual((rest[0].step, rest[1].ends_step), (2, True))

    def test_the_end_of_an_epoch_as_torchdata_restores_it(self):
        before = self.sampler()
        batches = iter(before)
        whole = list(batches)
        state = batches.state_dict()
        self.assertEqual(state["batch"], len(whole))
        after = self.sampler()
        for epoch in (0, 1):
            after.set_epoch(epoch)
            after.load_state_dict(state)
            first = iter(after)
            first.load_state_dict(state)
            ahead = [next(first, None) for _ in range(4)]  # workers ask at once; then it begins another pass
            self.assertEqual(ahead[0] is None, epoch == 0)
            self.assertEqual(list(iter(after)), [] if epoch == 0 else list(self.sampler(epoch=1)))
        self.assertEqual(after.epoch, 1)

    def test_other_packs_than_the_servers_are_refused(self):
        sampler = self.sampler(packs_per_rank=2)
        next(iter(sampler))
        state = sampler.state_dict()
        for options, elastic in (({"packs_per_rank": 2}, False), ({}, True)):
            resumed = self.sampler(**options)
            with self.assertRaisesRegex(evenkeel.ResumeError, "other packs of epoch 0"):
                resumed.load_state_dict({**state, "packing": "0" * 32}, elastic=elastic)
            self.assertEqual((resumed.epoch, resumed.state_dict()["batch"]), (0, 0))
            resumed.load_state_dict(state, elastic=elastic)

    def test_a_refused_state_changes_nothing(self):
        sampler = self.sampler()
        whole = list(sampler)
        state = self.sampler(epoch=3).state_dict()
        with self.assertRaises(evenkeel.ResumeError):
            sampler.load_state_dict({**state, "batch": 10 ** 6})
        self.assertEqual((sampler.epoch, list(sampler)), (0, whole))

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
        for broken in ({}, {**state, "format": 99}, {**state, "batch": 10 ** 6}, {**state, "segments": [[1, 2]]}):
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
        state = between[1].state_dict()  # and a second time, on six ranks
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
