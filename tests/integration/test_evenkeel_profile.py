"""Tests client/python/evenkeel_profile.py: its tables against the catalogue, and a run on the CPU through to the
server.

The run needs PyTorch: EVENKEEL_TORCH_PYTHON names a Python that has it [python3]. Without it, that part is skipped.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import harness

SCRIPT = os.path.join(harness.ROOT, "client", "python", "evenkeel_profile.py")
sys.path.insert(0, os.path.dirname(SCRIPT))

import evenkeel_profile  # noqa: E402  pylint: disable=wrong-import-position

TORCH_PYTHON = os.environ.get("EVENKEEL_TORCH_PYTHON", "python3")


def has_torch():
    probe = "import torch; assert tuple(map(int, torch.__version__.split('.')[:2])) >= (2, 5)"
    try:
        return subprocess.run([TORCH_PYTHON, "-c", probe], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def catalogue():
    """Returns name -> field -> text of every initialiser in planner/catalog and planner/hardware."""
    entries = {}
    for path in [path for room in ("catalog", "hardware")
                 for path in glob.glob(os.path.join(harness.ROOT, "planner", room, "*.cc"))]:
        with open(path, encoding="utf-8") as file:
            for spec in re.findall(r"\.spec = \{(.*?)\},\s*\.(?:aliases|traits)", file.read(), re.S):
                fields = dict(re.findall(r"\.(\w+) = ([^,{}]+)", spec))
                entries[fields["name"].strip('"')] = fields
    return entries


class TablesTest(unittest.TestCase):
    def test_the_table_is_the_catalogues(self):
        entries = catalogue()
        for name, shape in evenkeel_profile.TABLE.items():
            with self.subTest(model=name):
                entry = entries[name]
                for field, value in {"hidden": shape.hidden, "heads": shape.heads, "head_dim": shape.head_size,
                                     "ffn": shape.ffn}.items():
                    self.assertEqual(int(entry[field]), value, field)
                self.assertEqual(int(entry.get("kv_heads", entry["heads"])), shape.kv_heads)
                self.assertEqual(int(entry.get("tokens_per_unit", 0)), shape.tokens_per_unit)
                self.assertEqual(entry.get("gated_mlp", "false") == "true", shape.gated)
                self.assertEqual("qk_norm" in entry, bool(shape.qk_norm))
                norm = entry.get("norm", "Norm::kRmsNorm" if shape.causal else "Norm::kLayerNorm")
                self.assertEqual(norm == "Norm::kRmsNorm", shape.rms_norm)
                self.assertEqual(entry.get("qkv_bias", "false" if shape.causal else "true") == "true", shape.qkv_bias)

    def test_gpu_types_are_the_catalogues(self):
        self.assertLessEqual(set(evenkeel_profile.GPU_TYPES.values()), set(catalogue()))

    def test_reads_configurations(self):
        llama = evenkeel_profile.shape_from_config({
            "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
            "intermediate_size": 14336, "hidden_act": "silu", "rms_norm_eps": 1e-5})
        self.assertEqual(llama, evenkeel_profile.TABLE["llama3-8b"])
        vit = evenkeel_profile.shape_from_config({
            "model_type": "intern_vit_6b", "hidden_size": 3200, "num_attention_heads": 25, "intermediate_size": 12800,
            "hidden_act": "gelu", "norm_type": "rms_norm", "qk_normalization": True, "qkv_bias": False,
            "image_size": 448, "patch_size": 14, "layer_norm_eps": 1e-6})
        self.assertEqual(vit, evenkeel_profile.TABLE["internvit-6b-448px-v1.5"])
        with self.assertRaisesRegex(ValueError, "experts"):
            evenkeel_profile.shape_from_config({"hidden_size": 1, "num_attention_heads": 1, "num_experts": 8})

    def test_bad_arguments_are_told(self):
        done = harness.run([sys.executable, SCRIPT, "--tokens", "0", "--model", "llama3-8b"])
        self.assertEqual(done.returncode, 2)
        self.assertIn("must be 1 or more", done.stderr)


@unittest.skipUnless(has_torch(), f"{TORCH_PYTHON} has no PyTorch 2.5 or newer (EVENKEEL_TORCH_PYTHON names another)")
class CpuRunTest(unittest.TestCase):
    def measured(self, config, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "config.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(config, file)
            output = os.path.join(folder, "profile.json")
            done = harness.run([TORCH_PYTHON, SCRIPT, "--device", "cpu", "--config", path, "--layers", "2", "--repeat",
                                "3", "--warmup", "1", "--gpu-type", "a100-sxm-80gb", "--output", output, *arguments],
                               timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(output, encoding="utf-8") as file:
                return json.load(file)

    def test_a_decoder_of_one_rank_of_two(self):
        config = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 160,
                  "rms_norm_eps": 1e-5, "qk_norm": True}
        request = self.measured(config, "--model", "llama3-8b", "--tensor-parallel", "2", "--tokens", "32,64",
                                "--sample-tokens", "16")
        self.assertTrue(request["dry_run"])
        self.assertEqual([t["tokens"] for t in request["layer_times"]], ["32", "64"])
        self.assertTrue(all(t["sample_tokens"] == "16" and t["forward_seconds"] > 0 and t["backward_seconds"] > 0
                            for t in request["layer_times"]))
        kept = {(p["tokens"], p["recomputed_count"]): int(p["allocated_bytes"]) for p in request["memory_probes"]}
        self.assertGreater(kept["64", 0], kept["64", 2])
        # Everything grows with the tokens. A checkpointed layer keeps its input: 4 bytes, half the rows.
        self.assertAlmostEqual(kept["64", 0] / kept["32", 0], 2, delta=0.2)
        self.assertGreaterEqual(kept["64", 2], 2 * 32 * 64 * 4)

    def test_an_encoder_through_to_the_server(self):
        config = {"hidden_size": 60, "num_attention_heads": 5, "intermediate_size": 128, "image_size": 56,
                  "patch_size": 14, "qk_normalization": True}
        request = self.measured(config, "--model", "internvit-6b-448px-v1.5", "--tensor-parallel", "2", "--units", "3")
        self.assertEqual(request["layer_times"][0]["units"], "3")
        with harness.Server() as server, tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(request, file)
            file.flush()
            done = server.ctl("profile", "record", file.name)
            # The request is valid, but the server notices that a toy on a CPU is not an A100.
            self.assertIn("Refused", done.stdout, done.stderr)
            self.assertEqual(done.returncode, 2)
            self.assertIn("No profiles.", server.ctl("profile", "list").stdout)


if __name__ == "__main__":
    unittest.main()
