"""Tests torchdata's StatefulDataLoader: it resumes in the middle of an epoch to the identical stream, with workers and
without, and reports for each batch what the sampler reports."""
import io
import unittest

import torch
from torchdata.stateful_dataloader import StatefulDataLoader

import evenkeel
import server
import toy

RULE = {"token_cap": 256, "seed": 4}
SIZES = toy.lengths(400, 0)


class StatefulTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server.Server()
        cls.addClassCleanup(cls.server.stop)

    def make(self, rank=1, **options):
        sampler = evenkeel.EvenkeelBatchSampler(self.server.address, RULE, SIZES, loss_tokens=SIZES - 1, rank=rank,
                                                world_size=3, packs_per_rank=2)
        return sampler, StatefulDataLoader(toy.Sequences(SIZES, 0), batch_sampler=sampler, collate_fn=toy.collate,
                                           **options)

    KINDS = ({}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True},
             {"num_workers": 3, "prefetch_factor": 4})

    @staticmethod
    def through_a_file(state):
        file = io.BytesIO()
        torch.save(state, file)
        file.seek(0)
        return torch.load(file, weights_only=True)

    @staticmethod
    def told(micros):
        return [(m.batch[0], m.epoch, m.step, m.ends_step, m.loss_scale, m.is_dummy) for m in micros]

    def test_the_loop_resumes_to_the_identical_stream(self):
        for options in self.KINDS:
            sampler, loader = self.make(**options)
            whole = self.told(sampler.micro_batches(loader))
            self.assertEqual(len(whole), len(loader))
            sampler.set_epoch(1)
            second = self.told(sampler.micro_batches(loader))
            for place in (1, 2, 7, 12, len(whole)):
                with self.subTest(place=place, **options):
                    sampler, loader = self.make(**options)
                    head, loop = [], sampler.micro_batches(loader)
                    while len(head) < place:
                        head += self.told([next(loop)])
                    state = self.through_a_file(loader.state_dict())
                    self.assertEqual(head, whole[:place])
                    again, loader = self.make(**options)
                    loader.load_state_dict(state)
                    again.set_epoch(0)
                    tail = self.told(again.micro_batches(loader))
                    self.assertEqual(head + tail, whole)
                    again.set_epoch(1)
                    self.assertEqual(self.told(again.micro_batches(loader)), second)

    def test_without_the_loop(self):
        for options in self.KINDS:
            with self.subTest(**options):
                _, loader = self.make(**options)
                whole = [batch[0] for batch in loader]
                _, loader = self.make(**options)
                batches = iter(loader)
                head = [next(batches)[0] for _ in range(5)]
                state = self.through_a_file(loader.state_dict())
                _, loader = self.make(**options)
                loader.load_state_dict(state)
                self.assertEqual(head + [batch[0] for batch in loader], whole)

    def test_after_a_whole_epoch_comes_the_next(self):
        for options in self.KINDS:
            with self.subTest(**options):
                sampler, loader = self.make(**options)
                for _ in sampler.micro_batches(loader):
                    pass
                state = self.through_a_file(loader.state_dict())
                sampler.set_epoch(1)
                second = self.told(sampler.micro_batches(loader))
                again, loader = self.make(**options)
                loader.load_state_dict(state)
                again.set_epoch(1)
                self.assertEqual(self.told(again.micro_batches(loader)), second)
                again.set_epoch(2)
                self.assertEqual({told[1] for told in self.told(again.micro_batches(loader))}, {2})

    def test_another_plan_is_refused(self):
        _, loader = self.make()
        next(iter(loader))
        sampler = evenkeel.EvenkeelBatchSampler(self.server.address, {**RULE, "seed": 5}, SIZES, rank=1, world_size=3,
                                                packs_per_rank=2)
        other = StatefulDataLoader(toy.Sequences(SIZES, 0), batch_sampler=sampler, collate_fn=toy.collate)
        other.load_state_dict(loader.state_dict())
        with self.assertRaisesRegex(evenkeel.ResumeError, "seed 4, this sampler has seed 5"):
            iter(other)

    def test_snapshots_that_lose_the_place_are_refused(self):
        sampler, loader = self.make(num_workers=2, snapshot_every_n_steps=3)
        with self.assertRaisesRegex(ValueError, "snapshot_every_n_steps"):
            next(sampler.micro_batches(loader))


if __name__ == "__main__":
    unittest.main()
