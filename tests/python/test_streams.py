"""Tests evenkeel.streams and evenkeel.energon on the real packages, each that is installed."""
import importlib.util
import io
import json
import os
import random
import tarfile
import tempfile
import unittest

import evenkeel

CAPS = {"units": 9, "tokens": 4096}
LENGTHS = {"units": "tiles", "tokens": "ids"}
COUNT = 300


def samples(count=COUNT, seed=1):
    chance = random.Random(seed)
    made = []
    for i in range(count):
        tiles = chance.choice((1, 1, 3, 4, 5, 5, 5))
        made.append({"id": i, "tiles": tiles, "ids": [i % 100] * (8 * tiles + 10 + chance.randrange(40))})
    return made


def ids(pack):
    return [int(sample["id"]) for sample in pack.samples]


def there(*names):
    missing = [name for name in names if importlib.util.find_spec(name.split(".", maxsplit=1)[0]) is None]
    return unittest.skipIf(missing, f"no {missing} here")


class Case(unittest.TestCase):
    def check(self, batches, count=COUNT):
        self.assertEqual(sorted(i for batch in batches for i in batch), list(range(count)))
        units = {sample["id"]: sample["tiles"] for sample in samples()}
        for batch in batches:
            self.assertLessEqual(sum(units[i] for i in batch), 9)

    def resumes(self, make, counts=(1, 7, 40)):
        """make returns a new stream. The state goes through JSON."""
        whole = list(make())
        for count in counts:
            stream = make()
            items = iter(stream)
            first = [next(items) for _ in range(count)]
            state = json.loads(json.dumps(stream.state_dict()))
            other = make()
            other.load_state_dict(state)
            self.assertEqual(first + list(other), whole, count)


@there("datasets")
class HuggingFaceTest(Case):
    def dataset(self, shards=4):
        import datasets
        return datasets.Dataset.from_list(samples()).to_iterable_dataset(num_shards=shards)

    def stream(self, **options):
        return evenkeel.streams.huggingface(self.dataset(), CAPS, LENGTHS, collate=ids, window=128, **options)

    def test_every_sample_once(self):
        self.check(list(self.stream()))

    def test_resumes(self):
        self.resumes(self.stream)
        self.resumes(lambda: self.stream(samples_in_state=False, sample_at=list(self.dataset()).__getitem__))

    @there("torch")
    def test_workers(self):
        from torch.utils.data import DataLoader
        self.check(list(DataLoader(self.stream(), batch_size=None, num_workers=2)))

    @there("torchdata")
    def test_stateful_data_loader(self):
        from torchdata.stateful_dataloader import StatefulDataLoader
        for workers in (0, 2):
            def make():
                return StatefulDataLoader(self.stream(), batch_size=None, num_workers=workers)
            whole = list(make())
            self.check(whole)
            for count in (3, 50):
                loader = make()
                items = iter(loader)
                first = [next(items) for _ in range(count)]
                state = loader.state_dict()
                del items
                other = make()
                other.load_state_dict(state)
                self.assertEqual(first + list(other), whole, (workers, count))

    def test_ranks(self):
        import datasets.distributed
        shared = [list(self.stream(rank=rank, ranks=2)) for rank in range(2)]
        self.assertEqual(len(shared[0]), len(shared[1]))
        own = []
        for rank in range(2):
            part = datasets.distributed.split_dataset_by_node(self.dataset(), rank, 2)
            own += list(evenkeel.streams.huggingface(part, CAPS, LENGTHS, collate=ids, window=128))
        self.check(own)

    def test_a_map_style_dataset_is_refused(self):
        import datasets
        with self.assertRaisesRegex(TypeError, "to_iterable_dataset"):
            evenkeel.streams.huggingface(datasets.Dataset.from_list(samples(3)), CAPS, LENGTHS)


@there("streaming")
class MosaicTest(Case):
    def setUp(self):
        import numpy as np
        from streaming import MDSWriter
        folder = tempfile.TemporaryDirectory(prefix="evenkeel-mds-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        with MDSWriter(out=self.folder, columns={"id": "int", "tiles": "int", "ids": "ndarray"},
                       size_limit=1 << 17) as writer:
            for sample in samples():
                writer.write({**sample, "ids": np.array(sample["ids"], np.int32)})

    def stream(self, **options):
        from streaming import StreamingDataset
        from streaming.base.util import clean_stale_shared_memory
        clean_stale_shared_memory()
        dataset = StreamingDataset(local=self.folder, shuffle=True, shuffle_seed=3, batch_size=1)
        return evenkeel.streams.mosaic(dataset, CAPS, LENGTHS, collate=ids, window=128, **options)

    def positions(self):
        """Samples by their place in the first epoch."""
        from streaming import StreamingDataset
        from streaming.base.util import clean_stale_shared_memory
        clean_stale_shared_memory()
        return list(StreamingDataset(local=self.folder, shuffle=True, shuffle_seed=3, batch_size=1))

    def test_every_sample_once_in_each_epoch(self):
        stream = self.stream()
        first, second = list(stream), list(stream)
        self.check(first)
        self.check(second)
        self.assertNotEqual(first, second)

    def test_resumes(self):
        held = self.positions()
        self.resumes(lambda: self.stream(samples_in_state=False, sample_at=held.__getitem__), (1, 40))

    def test_workers(self):
        from torch.utils.data import DataLoader
        self.check(list(DataLoader(self.stream(), batch_size=None, num_workers=2)))

    def test_what_it_cannot_do_is_refused(self):
        with self.assertRaisesRegex(ValueError, "ranks is 2"):
            self.stream(ranks=2)
        with self.assertRaisesRegex(TypeError, "StreamingDataset"):
            evenkeel.streams.mosaic(samples(3), CAPS, LENGTHS)


def write_tars(folder, shards=3):
    """Writes WebDataset shards. Returns their paths."""
    paths = []
    for shard in range(shards):
        paths.append(os.path.join(folder, f"shard-{shard:06d}.tar"))
        with tarfile.open(paths[-1], "w") as tar:
            for sample in samples()[shard::shards]:
                data = json.dumps(sample).encode()
                member = tarfile.TarInfo(f"{sample['id']:06d}.json")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    return paths


class TarCase(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="evenkeel-tars-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.paths = write_tars(self.folder)


def json_lengths(sample):
    return {"units": sample["json"]["tiles"], "tokens": len(sample["json"]["ids"])}


def json_ids(pack):
    return [sample["json"]["id"] for sample in pack.samples]


@there("webdataset")
class WebDatasetTest(TarCase):
    def pipeline(self):
        import webdataset
        return webdataset.WebDataset(self.paths, shardshuffle=False).decode()

    def test_a_stage(self):
        stage = evenkeel.streams.webdataset_stage(CAPS, json_lengths, collate=json_ids, window=128)
        data = self.pipeline().compose(stage)
        first = list(data)
        self.check(first)
        self.assertEqual(list(data), first)

    def test_workers(self):
        import webdataset
        stage = evenkeel.streams.webdataset_stage(CAPS, json_lengths, collate=json_ids, window=128)
        self.check(list(webdataset.WebLoader(self.pipeline().compose(stage), batch_size=None, num_workers=2)))

    def test_resumes(self):
        self.resumes(lambda: evenkeel.streams.packed(
            ({"json": s["json"]} for s in self.pipeline()), CAPS, json_lengths, collate=json_ids, window=128))

    def test_wrong_arguments_are_refused_at_once(self):
        with self.assertRaisesRegex(ValueError, "window"):
            evenkeel.streams.webdataset_stage(CAPS, json_lengths, window=0)


@there("megatron.energon")
class EnergonTest(TarCase):
    def loader(self, buffer=128):
        import energon_task
        from megatron import energon
        workers = energon.WorkerConfig(rank=0, world_size=1, num_workers=0)
        data = energon.get_train_dataset(
            self.folder, batch_size=1, shuffle_buffer_size=None, max_samples_per_sequence=None, repeat=False,
            packing_buffer_size=buffer, worker_config=workers, task_encoder=energon_task.Encoder())
        return energon.get_savable_loader(data)

    def setUp(self):
        super().setUp()
        from megatron.energon.flavors import webdataset
        webdataset.BaseWebdatasetFactory.prepare_dataset(
            self.folder, [os.path.basename(path) for path in self.paths], split_parts_ratio=[("train", 1.0)],
            shuffle_seed=None)
        with open(os.path.join(self.folder, ".nv-meta", "dataset.yaml"), "w", encoding="utf-8") as file:
            file.write("__module__: megatron.energon\n__class__: CrudeWebdataset\n")

    def test_every_sample_once(self):
        self.check([batch for batch in self.loader()])

    def test_resumes(self):
        whole = list(self.loader())
        loader = self.loader()
        items = iter(loader)
        first = [next(items) for _ in range(40)]
        state = loader.save_state_rank()
        other = self.loader()
        other.restore_state_rank(state)
        self.assertEqual(first + list(other), whole)

    def test_what_is_missing_is_named(self):
        from evenkeel.energon import EnergonPacking
        with self.assertRaisesRegex(ValueError, "pack_caps"):
            EnergonPacking().select_samples_to_pack([1])
        with self.assertRaisesRegex(NotImplementedError, "pack_selected_samples"):
            EnergonPacking().pack_selected_samples([1])


if __name__ == "__main__":
    unittest.main()
