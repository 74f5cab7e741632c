"""Tests evenkeel.lengths and `python -m evenkeel stats`: same results as evenkeelctl, and clear refusals."""
import io
import json
import os
import random
import re
import sys
import tempfile
import unittest

import harness

import numpy as np

import evenkeel
from evenkeel import lengths, stats
from evenkeel.v1 import job_pb2


def draw(count, seed=1, spread=400.):
    chance = random.Random(seed)
    return [(chance.choice((0, 1, 3, 5)), 1 + int(chance.expovariate(1 / spread))) for _ in range(count)]


class FilesCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="evenkeel-lengths-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def omnibal(self, name, samples):
        return self.write(name, json.dumps([{"vit_num": u, "token_num": t, "image_flags": u} for u, t in samples],
                                           indent=4))

    def json_lines(self, name, samples):
        return self.write(name, "\n".join(json.dumps({"units": u, "llm_tokens": t}) for u, t in samples) + "\n\n")

    def npy(self, name, samples, dtype="<i4"):
        np.save(self.path(name), np.array(samples, dtype))
        return self.path(name)

    def python(self, *arguments):
        return harness.run([sys.executable, "-m", "evenkeel", "stats", *arguments],
                           environment={"PYTHONPATH": harness.PROTOS.name})


class StatsTest(FilesCase):
    def compare(self, *paths):
        """Compares the histogram, byte for byte, and every figure of the table."""
        ctl, ours = (run("--output", "json") for run in (
            lambda *a: harness.run([harness.CTL, "stats", *paths, *a]), lambda *a: self.python(*paths, *a)))
        self.assertEqual((ctl.returncode, ours.returncode), (0, 0), ctl.stderr + ours.stderr)
        self.assertEqual(ours.stdout, ctl.stdout)
        ctl, ours = harness.run([harness.CTL, "stats", *paths]).stdout, self.python(*paths).stdout

        def rows(text):
            return {line.split()[0]: line.split() for line in map(str.strip, text.splitlines())
                    if line.startswith(("tokens ", "units ")) and line.split()[1][0].isdigit()}
        self.assertEqual(rows(ours), rows(ctl))
        described = " ".join(" ".join(ctl.split()).split("histogram ")[1].split("bytes")[0].split())
        self.assertIn(described, " ".join(ours.split()))
        return ours

    def test_all_formats(self):
        samples = draw(5000)
        text = [(0, t) for _, t in samples]
        for paths in ((self.omnibal("a", samples),), (self.json_lines("b", samples),), (self.npy("c.npy", samples),),
                      (self.npy("d.npy", [t for _, t in samples], "<i8"),),
                      (self.write("e", "\n".join(json.dumps({"length": t}) for _, t in text)),),
                      (self.omnibal("f", samples[:9]), self.json_lines("g", samples[9:50]),
                       self.npy("h.npy", samples))):
            with self.subTest(paths=[os.path.basename(p) for p in paths]):
                self.compare(*paths)

    def test_several_encoders(self):
        chance = random.Random(5)
        samples = [(chance.choice((0, 256, 1024)), chance.randrange(0, 90), chance.randrange(1, 3000))
                   for _ in range(30_000)]
        lines = "\n".join(json.dumps({"llm_tokens": 1 + i} if i % 3 == 0 else {"units": [u, v], "length": t})
                          for i, (u, v, t) in enumerate(samples[:3000]))
        for paths in ((self.npy("a.npy", samples),), (self.write("b", lines),),
                      (self.npy("c.npy", [t for *_, t in samples[:9]]), self.npy("d.npy", samples[:2000])),
                      (self.npy("e.npy", [(u, 0, t) for u, _, t in samples[:9]]),)):
            with self.subTest(paths=[os.path.basename(p) for p in paths]):
                self.compare(*paths)
        read = evenkeel.read_lengths(self.write("b", lines))
        self.assertEqual(read.units.shape, (3000, 2))
        for content in ('{"length": 5, "units": [1, 2]}\n{"length": 5, "units": 3}', '[{"length": 5, "units": []}]',
                        '[{"length": 5, "units": [1, 2, 3, 4, 5]}]', '[{"length": 5, "units": [1, -1]}]',
                        '[{"length": 5, "units": [1, "2"]}]'):
            path = self.write("bad", content)
            self.assertEqual((self.python(path).returncode, harness.run([harness.CTL, "stats", path]).returncode),
                             (2, 2), content)

    def test_bins(self):
        """There are too many lengths to be exact: tokens, and then units, are binned at the widths 2^k and 3 x 2^k."""
        widths = set()
        for spread in (2000., 2800., 4000.):
            shown = self.compare(self.npy("a.npy", draw(100_000, spread=spread)))
            widths.add(int(re.search(r"bins (\d+) tokens wide", shown)[1]))
        self.assertEqual({width % 3 == 0 for width in widths}, {True, False}, widths)
        chance = random.Random(3)
        wide = [(chance.randrange(1_000_000), chance.randrange(1, 1 << 24)) for _ in range(20_000)]
        self.assertIn("units wide", self.compare(self.npy("c.npy", wide, "<i8")))
        self.compare(self.npy("d.npy", [(1_000_000, 1 << 24)] * 3, "<i8"))

    def test_what_comes_out_plans(self):
        samples = draw(3000)
        path = self.omnibal("a", [(u, 256 * u + t) for u, t in samples])
        done = self.python(path, "--histogram-out", self.path("h.json"), "--job", harness.JOB, "--job-out",
                           self.path("job.json"), "--npy-out", self.path("n.npy"))
        self.assertEqual(done.returncode, 0, done.stderr)
        plans = []
        for arguments in (["--job", self.path("job.json")], ["--job", harness.JOB, "--dataset", self.path("h.json")],
                          ["--job", harness.JOB, "--dataset", path],
                          ["--job", harness.JOB, "--dataset", self.path("n.npy")]):
            planned = harness.run([harness.CTL, "plan", "--local", *arguments, "--output", "json"])
            self.assertEqual(planned.returncode, 0, planned.stderr)
            plans.append(json.loads(planned.stdout)["plan_id"])
        self.assertEqual(plans, [plans[0]] * 4)

    def test_the_size_is_that_of_the_message(self):
        for samples in (draw(10), draw(2000), [(0, 5)], [(0, 127), (0, 128), (10 ** 6, 1 << 24)]):
            made = stats.histogram(lengths.from_columns([t for _, t in samples], [u for u, _ in samples]))
            message = job_pb2.Histogram(units=made.units.tolist(), llm_tokens=made.llm_tokens.tolist(),
                                        sample_count=made.sample_count.tolist())
            self.assertEqual(made.size_bytes, message.ByteSize())
        made = stats.histogram(lengths.from_columns([5, 6], [[1, 0], [0, 300]]))
        message = job_pb2.Histogram(units=made.units.reshape(-1).tolist(), llm_tokens=made.llm_tokens.tolist(),
                                    sample_count=made.sample_count.tolist(), encoder_count=2)
        self.assertEqual(made.size_bytes, message.ByteSize())


class ReadersTest(FilesCase):
    def test_negative_lengths_are_text_only(self):
        path = self.npy("a.npy", [5, -7, 9])
        read = evenkeel.read_lengths(path)
        self.assertEqual((read.tokens.tolist(), read.units.tolist()), ([5, 7, 9], [0, 0, 0]))
        self.assertEqual(evenkeel.read_lengths(path, image_units=3).units.tolist(), [3, 0, 3])
        self.assertIn("tokens  7.00    5", self.python(path).stdout)
        with self.assertRaisesRegex(evenkeel.LengthFileError, "no image, but units do"):
            evenkeel.read_lengths(self.json_lines("b", [(2, -7)]))

    def test_order_parts_and_loss_tokens(self):
        records = [{"length": 9, "loss_tokens": 4}, {"length": 8, "loss_tokens": 0}]
        paths = [self.write(n, "\n".join(json.dumps(r) for r in records)) for n in ("a", "b")]
        read = evenkeel.read_lengths(paths)
        self.assertEqual((read.tokens.tolist(), read.loss_tokens.tolist()), ([9, 8] * 2, [4, 0] * 2))
        self.assertEqual([count for _, count in read.parts], [2, 2])
        with self.assertRaisesRegex(evenkeel.LengthFileError, "for all samples or for none"):
            evenkeel.read_lengths([*paths, self.npy("c.npy", [5])])

    def test_refusals_name_the_place(self):
        for text, fault in (("[{\"length\": 5}, {\"size\": 5}]", "record 1: no tokens"),
                            ("{\"length\": 5}\n\n{\"length\": 1.5}", ":3: record 1: \"length\" is 1.5"),
                            ("{\"length\": true}", "an integer is needed"),
                            ("{\"length\": 5, \"token_num\": 5}", "says again"),
                            ("{\"length\": 0}", "tokens must be 1 to 16777216, not 0"),
                            ("{\"length\": 5, \"units\": -1}", "units must be 0"),
                            ("{\"length\": 5, \"loss_tokens\": 6}", "loss_tokens must be"),
                            ("[1]", "must be an object"), ("{\"length\": 5", "not JSON"), ("", "is empty"),
                            ("[]", "no samples"), ("hello", "is not a length file")):
            with self.subTest(text):
                done = self.python(self.write("bad", text))
                self.assertEqual(done.returncode, 2)
                self.assertIn(fault, done.stderr)
                self.assertNotIn("Traceback", done.stderr)
        for array, fault in ((np.zeros((2, 6), np.int64), "shape"), (np.ones(3), "dtype float64")):
            np.save(self.path("bad.npy"), array)
            self.assertIn(fault, self.python(self.path("bad.npy")).stderr)
        self.assertIn("no-such-file", self.python("no-such-file").stderr)
        buffer = io.BytesIO()
        np.save(buffer, np.array([{}], object), allow_pickle=True)
        with open(self.path("pickle.npy"), "wb") as file:
            file.write(buffer.getvalue())
        self.assertEqual(self.python(self.path("pickle.npy")).returncode, 2)


if __name__ == "__main__":
    unittest.main()
