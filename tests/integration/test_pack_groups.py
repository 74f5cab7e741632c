"""Tests `evenkeelctl pack --groups`: the files follow docs/PACK_ORDER.md, according to an independent twin."""
import array
import ast
import json
import os
import random
import struct
import sys
import tempfile
import unittest

import harness
from harness import Server

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "reference"))

import group_order_twin as twin  # noqa: E402

FILES = ("pack_offsets", "sample_index", "step_order", "step_offsets", "step_group", "loss_normalizer")


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    size, = struct.unpack("<H", data[8:10])
    header = ast.literal_eval(data[10:10 + size].decode())
    values = array.array({"<i8": "q", "<f8": "d"}[header["descr"]], data[10 + size:]).tolist()
    assert header["shape"] == (len(values),), header
    return values


def lengths(count, seed=3):
    """Returns (units, tokens, loss tokens): mostly short, some long, few of them longer than the last group."""
    chance = random.Random(seed)
    tokens = [min(9000, int(chance.lognormvariate(4.5, 1.4)) + 1) for _ in range(count)]
    return [(0, t, chance.randrange(t + 1)) for t in tokens]


class PackGroupsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="evenkeel-groups-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, samples, loss=True):
        path = os.path.join(self.folder, "lengths.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            for _, tokens, some in samples:
                record = {"llm_tokens": tokens, **({"loss_tokens": some} if loss else {})}
                file.write(json.dumps(record) + "\n")
        return path

    def pack(self, *arguments, out="out"):
        folder = os.path.join(self.folder, out)
        done = harness.run([harness.CTL, "pack", "--local", *arguments, "--output", folder])
        self.assertEqual(done.returncode, 0, done.stderr)
        return folder, done.stdout

    def check(self, folder, samples, groups, window, seed, epoch, curriculum):
        files = {name: read_npy(os.path.join(folder, name + ".npy")) for name in FILES}
        with open(os.path.join(folder, "summary.json"), encoding="utf-8") as file:
            summary = json.load(file)
        offsets, index, order = files["pack_offsets"], files["sample_index"], files["step_order"]
        packs = [index[a:b] for a, b in zip(offsets, offsets[1:])]
        counts = [g["pack_count"] for g in summary["groups"]]
        self.assertEqual(sum(counts), len(packs))
        self.assertEqual(sorted(index), list(range(len(samples))))

        # The longest group comes first. Every pack holds its own samples and those that GreedyFill adds.
        homes = [twin.home_of(groups, u, t) for u, t, _ in samples]
        left = set(range(len(samples)))
        for g in reversed(range(len(groups))):
            shorter = {i for i in left if homes[i] < g}
            first = sum(counts[:g])
            for pack in packs[first:first + counts[g]]:
                own = [i for i in pack if homes[i] == g]
                tokens = sum(samples[i][1] for i in pack)
                self.assertTrue(tokens <= groups[g].length or len(pack) == 1)
                added = twin.fill(groups[g], samples, own, shorter, homes)
                self.assertEqual(sorted(samples[i][1] for i in pack if homes[i] != g),
                                 sorted(samples[i][1] for i in added))
                # To GreedyFill, samples of one length are the same. So those that were really taken are removed.
                shorter |= set(added)
                shorter -= set(pack)
                left -= set(pack)
            self.assertTrue(counts[g] % groups[g].step_packs() == 0 or not shorter)

        of, expected, leading = twin.grouped_order(
            twin.work_of(samples, packs), counts, groups, window, seed, epoch, curriculum)
        self.assertEqual(files["step_group"], of)
        self.assertEqual(order, expected)
        self.assertEqual(summary["curriculum_step_count"], leading)
        steps = files["step_offsets"]
        self.assertEqual([b - a for a, b in zip(steps, steps[1:])], [groups[g].step_packs() for g in of])
        self.assertEqual(files["loss_normalizer"],
                         twin.loss_normalizers([s[2] for s in samples], packs, groups, of, order))
        shares = [g.shared * count for g, count in zip(groups, counts)]
        shared = sum(share for share, g in zip(shares, groups) if g.shared > 1)
        self.assertAlmostEqual(summary["communication_ratio"], shared / sum(shares), places=12)
        return of

    def test_two_groups_as_the_text_has_them(self):
        samples = lengths(6000)
        folder, said = self.pack(self.write(samples), "--groups", "1024:1,4096:4", "--dp", "8", "--window", "all",
                                 "--seed", "5", "--epoch", "1", "--curriculum", "200")
        self.assertIn("Communication ratio (CR)", said)
        groups = [twin.Group(1024, 1, 8), twin.Group(4096, 4, 2)]
        of = self.check(folder, samples, groups, 10 ** 9, 5, 1, 200)
        self.assertEqual(set(of), {0, 1})

    def test_three_groups_with_packs_per_rank_and_a_short_supply(self):
        samples = lengths(300, seed=8)
        folder, _ = self.pack(self.write(samples), "--groups", "256:1:2,1024:2:3,8192:4:1", "--dp", "4",
                              "--window", "2")
        groups = [twin.Group(256, 1, 4, 2), twin.Group(1024, 2, 2, 3), twin.Group(8192, 4, 1, 1)]
        self.check(folder, samples, groups, 2, 0, 0, 0)

    def test_server_and_local_give_the_same_files(self):
        samples = lengths(3000, seed=4)
        more = (self.write(samples), "--groups", "1024:1,4096:4", "--dp", "8")
        here, _ = self.pack(*more)
        there = os.path.join(self.folder, "there")
        with Server() as server:
            done = server.ctl("pack", *more, "--output", there)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in [f"{name}.npy" for name in FILES] + ["summary.json"]:
            with open(os.path.join(here, name), "rb") as a, open(os.path.join(there, name), "rb") as b:
                self.assertEqual(a.read(), b.read(), name)

    def test_what_does_not_go_together_is_refused_by_name(self):
        source = self.write(lengths(20), loss=False)
        for arguments, said in (
                (("--groups", "1024:3", "--dp", "8"), 'SP of "1024:3" must divide the data-parallel ranks (--dp 8)'),
                (("--groups", "1024", "--dp", "8"), "a group is LENGTH:SP"),
                (("--groups", "1024:1,1000:2", "--dp", "8"), "start.groups[1].length_tokens: must be above"),
                (("--groups", "1024:1", "--dp", "8", "--xtuner", os.path.join(self.folder, "x")), "--xtuner"),
                (("--groups", "1024:1", "--dp", "8", "--token-cap", "9"), "--unit-cap or --token-cap"),
                (("--curriculum", "5", "--dp", "8"), "--curriculum needs packing groups")):
            done = harness.run([harness.CTL, "pack", "--local", source, *arguments])
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main()
