"""evenkeel.ray with a real Ray of two CPUs on this machine. Run by tests/ray/run.sh."""
import collections
import dataclasses
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np
import pyarrow
import pyarrow.parquet
import ray
import ray.data
from google.protobuf import json_format

import evenkeel
import evenkeel.ray
from evenkeel import stats
from evenkeel.lengths import LengthFileError, from_columns
from evenkeel.v1 import batching_pb2, job_pb2

RULE = {"unit_cap": 13, "token_cap": 4416}
LEAST_KILLS = 3
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def setUpModule():
    ray.init(num_cpus=2, object_store_memory=1 << 30, include_dashboard=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False


def tearDownModule():
    ray.shutdown()


def drawn(count, seed=0):
    chance = np.random.default_rng(seed)
    units = chance.integers(1, 6, count)
    return {"vit_num": units, "token_num": 256 * units + chance.integers(40, 400, count)}


def dataset(columns, block=70_001):
    count = len(next(iter(columns.values())))
    return ray.data.from_arrow([pyarrow.table({name: values[at:at + block] for name, values in columns.items()})
                                for at in range(0, count, block)])


def sorted_by_length(columns):
    order = np.lexsort((columns["token_num"], columns["vit_num"]))
    return {name: values[order] for name, values in columns.items()}


def workers(name):
    """Returns the processes of this Ray that run a task."""
    found, below = [], [os.getpid()]
    parents = collections.defaultdict(list)
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/stat", encoding="utf-8") as file:
                parents[int(file.read().rpartition(")")[2].split()[1])].append(int(process))
        except OSError:
            continue
    for parent in below:
        below.extend(parents[parent])
    for process in below:
        try:
            with open(f"/proc/{process}/cmdline", "rb") as file:
                if file.read().startswith(b"ray::" + name.encode()):
                    found.append(process)
        except OSError:
            continue
    return found


class Killer:
    """Kills workers that run one of the tasks, again and again, each some time after it began."""

    def __init__(self, names, most=6):
        self.killed, self._names, self._most, self._ended = [], names, most, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()

    def _run(self):
        while len(self.killed) < self._most and not self._ended.wait(0.05):
            for name in self._names:
                for process in workers(name)[:1]:
                    time.sleep(0.1)
                    try:
                        os.kill(process, signal.SIGKILL)
                        self.killed.append(name)
                    except ProcessLookupError:
                        pass


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="evenkeel-ray-")
        self.addCleanup(shutil.rmtree, self.folder)

    def packed(self, columns, rule=None, name="packs", block=70_001, **options):
        options.setdefault("partition_samples", 50_000)
        return evenkeel.ray.pack(dataset(columns, block), RULE if rule is None else rule,
                                 os.path.join(self.folder, name), **options)

    def all_packs(self, packs):
        """Returns sizes of all packs and their ids, one after the other, from the files."""
        sizes, ids = [], []
        for at in range(len(packs.manifest["partitions"])):
            sizes.append(np.diff(np.load(os.path.join(packs.folder, "packs", f"{at:06}.offsets.npy"))))
            ids.append(np.load(os.path.join(packs.folder, "packs", f"{at:06}.ids.npy")))
        return np.concatenate(sizes), np.concatenate(ids)

    def check_packs(self, packs, columns, caps):
        sizes, ids = self.all_packs(packs)
        count = len(columns["token_num"])
        self.assertTrue(np.array_equal(np.sort(ids), np.arange(count)), "samples are lost or doubled")
        starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
        for name, cap in caps.items():
            self.assertLessEqual(np.add.reduceat(columns[name][ids], starts).max(), cap)
        self.assertEqual(packs.pack_count, sizes.size)
        self.assertEqual(packs.sample_count, count)


class HistogramTest(Case):
    def test_it_is_that_of_all_samples_whatever_the_parts_and_their_order(self):
        columns = drawn(200_000)
        whole = evenkeel.histogram(from_columns(columns["token_num"], columns["vit_num"]))
        self.assertTrue(whole.exact)
        for block, partition in ((70_001, 30_000), (200_000, 7_777), (999, 1 << 22)):
            found = evenkeel.ray.histogram(dataset(columns, block), partition_samples=partition)
            self.assertEqual(stats.dump(found), stats.dump(whole))
        many = evenkeel.ray.histogram(dataset(columns), partition_samples=700)  # 286: three levels of merging
        self.assertEqual(stats.dump(many), stats.dump(whole))
        order = np.random.default_rng(1).permutation(200_000)
        shuffled = {name: values[order] for name, values in columns.items()}
        self.assertEqual(stats.dump(evenkeel.ray.histogram(dataset(shuffled), partition_samples=30_000)),
                         stats.dump(whole))

    def test_a_binned_histogram_is_that_of_all_samples(self):
        tokens = np.random.default_rng(2).integers(1, 100_000, 200_000)
        whole = evenkeel.histogram(from_columns(tokens))
        self.assertFalse(whole.exact)
        found = evenkeel.ray.histogram(dataset({"length": tokens}), partition_samples=30_000)
        self.assertEqual(stats.dump(found), stats.dump(whole))

    def test_several_encoders(self):
        columns = drawn(50_000)
        columns["audio"] = np.random.default_rng(3).integers(0, 9, 50_000)
        units = np.stack([columns["vit_num"], columns["audio"]], axis=1)
        found = evenkeel.ray.histogram(dataset(columns), units=["vit_num", "audio"], partition_samples=9_000)
        self.assertEqual(stats.dump(found), stats.dump(evenkeel.histogram(from_columns(columns["token_num"], units))))

    def test_a_job_takes_it(self):
        found = evenkeel.ray.histogram(dataset(drawn(50_000)))
        job = json_format.ParseDict({"dataset": {"histogram": found.to_json()}}, job_pb2.Job())
        self.assertEqual(sum(job.dataset.histogram.sample_count), 50_000)


class PackTest(Case):
    def test_packs_hold_every_sample_once_within_the_caps_and_are_near_the_bound(self):
        columns = drawn(300_000)
        packs = self.packed(columns)
        self.check_packs(packs, columns, {"vit_num": 13, "token_num": 4416})
        self.assertEqual(len(packs.manifest["partitions"]), 6)
        self.assertLessEqual(packs.excess, 0.001)
        at_once = evenkeel.pack(RULE, columns["token_num"], columns["vit_num"], data_parallel=1)
        self.assertLessEqual(packs.lower_bound, at_once.pack_count)
        self.assertLessEqual(packs.pack_count, 1.001 * at_once.pack_count)
        self.assertEqual(packs.lower_bound, evenkeel.lower_bound(RULE, stats.LengthCounts.of(
            from_columns(columns["token_num"], columns["vit_num"]))).packs)

    def test_packs_do_not_depend_on_blocks(self):
        columns = drawn(120_000)
        digests = {self.packed(columns, name=str(block), block=block).digest for block in (999, 70_001, 120_000)}
        self.assertEqual(len(digests), 1)

    def test_one_partition_is_packing_at_once(self):
        columns = drawn(60_000)
        packs = self.packed(columns, partition_samples=1 << 20)
        at_once = evenkeel.pack(RULE, columns["token_num"], columns["vit_num"], data_parallel=1)
        for number in (0, 1, packs.pack_count - 1):
            self.assertTrue(np.array_equal(packs.pack(number), at_once.pack(number)))
        self.assertEqual(packs.pack_count, at_once.pack_count)

    def test_partitions_that_are_unlike_say_so_and_spread_mends_it(self):
        columns = sorted_by_length(drawn(300_000))
        apart = self.packed(columns, name="apart")
        self.check_packs(apart, columns, {"vit_num": 13, "token_num": 4416})
        self.assertGreater(apart.excess, 0.01)
        spread = self.packed(columns, name="spread", spread=True)
        self.check_packs(spread, columns, {"vit_num": 13, "token_num": 4416})
        self.assertLessEqual(spread.excess, 0.001)
        self.assertFalse(os.path.exists(os.path.join(spread.folder, "spread")))
        again = self.packed(columns, name="again", spread=True, block=40_000)
        self.assertEqual(again.digest, spread.digest)

    def test_packs_name_the_ids_of_a_column(self):
        columns = drawn(30_000)
        columns["key"] = np.random.default_rng(4).permutation(10 ** 6)[:30_000]
        for spread in (False, True):
            _, ids = self.all_packs(self.packed(columns, name=str(spread), ids="key", partition_samples=8_000,
                                                spread=spread))
            self.assertTrue(np.array_equal(np.sort(ids), np.sort(columns["key"])))

    def test_text_alone_and_samples_over_the_cap(self):
        tokens = np.random.default_rng(5).integers(1, 3000, 40_000)
        tokens[[7, 30_001]] = 9_000
        alone = self.packed({"length": tokens}, {"token_cap": 8192}, name="alone", partition_samples=20_000)
        sizes, ids = self.all_packs(alone)
        self.assertTrue(np.array_equal(np.sort(ids), np.arange(40_000)))
        self.assertEqual(alone.manifest["rejected"], 0)
        rejected = self.packed({"length": tokens}, {"token_cap": 8192, "oversize_policy": "OVERSIZE_POLICY_REJECT"},
                               name="rejected", partition_samples=20_000)
        self.assertEqual(rejected.manifest["rejected"], 2)
        self.assertEqual(rejected.lower_bound, alone.lower_bound - 2)
        self.assertEqual(set(range(40_000)) - set(self.all_packs(rejected)[1].tolist()), {7, 30_001})

    def test_units_of_several_encoders(self):
        columns = drawn(40_000)
        columns["audio"] = np.random.default_rng(6).integers(0, 5, 40_000)
        rule = {"unit_cap": 60, "token_cap": 5000, "unit_scales": [4, 1]}
        packs = self.packed(columns, rule, units=["vit_num", "audio"], partition_samples=20_000)
        columns["scaled"] = 4 * columns["vit_num"] + columns["audio"]
        self.check_packs(packs, columns, {"scaled": 60, "token_num": 5000})
        self.assertGreaterEqual(packs.pack_count, packs.lower_bound)


class OrderTest(Case):
    def steps(self, epoch):
        return np.stack([epoch.step(at) for at in range(epoch.step_count)])

    def test_every_pack_has_one_place_and_only_the_last_step_lacks_some(self):
        packs = self.packed(drawn(120_000))
        epoch = evenkeel.ray.order(packs.folder, data_parallel=8, packs_per_rank=3)
        steps = self.steps(epoch)
        self.assertEqual(steps.shape[1:], (8, 3))
        self.assertTrue(np.array_equal(np.sort(steps[steps >= 0]), np.arange(packs.pack_count)))
        self.assertTrue((steps[:-1] >= 0).all())
        held = (steps[-1] >= 0).sum(axis=1)
        self.assertLessEqual(held.max() - held.min(), 1)
        self.assertLess(epoch.manifest["dist_ratio"]["tokens"], 0.01)
        partitions = np.searchsorted(packs.first_pack, steps[0].flat, side="right")
        self.assertGreater(np.unique(partitions).size, 1, "packs of one step come from several partitions")

    def test_it_is_repeated_by_the_same_seed_and_differs_by_epoch(self):
        packs = self.packed(drawn(60_000))
        first = self.steps(evenkeel.ray.order(packs.folder, data_parallel=4))
        shutil.rmtree(os.path.join(packs.folder, "epoch-0"))
        self.assertTrue(np.array_equal(first, self.steps(evenkeel.ray.order(packs.folder, data_parallel=4))))
        second = self.steps(evenkeel.ray.order(packs.folder, data_parallel=4, epoch=1))
        self.assertEqual(second.shape, first.shape)
        self.assertLess((first == second).mean(), 0.01)

    def test_many_shards_and_a_rank_reads_its_packs(self):
        before = evenkeel.ray.SHARD_PACKS
        evenkeel.ray.SHARD_PACKS = 1_000
        self.addCleanup(setattr, evenkeel.ray, "SHARD_PACKS", before)
        packs = self.packed(drawn(60_000))
        epoch = evenkeel.ray.order(packs.folder, data_parallel=4)
        self.assertGreater(len(epoch.manifest["steps"]), 10)
        read = [ids for rank in range(4) for step in epoch.of_rank(rank) for ids in step]
        self.assertTrue(np.array_equal(np.sort(np.concatenate(read)), np.arange(60_000)))
        self.assertEqual(sum(1 for _ in epoch.of_rank(0, first_step=5)), epoch.step_count - 5)


class KilledWorkersTest(Case):
    def test_they_lose_and_double_nothing(self):
        chance = np.random.default_rng(7)
        tokens = chance.integers(64, 4096, 600_000)
        columns = {"vit_num": tokens, "token_num": tokens // 4 + chance.integers(20, 400, 600_000)}
        rule = {"unit_cap": 16384, "token_cap": 8192}
        calm = self.packed(columns, rule, name="calm")
        spread_calm = self.packed(columns, rule, name="spread-calm", spread=True)
        with Killer(["pack_rows"]) as killer:
            stormy = self.packed(columns, rule, name="stormy")
        self.assertGreaterEqual(len(killer.killed), LEAST_KILLS)
        self.check_packs(stormy, columns, {"vit_num": 16384, "token_num": 8192})
        self.assertEqual(stormy.manifest, calm.manifest)
        with Killer(["spill", "pack_spread"]) as killer:
            spread = self.packed(columns, rule, name="spread", spread=True)
        self.assertGreaterEqual(len(killer.killed), LEAST_KILLS)
        self.check_packs(spread, columns, {"vit_num": 16384, "token_num": 8192})
        self.assertEqual(spread.manifest, spread_calm.manifest)
        with Killer(["deal_shard", "key_packs"], most=2) as killer:
            orders = [evenkeel.ray.order(packs.folder, data_parallel=1) for packs in (stormy, calm)]
        self.assertGreaterEqual(len(killer.killed), 1)
        self.assertEqual(*(np.concatenate([order.step(at) for at in range(order.step_count)]).tolist()
                           for order in orders))


class RefusalTest(Case):
    def test_arguments(self):
        columns = drawn(100)
        data = dataset(columns)
        for rule, options, what in (
                ({"unit_cap": 9}, {}, "token_cap"), ({"token_cap": 4096}, {}, "unit_cap"),
                (RULE, {"ids": "nope"}, 'no column "nope"'), (RULE, {"partition_samples": 0}, "partition_samples"),
                ({**RULE, "unit_scales": [1, 2]}, {}, "2 encoders"),
                (RULE, {"units": ["vit_num", "token_num"]}, "unit_scales")):
            with self.assertRaisesRegex(ValueError, what):
                evenkeel.ray.pack(data, rule, os.path.join(self.folder, "x"), **options)
        with self.assertRaisesRegex(evenkeel.InvalidRequestError, "token_cap"):
            evenkeel.ray.pack(data, {"unit_cap": 9, "token_cap": -1}, os.path.join(self.folder, "x"))
        with self.assertRaisesRegex(TypeError, "ray.data.Dataset"):
            evenkeel.ray.histogram([1, 2])
        with self.assertRaisesRegex(ValueError, "no column of lengths"):
            evenkeel.ray.histogram(dataset({"words": np.arange(1, 9)}))

    def test_values(self):
        for values, what in ((np.array([5, 0, 7]), "record 1: tokens must be 1"), (np.array([1.5]), "type double"),
                             (pyarrow.array([1, None, 3]), "nulls")):
            with self.assertRaisesRegex(LengthFileError, what):
                evenkeel.ray.histogram(ray.data.from_arrow(pyarrow.table({"length": values})))

    def test_folders(self):
        packs = self.packed(drawn(2_000))
        with self.assertRaises(FileExistsError):
            self.packed(drawn(2_000))
        with self.assertRaisesRegex(FileNotFoundError, "manifest"):
            packs.epoch(0)
        with self.assertRaisesRegex(ValueError, "data_parallel"):
            evenkeel.ray.order(packs.folder)
        evenkeel.ray.order(packs.folder, data_parallel=2)
        with self.assertRaises(FileExistsError):
            evenkeel.ray.order(packs.folder, data_parallel=2)
        with self.assertRaises(IndexError):
            packs.pack(packs.pack_count)
        with self.assertRaisesRegex(ValueError, "rank is 2"):
            next(packs.epoch(0).of_rank(2))

    def test_a_bound_needs_caps(self):
        counted = stats.LengthCounts.of(from_columns(np.array([5, 6]), np.array([1, 2])))
        for rule in ({"token_cap": 10}, {"unit_cap": 3}):
            with self.assertRaisesRegex(evenkeel.InvalidRequestError, "must be set"):
                evenkeel.lower_bound(rule, counted)
        self.assertEqual(evenkeel.lower_bound(batching_pb2.BatchRule(unit_cap=3, token_cap=10), counted),
                         (2, "volume"))

    def test_a_bound_of_100_billion_samples(self):
        columns = drawn(100_000)
        counted = stats.LengthCounts.of(from_columns(columns["token_num"], columns["vit_num"]))
        few = evenkeel.lower_bound(RULE, counted)
        many = evenkeel.lower_bound(RULE, dataclasses.replace(counted, count=1_000_000 * counted.count))
        self.assertEqual(many.method, few.method)
        self.assertLessEqual(abs(many.packs / 1e6 - few.packs), 1)


class DocsTest(Case):
    def test_every_block_of_the_page_runs(self):
        chance = np.random.default_rng(8)
        os.mkdir(os.path.join(self.folder, "lengths"))
        for part in range(3):
            table = pyarrow.table({"length": chance.integers(100, 4000, 20_000)})
            pyarrow.parquet.write_table(table, os.path.join(self.folder, "lengths", f"{part}.parquet"))
        with open(os.path.join(ROOT, "docs", "RAY.md"), encoding="utf-8") as file:
            program = "\n".join(re.findall(r"^```python\n(.*?)^```$", file.read(), re.S | re.M))
        done = subprocess.run([sys.executable, "-c", program], cwd=self.folder, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=400, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"packs, at most 0\.\d+% more(.|\n)*samples in the first pack of rank 0")


if __name__ == "__main__":
    unittest.main()
