"""Tests `evenkeelctl pack`: length files to packs, order, XTuner's preset and report, with and without server."""
import array
import ast
import json
import os
import random
import struct
import tempfile
import unittest

import harness
from harness import Server

CAPS = ("--unit-cap", "13", "--token-cap", "4416")
RESULTS = ("pack_offsets.npy", "sample_index.npy", "step_order.npy", "summary.json")


def lengths(count, seed=5):
    """Returns (units, tokens) of tiles and text, similar to a chart question set."""
    chance = random.Random(seed)
    samples = []
    for _ in range(count):
        units = chance.choice([1, 3, 5, 5, 5, 7, 9, 13])
        samples.append((units, min(4416, units * 256 + chance.randrange(20, 400))))
    return samples


def read_npy(path):
    """Returns (shape, values) of an int64 .npy, format 1.0."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x93NUMPY\x01\x00", path
    size, = struct.unpack("<H", data[8:10])
    header = ast.literal_eval(data[10:10 + size].decode())
    assert header["descr"] == "<i8" and header["fortran_order"] is False, header
    values = array.array("q", data[10 + size:])
    count = 1
    for length in header["shape"]:
        count *= length
    assert count == len(values), path
    return header["shape"], values.tolist()


def npy(samples):
    header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({len(samples)}, 2), }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + b"".join(
        struct.pack("<ii", *sample) for sample in samples)


def omnibal(samples):
    return json.dumps([{"vit_num": u, "token_num": t, "image_flags": u} for u, t in samples]).encode()


def json_lines(samples):
    return "".join(f'{{"units": {u}, "llm_tokens": {t}}}\n' for u, t in samples).encode()


class PackCliTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.__exit__)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="evenkeel-pack-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def read(self, *names):
        with open(os.path.join(self.folder, *names), "rb") as file:
            return file.read()

    def local(self, *arguments, **options):
        return harness.run([harness.CTL, "pack", "--local", *arguments], **options)

    def packed(self, *arguments):
        done = self.local(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def check(self, out, samples, caps, alone=(), rejected=()):
        """Checks the content of the files by the definitions only. Returns packs and order."""
        _, offsets = read_npy(self.path(f"{out}/pack_offsets.npy"))
        _, index = read_npy(self.path(f"{out}/sample_index.npy"))
        shape, order = read_npy(self.path(f"{out}/step_order.npy"))
        packs = [index[a:b] for a, b in zip(offsets, offsets[1:])]
        self.assertEqual(sorted(index), [i for i in range(len(samples)) if i not in set(rejected)])
        for pack in packs:
            self.assertTrue(pack)
            if len(pack) == 1 and pack[0] in alone:
                continue
            self.assertLessEqual(sum(samples[i][0] for i in pack), caps[0])
            self.assertLessEqual(sum(samples[i][1] for i in pack), caps[1])
        self.assertEqual(sorted(p for p in order if p >= 0), list(range(len(packs))))
        steps, ranks, slots = shape
        holed = [s for s in range(steps) if any(
            max(order[(s * ranks + r) * slots:(s * ranks + r + 1) * slots]) < 0 for r in range(ranks))]
        self.assertIn(holed, ([], [steps - 1]))
        return packs, order, shape

    def test_server_and_local_give_the_same_files(self):
        samples = lengths(5000)
        source = self.write("lengths.json", omnibal(samples))
        more = ("--dp", "4", "--packs-per-rank", "2", "--window", "4", "--epoch", "2", "--seed", "9")
        for name, run in (("remote", lambda *a: self.server.ctl("pack", *a)), ("here", self.local)):
            done = run(source, *CAPS, *more, "--output", self.path(name), "--xtuner", self.path(name + "-x"))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("5,000 samples in", done.stdout)
        for name in RESULTS:
            self.assertEqual(self.read("remote", name), self.read("here", name), name)
        for name in ("boundaries.npy", "samples.npy", "order.npy", "paths.json"):
            self.assertEqual(self.read("remote-x", name), self.read("here-x", name), name)
        packs, _, shape = self.check("here", samples, (13, 4416))
        summary = json.loads(self.read("here", "summary.json"))
        self.assertEqual(summary["rule"]["pack_count"], len(packs))
        self.assertLessEqual(summary["rule"]["pack_count_lower_bound"], len(packs))
        self.assertEqual(summary["step_order_shape"], list(shape))
        self.assertEqual(summary["rule"]["pad_ratio"], 0)

    def test_lengths_of_media_follow_from_their_sizes(self):
        chance = random.Random(7)
        sizes = [[28 * chance.randrange(4, 30), 28 * chance.randrange(4, 30)] for _ in range(300)]
        media = self.write("sizes.jsonl", "".join(
            json.dumps({"text_tokens": 50, "images": [size]}) + "\n" for size in sizes).encode())
        processor = self.write("preprocessor_config.json", json.dumps(
            {"image_processor_type": "Qwen2VLImageProcessor", "min_pixels": 1, "max_pixels": 10**8}).encode())
        samples = [(w * h // 28 ** 2, w * h // 28 ** 2 + 50) for w, h in sizes]
        counted = self.write("lengths.jsonl", json_lines(samples))
        caps = ("--unit-cap", "1000", "--token-cap", "1500", "--dp", "2")
        self.packed(media, "--processor", processor, *caps, "--output", self.path("media"))
        self.packed(counted, *caps, "--output", self.path("lengths"))
        for name in RESULTS[:3]:
            self.assertEqual(self.read("media", name), self.read("lengths", name), name)
        self.check("media", samples, (1000, 1500))
        done = self.local(media, *caps)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("--processor", done.stderr)

    def test_level_by_time(self):
        chance = random.Random(4)
        samples = [(0, min(32768, int(200 / (chance.random() + 1e-4)))) for _ in range(20000)]
        source = self.write("lengths.json", omnibal(samples))
        rule = self.write("rule.json", json.dumps({"token_cap": 32768, "pack_times": {
            "language_seconds_per_token": 1e-4, "language_seconds_per_squared_token": 1e-8}}).encode())
        common = (source, "--rule", rule, "--dp", "8", "--level", "time")
        for name, run in (("remote", lambda *a: self.server.ctl("pack", *a)), ("here", self.local)):
            done = run(*common, "--output", self.path(name))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("Level by predicted time.", done.stdout)
        for name in RESULTS:
            self.assertEqual(self.read("remote", name), self.read("here", name), name)
        self.check("here", samples, (0, 32768))
        summary = json.loads(self.read("here", "summary.json"))
        self.assertEqual(summary["rule"]["level"], "PACK_LEVEL_TIME")
        self.assertLess(summary["rule"]["idle_ratio"], summary["idle_ratio_by_tokens"])
        self.assertLess(summary["rule"]["idle_ratio"], 0.01)
        # The rule as applied gives the same packs again.
        applied = self.write("applied.json", json.dumps(summary["rule"]).encode())
        done = self.local(source, "--rule", applied, "--dp", "8", "--output", self.path("again"))
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in RESULTS[:3]:
            self.assertEqual(self.read("again", name), self.read("here", name), name)
        done = self.local(source, "--token-cap", "32768", "--dp", "8", "--level", "time")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("start.rule.pack_times: required with level PACK_LEVEL_TIME", done.stderr)

    def test_units_of_several_encoders(self):
        """Packs are made by scaled units. The server scales them itself."""
        chance = random.Random(3)
        columns = [(chance.choice((0, 0, 3)), chance.randrange(0, 90), chance.randrange(300, 900)) for _ in range(3000)]
        source = self.write("lengths.jsonl", "".join(
            json.dumps({"units": [u, v], "llm_tokens": t}) + "\n" for u, v, t in columns).encode())
        caps = ("--unit-scales", "10,1", "--unit-cap", "300", "--token-cap", "4416", "--dp", "4")
        for name, run in (("remote", lambda *a: self.server.ctl("pack", *a)), ("here", self.local)):
            done = run(source, *caps, "--output", self.path(name), "--compare")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("encoder 1: 10, encoder 2: 1 (relative work)", done.stdout)
        for name in RESULTS:
            self.assertEqual(self.read("remote", name), self.read("here", name), name)
        self.check("here", [(10 * u + v, t) for u, v, t in columns], (300, 4416))
        self.assertEqual(json.loads(self.read("here", "summary.json"))["rule"]["unit_scales"], [10, 1])
        refused = self.local(source, "--dp", "4")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("units of 2 encoders: --unit-scales, or a plan's rule", refused.stderr)

    def test_formats_and_files_join(self):
        samples = lengths(900)
        parts = [self.write("a.json", omnibal(samples[:300])), self.write("b.jsonl", json_lines(samples[300:600])),
                 self.write("c.npy", npy(samples[600:]))]
        whole = self.write("whole.npy", npy(samples))
        self.packed(*parts, *CAPS, "--dp", "2", "--output", self.path("parts"))
        self.packed(whole, *CAPS, "--dp", "2", "--output", self.path("whole"))
        for name in RESULTS[:-1]:
            self.assertEqual(self.read("parts", name), self.read("whole", name), name)
        self.check("whole", samples, (13, 4416))
        self.packed(*parts, *CAPS, "--dp", "2", "--apart", "--output", self.path("apart"))
        packs, _, _ = self.check("apart", samples, (13, 4416))
        self.assertTrue(all(len({i // 300 for i in pack}) == 1 for pack in packs))

    def test_every_packer_packs(self):
        samples = lengths(400)
        source = self.write("lengths.npy", npy(samples))
        counts = {}
        for name in ("balanced", "isf", "first-fit-decreasing", "best-fit-decreasing", "greedy-knapsack", "next-fit"):
            self.packed(source, *CAPS, "--dp", "2", "--packer", name, "--output", self.path(name))
            counts[name] = len(self.check(name, samples, (13, 4416))[0])
        self.assertEqual(min(counts.values()), counts["balanced"], counts)

    def test_oversize_samples_are_reported(self):
        samples = [*lengths(50), (40, 9000), (1, 9000)]
        source = self.write("lengths.npy", npy(samples))
        for policy, text in (("alone", "packs to themselves"), ("reject", "in no pack")):
            shown = self.packed(source, *CAPS, "--dp", "1", "--oversize", policy, "--output", self.path(policy))
            self.assertIn(text, " ".join(shown.split()))
            self.assertIn("50, 51", shown)
            out = {"alone": (50, 51)} if policy == "alone" else {"rejected": (50, 51)}
            self.check(policy, samples, (13, 4416), **out)
            self.assertEqual(read_npy(self.path(f"{policy}/oversize_index.npy"))[1], [50, 51])
            summary = json.loads(self.read(policy, "summary.json"))
            self.assertEqual(summary["oversize_sample_index"], [50, 51])
            self.assertEqual(summary["rejected_sample_count"], 0 if policy == "alone" else 2)

    def test_xtuner_takes_the_preset(self):
        """Repeats the checks of XTuner's preset loader and sampler."""
        samples = lengths(777)
        parts = [self.write("a.npy", npy(samples[:500])), self.write("b.npy", npy(samples[500:]))]
        self.packed(*parts, *CAPS, "--dp", "4", "--packs-per-rank", "2", "--output", self.path("out"), "--xtuner",
                    self.path("x"), "--xtuner-path", "set/a.jsonl", "--xtuner-path", "set/b.jsonl")
        (count,), boundaries = read_npy(self.path("x/boundaries.npy"))
        (rows, columns), flat = read_npy(self.path("x/samples.npy"))
        self.assertEqual(columns, 6)
        self.assertEqual(boundaries[-1], rows)
        paths = json.loads(self.read("x", "paths.json"))
        sizes = {"set/a.jsonl": 500, "set/b.jsonl": 277}
        packs = count - 1
        table = [flat[6 * i:6 * i + 6] for i in range(rows)]
        seen = set()
        for path_id, sample, char_start, char_end, token_start, token_end in table:
            self.assertIn(path_id, range(len(paths)))
            self.assertIn(sample, range(sizes[paths[path_id]]))
            self.assertEqual((char_start, char_end), (-1, -1))
            self.assertEqual(token_start, 0)
            self.assertEqual(token_end, samples[sample + 500 * path_id][1])
            seen.add((path_id, sample))
        self.assertEqual(len(seen), 777)
        for first, end in zip(boundaries, boundaries[1:]):
            self.assertLessEqual(sum(row[5] - row[4] for row in table[first:end]), 4416)
        shape, order = read_npy(self.path("x/order.npy"))
        self.assertEqual(shape, (packs,))
        self.assertEqual(sorted(order), list(range(packs)))
        # Rank r takes order[r::4], and a step is the next two of each rank: those of step_order.
        (steps, ranks, slots), dealt = read_npy(self.path("out/step_order.npy"))
        for rank in range(ranks):
            mine = order[:packs // 8 * 8][rank::ranks]
            want = [p for s in range(packs // 8) for p in dealt[(s * ranks + rank) * slots:][:slots]]
            self.assertEqual(mine, want)
        self.assertEqual(steps, -(-packs // 8))

    def test_report_is_one_page(self):
        source = self.write("lengths.npy", npy(lengths(600)))
        shown = self.packed(source, *CAPS, "--dp", "4", "--report", self.path("report.html"))
        self.assertIn("report.html", shown)
        page = self.read("report.html").decode()
        self.assertTrue(page.startswith("<!DOCTYPE html>"))
        self.assertEqual(page.count("<svg "), 6)
        for outside in ("<script", "src=", "href=", "url("):
            self.assertNotIn(outside, page)
        again = self.local(source, *CAPS, "--dp", "4", "--report", self.path("report.html"))
        self.assertEqual(again.returncode, 2)
        self.assertEqual(os.listdir(self.folder).count("report.html.partial"), 0)

    def test_a_plan_says_how(self):
        done = self.server.ctl("plan", "--job", harness.JOB, "--save", self.path("plan.json"))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("plan.json"), encoding="utf-8") as file:
            plan = json.load(file)["plan"]
        source = self.write("lengths.npy", npy(lengths(500)))
        by_file = self.local(source, "--rule", self.path("plan.json"), "--json")
        by_id = self.server.ctl("pack", source, "--plan", plan["plan_id"], "--json")
        self.assertEqual(by_file.returncode, 0, by_file.stderr)
        self.assertEqual(by_id.returncode, 0, by_id.stderr)
        self.assertEqual(json.loads(by_file.stdout), json.loads(by_id.stdout))
        rule = json.loads(by_file.stdout)["rule"]
        for name in ("unit_cap", "token_cap", "packer"):
            self.assertEqual(rule[name], plan["batch_rule"][name])

    def test_caps_come_from_the_data_if_not_given(self):
        samples = lengths(2000)
        source = self.write("lengths.npy", npy(samples))
        shown = self.packed(source, "--dp", "4", "--output", self.path("out"))
        self.assertIn("derived from the data", shown)
        rule = json.loads(self.read("out", "summary.json"))["rule"]
        self.assertTrue(rule["caps_derived"])
        self.check("out", samples, (rule["unit_cap"], rule["token_cap"]))

    def test_other_ways_are_compared(self):
        source = self.write("lengths.npy", npy(lengths(500)))
        shown = self.packed(source, *CAPS, "--dp", "4", "--compare")
        for name in ("random order, padded", "length-grouped", "device-grouped", "group-random", "next-fit", "isf",
                     "isf, caps searched", "first-fit-decreasing", "this packing", "argument search comes to"):
            self.assertIn(name, shown)
        refused = self.local(source, *CAPS, "--dp", "4", "--compare", "--json")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--compare", refused.stderr)

    def test_results_are_not_written_over(self):
        source = self.write("lengths.npy", npy(lengths(60)))
        out = ("--dp", "2", "--output", self.path("out"))
        self.packed(source, *CAPS, *out)
        before = self.read("out", "summary.json")
        refused = self.local(source, *CAPS, *out, "--seed", "3")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--force", refused.stderr)
        self.assertEqual(self.read("out", "summary.json"), before)
        self.packed(source, *CAPS, *out, "--seed", "3", "--force")
        self.assertNotEqual(self.read("out", "summary.json"), before)
        self.assertEqual(sorted(os.listdir(self.path("out"))), sorted(RESULTS))

    def test_faults_are_told_and_leave_nothing(self):
        good = self.write("good.npy", npy(lengths(40)))
        cases = [
            (("missing.json", *CAPS), "cannot open"),
            ((self.write("empty", b""), *CAPS), "is empty"),
            ((self.write("none.json", b"[]"), *CAPS), "holds no samples"),
            ((self.write("short.npy", npy(lengths(40))[:-4]), *CAPS), "cut short"),
            ((self.write("zero.json", b'[{"token_num": 0}]'), *CAPS), "0 tokens"),
            ((self.write("float.jsonl", b'{"length": 1.5}\n'), *CAPS), "an integer is needed"),
            ((self.write("histogram", b'{"llm_tokens": [5], "sample_count": [2]}'), *CAPS), "one by one"),
            ((good, *CAPS, "--packs-per-rank", "3", "--group", "2"), "must divide"),
            ((good, *CAPS, "--dp", "0"), "--dp"),
            ((good, *CAPS, "--window", "0"), "--window"),
            ((good, *CAPS, "--packer", "best"), "--packer"),
            ((good, *CAPS, "--rule", self.path("none")), "cannot open"),
            ((good, *CAPS, "--output", "json"), "--json"),
        ]
        for arguments, text in cases:
            with self.subTest(arguments=arguments[1:], text=text):
                done = self.local("--dp", "2", "--output", self.path("out"), *arguments)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertIn(text, done.stderr)
                self.assertEqual([n for n in os.listdir(self.folder) if n.startswith("out")], [])
        lost = harness.run([harness.CTL, "pack", "--server", "unix:" + self.path("none.sock"), good, *CAPS, "--dp", "2",
                            "--output", self.path("out")])
        self.assertEqual(lost.returncode, 3, lost.stderr)

    def test_refusals_of_the_server_are_shown(self):
        good = self.write("good.npy", npy(lengths(40)))
        done = self.server.ctl("pack", good, *CAPS, "--dp", "2", "--packs-per-rank", "3", "--group", "2")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("start.sequence_parallel_group: must divide", done.stderr)


if __name__ == "__main__":
    unittest.main()
