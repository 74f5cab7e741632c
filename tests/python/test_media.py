"""Tests lengths of media: the rules against answers of transformers, readers of headers against real files."""
import contextlib
import io
import json
import os
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest

import numpy as np
import pyarrow
import pyarrow.parquet
import soundfile
from PIL import Image

import evenkeel
from evenkeel.media_headers import image_size

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
QWEN = {"image_processor_type": "Qwen2VLImageProcessorFast"}
OMNI = {**QWEN, "feature_extractor_type": "WhisperFeatureExtractor", "processor_class": "Qwen2_5OmniProcessor",
        "chunk_length": 300}


def image_bytes(width, height, form="PNG", orientation=None):
    out = io.BytesIO()
    exif = Image.Exif()
    if orientation:
        exif[0x0112] = orientation
    Image.new("RGB", (width, height)).save(out, form, exif=exif)
    return out.getvalue()


def box(kind, *parts):
    content = b"".join(parts)
    return struct.pack(">I4s", 8 + len(content), kind) + content


def mp4(width, height, frames, scale, duration):
    """A QuickTime file with a track of sound and one of video, its header behind the media."""
    def track(handler, sample_entry, count):
        tables = box(b"stbl", box(b"stsd", bytes(8), sample_entry), box(b"stsz", struct.pack(">III", 0, 0, count)))
        return box(b"trak", box(b"tkhd", bytes(84)), box(
            b"mdia", box(b"mdhd", struct.pack(">IIIIII", 0, 0, 0, scale, duration, 0)),
            box(b"hdlr", bytes(8), handler, bytes(13)),
            box(b"minf", box(b"hdlr", bytes(8), b"url ", bytes(13)), tables)))  # QuickTime's second handler
    visual = box(b"avc1", bytes(24), struct.pack(">HH", width, height), bytes(50))
    return box(b"ftyp", b"isom", bytes(4)) + box(b"mdat", bytes(1000)) + box(
        b"moov", box(b"mvhd", bytes(100)), track(b"soun", box(b"mp4a", bytes(28)), 999), track(b"vide", visual, frames))


class MediaTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, *names):
        path = os.path.join(self.folder, *names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def write(self, name, content):
        path = self.path(*name.split("/"))
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def processor(self, preprocessor, processor=None, video=None):
        folder = tempfile.mkdtemp(dir=self.folder, prefix="checkpoint-")
        for name, values in (("preprocessor", preprocessor), ("processor", processor), ("video_preprocessor", video)):
            if values:
                with open(os.path.join(folder, name + "_config.json"), "w", encoding="utf-8") as file:
                    json.dump(values, file)
        return evenkeel.Processor(folder)

    def read(self, name, preprocessor=QWEN, **options):
        return evenkeel.read_media_lengths(name, self.processor(preprocessor), **options)


class RulesTest(MediaTest):
    def test_they_answer_as_transformers(self):
        with open(os.path.join(ROOT, "tests", "client", "media", "media_vectors.json"), encoding="utf-8") as file:
            cases = json.load(file)
        self.assertGreaterEqual(len(cases), 40)
        for case in cases:
            processor = self.processor(case["preprocessor"], case["processor"], case["video"])
            self.assertEqual(processor.unread, ())
            for record, lengths in zip(case["records"], case["lengths"], strict=True):
                with self.subTest(case=case["preprocessor"], video=case["video"], record=record):
                    self.assertEqual(list(processor.lengths(
                        record.get("images", ()), [evenkeel.Video(**v) for v in record.get("videos", ())],
                        [evenkeel.Audio(**a) for a in record.get("audios", ())])), lengths)

    def test_what_is_not_known_is_refused(self):
        for bad, why in [({"image_processor_type": "FuyuImageProcessor"}, "accepted: Qwen2VLImageProcessor"),
                         ({**QWEN, "max_pixels": "many"}, '"max_pixels" must be an integer'),
                         ({**QWEN, "do_resize": False}, '"do_resize" is not supported yet'),
                         ({**QWEN, "processor_class": "ColQwen2Processor"}, "whose marks"),
                         ({"image_processor_type": "KimiVLImageProcessor"}, '"pad_input"'),
                         ({"feature_extractor_type": "WhisperFeatureExtractor"}, "accepted: WhisperProcessor"),
                         ({"processor_class": "X"}, "says what processor this is")]:
            with self.subTest(bad=bad), self.assertRaisesRegex(evenkeel.MediaError, why):
                self.processor(bad)
        self.assertEqual(self.processor({**QWEN, "odd": 1}).unread, ("preprocessor_config.json: odd",))
        for media in ({"images": [(2010, 10)]}, {"images": [(0, 10)]}, {"audios": [1.0]}):
            with self.assertRaises(evenkeel.MediaError):
                self.processor(QWEN).lengths(**media)

    def test_a_grid_as_near_wins_if_the_image_fills_half_of_it(self):
        intern = self.processor({"image_processor_type": "GotOcr2ImageProcessor", "crop_to_patches": True,
                                 "size": {"height": 448, "width": 448}})
        self.assertEqual(intern.lengths([(666, 2064)]), (13, 0, 3330))

    def test_kimi_vl_and_several_images_of_one_vision(self):
        kimi = self.processor({"image_processor_type": "KimiVLImageProcessor", "pad_input": True})
        self.assertEqual(kimi.lengths([(1280, 720)]).tokens, 43 * 25)
        one_vision = self.processor({"image_processor_type": "LlavaOnevisionImageProcessor"}, {"num_image_tokens": 729})
        self.assertEqual(one_vision.lengths([(768, 768)]).vision_units, 5)
        self.assertEqual(one_vision.lengths([(768, 768)] * 2).tokens, 2 * 730)


class ReadersTest(MediaTest):
    def test_a_folder_turns_images_as_exif_says(self):
        self.write("data/b/turned.jpg", image_bytes(280, 56, "JPEG", orientation=6))
        with open(self.path("data", "b", "turned.jpg"), "rb") as file:
            self.assertEqual(image_size(file), (56, 280))
        self.write("data/a.png", image_bytes(280, 56))
        self.write("data/c.webp", image_bytes(56, 280, "WEBP"))
        self.write("data/clip.mov", mp4(640, 360, 100, 600, 2400))
        self.write("data/notes.txt", "x")
        samples = self.read(self.path("data"), text_tokens=3)
        self.assertEqual(samples.tokens.tolist()[:2], [3 + 20, 3 + 20])
        self.assertEqual(samples.units.tolist(), [20, 20, 50 * 23 * 13, 20])
        with self.assertRaisesRegex(evenkeel.LengthFileError, "text_tokens"):
            self.read(self.path("data"))

    def test_only_headers_are_read(self):
        whole = image_bytes(2800, 1400)
        self.write("data/cut.png", whole[:200])
        self.assertEqual(self.read(self.path("data"), text_tokens=0).units.tolist(),
                         [self.processor(QWEN).lengths([(2800, 1400)]).tokens])

    def test_json_with_paths_and_sizes(self):
        self.write("data/a.png", image_bytes(280, 56))
        soundfile.write(self.path("data", "a.flac"), np.zeros(32000), 16000)
        soundfile.write(self.path("data", "b.wav"), np.zeros(48000), 48000)
        lines = [{"text_tokens": 5, "images": ["a.png", [56, 56]], "audio": "a.flac"},
                 {"text_tokens": 7, "image": {"width": 280, "height": 56}, "audios": ["b.wav", 2.0]},
                 {"text_tokens": 9}]
        name = self.write("data/list.jsonl", "\n".join(map(json.dumps, lines)))
        samples = self.read(name, OMNI)
        self.assertEqual(samples.units.tolist(), [[24, 50], [20, 75], [0, 0]])
        self.assertEqual(samples.tokens.tolist(), [79, 102, 9])
        self.assertEqual(samples.parts, ((name, 3),))
        array = self.write("data/list.json", json.dumps(lines))
        self.assertEqual(self.read(array, OMNI).tokens.tolist(), samples.tokens.tolist())

    def test_bad_files_are_named(self):
        self.write("data/good.png", image_bytes(280, 56))
        self.write("data/bad.jpg", b"no image")
        self.write("data/cut.mp4", mp4(640, 360, 100, 600, 2400)[:1100])
        self.write("data/film.mkv", b"\x1aE\xdf\xa3")
        with self.assertRaisesRegex(evenkeel.LengthFileError, "bad.jpg"):
            self.read(self.path("data"), text_tokens=1)
        samples = self.read(self.path("data"), text_tokens=1, skip_bad=True)
        self.assertEqual(len(samples), 1)
        self.assertEqual([os.path.basename(place) for place, _ in samples.bad], ["bad.jpg", "cut.mp4", "film.mkv"])
        missing = self.write("data/list.jsonl", json.dumps({"text_tokens": 1, "image": "none.png"}))
        with self.assertRaisesRegex(evenkeel.LengthFileError, r"list.jsonl:1: none.png: No such file"):
            self.read(missing)
        for record, why in [({"images": [[1, 2]]}, "text_tokens"), ({"text_tokens": -1}, "text_tokens"),
                            ({"text_tokens": 1, "images": [[1, 2, 3]]}, "no image"),
                            ({"text_tokens": 1, "videos": [{"width": 9, "height": 9}]}, "a video needs")]:
            with self.subTest(record=record), self.assertRaisesRegex(evenkeel.LengthFileError, why):
                self.read(self.write("bad.jsonl", json.dumps(record)))

    def test_columns_of_bytes(self):
        rows = [{"text_tokens": 5, "image": {"bytes": image_bytes(280, 56), "path": "a.png"}},
                {"text_tokens": 6, "image": None}]
        table = pyarrow.Table.from_pylist(rows)
        name = self.path("data.parquet")
        pyarrow.parquet.write_table(table, name)
        self.assertEqual(self.read(name).tokens.tolist(), [25, 6])
        stream = self.path("data.arrow")
        with pyarrow.OSFile(stream, "wb") as sink, pyarrow.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        self.assertEqual(self.read(stream).tokens.tolist(), [25, 6])
        pyarrow.parquet.write_table(pyarrow.table({"text_tokens": [1]}), name)
        with self.assertRaisesRegex(evenkeel.LengthFileError, "no column of media"):
            self.read(name)
        many = [{"text_tokens": 0, "images": [image_bytes(280, 56), image_bytes(56, 56)]}] * 200
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(many), name)
        self.assertEqual(self.read(name).tokens.tolist(), [24] * 200)

    def test_tars(self):
        members = {"s/000.json": json.dumps({"text_tokens": 4}).encode(), "s/000.jpg": image_bytes(280, 56, "JPEG"),
                   "s/000.seg.png": image_bytes(56, 56), "s/001.json": b'{"text_tokens": 8}', "s/002.png": b"bad"}
        for mode, name in (("w", "a.tar"), ("w:gz", "a.tar.gz")):
            with tarfile.open(self.path(name), mode) as tar:
                for member, content in members.items():
                    info = tarfile.TarInfo(member)
                    info.size = len(content)
                    tar.addfile(info, io.BytesIO(content))
            with self.subTest(name=name):
                samples = self.read(self.path(name), text_tokens=0, skip_bad=True)
                self.assertEqual(samples.tokens.tolist(), [28, 8])
                self.assertRegex(samples.bad[0][0] + samples.bad[0][1], "s/002.*002.png")

    def test_the_command_counts_and_names_bad_samples(self):
        self.write("data/good.png", image_bytes(280, 56))
        self.write("data/bad.jpg", b"no image")
        checkpoint = self.processor(QWEN).path
        command = [sys.executable, "-m", "evenkeel", "stats", "--processor", checkpoint, "--text-tokens", "2",
                   "--output", "json", self.path("data")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("bad.jpg", done.stderr)
        done = subprocess.run([*command, "--skip-bad"], capture_output=True, text=True, check=True)
        self.assertIn("1 bad samples left out of 2", done.stderr)
        self.assertIn("bad.jpg", done.stderr)
        self.assertEqual(json.loads(done.stdout)["llm_tokens"], ["22"])
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit):
            evenkeel.cli.main(["stats", "--skip-bad", "x.json"])


if __name__ == "__main__":
    unittest.main()
