"""Tests the installed package: its content, versions, columns of Parquet, Arrow and Hugging Face."""
import collections.abc
import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import evenkeel
import server


class InstalledTest(unittest.TestCase):
    def test_it_is_not_the_source_tree(self):
        self.assertNotIn(server.ROOT, os.path.abspath(evenkeel.__file__))

    def test_one_version(self):
        with open(os.path.join(server.ROOT, "server", "convert", "version.h"), encoding="utf-8") as file:
            release = re.search(r'kReleaseVersion = "([^"]+)"', file.read())[1]
        self.assertEqual(evenkeel.__version__, release)
        self.assertEqual(importlib.metadata.version("evenkeel"), release)

    def test_types_and_generated_files_are_there(self):
        names = {str(path) for path in importlib.metadata.files("evenkeel")}
        for name in ("evenkeel/py.typed", "evenkeel/service_config.json", "evenkeel/v1/planner_service_pb2.py",
                     "evenkeel/v1/planner_service_pb2.pyi", "evenkeel/_version.py", "evenkeel/LICENSE",
                     "evenkeel_profile.py"):
            self.assertIn(name, names)
        self.assertFalse([name for name in names if name.startswith(("repository", "tests", "generate"))])

    def test_all_names_are_there(self):
        for name in evenkeel.__all__:
            self.assertIsNotNone(getattr(evenkeel, name))
        with self.assertRaises(AttributeError):
            evenkeel.nothing  # pylint: disable=pointless-statement

    def test_planning_loads_no_numpy_and_nothing_loads_torch(self):
        code = ("import sys, evenkeel; evenkeel.errors; assert 'numpy' not in sys.modules; "
                "evenkeel.EvenkeelBatchSampler; assert 'torch' not in sys.modules")
        self.assertEqual(subprocess.run([sys.executable, "-c", code], check=False).returncode, 0)

    def test_console_scripts(self):
        folder = os.path.dirname(sys.executable)
        for command, wanted in ((["evenkeel", "stats", "--help"], "--histogram-out"),
                                (["evenkeel", "--version"], f"evenkeel {evenkeel.__version__}\n"),
                                (["evenkeel-profile", "--list"], "llama3-8b")):
            done = subprocess.run([os.path.join(folder, command[0]), *command[1:]], stdout=subprocess.PIPE, text=True,
                                  check=False)
            self.assertEqual(done.returncode, 0)
            self.assertIn(wanted, done.stdout)


@unittest.skipUnless(importlib.util.find_spec("pyarrow"), "no pyarrow here")
class ColumnsTest(unittest.TestCase):
    def setUp(self):
        import pyarrow
        folder = tempfile.TemporaryDirectory(prefix="evenkeel-columns-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.table = pyarrow.table({"text": ["a", "b", "c"], "length": pyarrow.array([5, 7, 9], pyarrow.int32()),
                                    "units": [1, 0, 2]})

    def path(self, name):
        return os.path.join(self.folder, name)

    def parquet(self, table, name="a"):
        import pyarrow.parquet
        pyarrow.parquet.write_table(table, self.path(name))
        return self.path(name)

    def stream(self, table, name):
        import pyarrow.ipc
        with pyarrow.ipc.new_stream(self.path(name), table.schema) as writer:
            writer.write_table(table)
        return self.path(name)

    def check(self, path, **options):
        read = evenkeel.read_lengths(path, **options)
        self.assertEqual((read.tokens.tolist(), read.units.tolist()), ([5, 7, 9], [1, 0, 2]))

    def test_parquet_and_arrow(self):
        import pyarrow.ipc
        self.check(self.parquet(self.table))
        self.check(self.parquet(self.table.rename_columns(["text", "lengths", "units"])))
        self.check(self.parquet(self.table.rename_columns(["text", "n", "u"])), column="n", units_column="u")
        self.check(self.stream(self.table, "b"))
        with pyarrow.ipc.new_file(self.path("c"), self.table.schema) as writer:
            writer.write_table(self.table)
        self.check(self.path("c"))

    def test_a_saved_hugging_face_dataset(self):
        os.mkdir(self.path("saved"))
        self.stream(self.table.slice(0, 2), "saved/data-00000-of-00002.arrow")
        self.stream(self.table.slice(2), "saved/data-00001-of-00002.arrow")
        files = [{"filename": f"data-0000{i}-of-00002.arrow"} for i in range(2)]
        with open(self.path("saved/state.json"), "w", encoding="utf-8") as file:
            json.dump({"_data_files": files}, file)
        self.check(self.path("saved"))
        with self.assertRaisesRegex(evenkeel.LengthFileError, "save_to_disk"):
            evenkeel.read_lengths(self.folder)
        with open(self.path("dataset_dict.json"), "w", encoding="utf-8") as file:
            file.write('{"splits": ["train"]}')
        with self.assertRaisesRegex(evenkeel.LengthFileError, "several splits"):
            evenkeel.read_lengths(self.folder)

    def test_other_columns_are_not_read(self):
        """Reads 12 bytes of lengths in addition to 48 MB of text."""
        big = self.table.set_column(0, "text", [["x" * (16 << 20)] * 3])
        code = ("import sys, evenkeel, pyarrow; print(evenkeel.read_lengths(sys.argv[1]).tokens.tolist(), "
                "pyarrow.default_memory_pool().max_memory() < 4 << 20)")
        for path in (self.parquet(big), self.stream(big, "b")):
            done = subprocess.run([sys.executable, "-c", code, path], stdout=subprocess.PIPE, text=True, check=True)
            self.assertEqual(done.stdout, "[5, 7, 9] True\n")

    def test_damaged_files_are_named(self):
        for path in (self.parquet(self.table), self.stream(self.table, "b")):
            os.truncate(path, os.path.getsize(path) * 2 // 3)
            with self.assertRaisesRegex(evenkeel.LengthFileError, re.escape(path)):
                evenkeel.read_lengths(path)

    def test_a_column_that_reads_item_by_item_is_read_at_once(self):
        """Columns of the package `datasets` behave like this since its release 4."""
        class Column(collections.abc.Sequence):
            def __len__(self):
                return 3

            def __getitem__(self, key):
                if not isinstance(key, slice):
                    raise AssertionError("asked for an item")
                return [5, 7, 9][key]
        self.assertEqual(evenkeel.lengths.from_columns(Column(), Column()).units.tolist(), [5, 7, 9])
        from evenkeel import packing
        self.assertEqual(packing.Samples.of(Column()).tokens.tolist(), [5, 7, 9])

    @unittest.skipUnless(importlib.util.find_spec("datasets"), "no datasets here")
    def test_the_package_datasets(self):
        import datasets
        datasets.disable_progress_bars()
        data = datasets.Dataset(self.table)
        read = evenkeel.lengths.from_columns(data["length"], data["units"])
        self.assertEqual((read.tokens.tolist(), read.units.tolist()), ([5, 7, 9], [1, 0, 2]))
        data.save_to_disk(self.path("saved"))
        data.to_parquet(self.path("p.parquet"))
        datasets.DatasetDict(train=data).save_to_disk(self.path("splits"))
        for name in ("saved", "p.parquet", "splits/train"):
            self.check(self.path(name))
        data.select([2, 0]).save_to_disk(self.path("selected"))
        self.assertEqual(evenkeel.read_lengths(self.path("selected")).tokens.tolist(), [9, 5])
        with self.assertRaisesRegex(evenkeel.LengthFileError, "several splits"):
            evenkeel.read_lengths(self.path("splits"))

    def test_llava_lengths(self):
        table = self.table.set_column(1, "length", [[5, -7, 9]]).drop(["units"])
        path = self.parquet(table)
        self.assertEqual(evenkeel.read_lengths(path, image_units=5).units.tolist(), [5, 0, 5])
        read = evenkeel.lengths.from_columns(np.array([5, -7, 9]))
        self.assertEqual((read.tokens.tolist(), read.units.tolist()), ([5, 7, 9], [0, 0, 0]))

    def test_refusals(self):
        import pyarrow
        for table, text in ((pyarrow.table({"length": [1, None]}), "1 nulls"),
                            (pyarrow.table({"length": [1.5]}), "type double"),
                            (pyarrow.table({"length": [[1]]}), "type list"),
                            (pyarrow.table({"size": [1]}), "no column of lengths .*its columns: size"),
                            (pyarrow.table({"length": [1], "llm_tokens": [1]}), "say the same")):
            with self.subTest(text), self.assertRaisesRegex(evenkeel.LengthFileError, text):
                evenkeel.read_lengths(self.parquet(table))


if __name__ == "__main__":
    unittest.main()
