#!/usr/bin/env python3
"""Writes the seeds of searches, tests/fuzz/corpus/TARGET/seed-*, from deploy/examples and a few lines of its own.

    tests/fuzz/seeds.py
"""
import glob
import os
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))
import harness  # noqa: E402  pylint: disable=wrong-import-position

from evenkeel.v1 import planner_service_pb2, profile_pb2  # noqa: E402
from google.protobuf import json_format, text_format  # noqa: E402

subprocess.run(["protoc", "-I", HERE, "-I", os.path.join(harness.ROOT, "proto"), "--python_out", harness.PROTOS.name,
                os.path.join(HERE, "inputs.proto")], check=True)
import inputs_pb2  # noqa: E402  pylint: disable=wrong-import-position

EXAMPLES = [path for path in sorted(glob.glob(os.path.join(harness.EXAMPLES, "*.json")))
            if not path.endswith(".histogram.json")]

JOBS = {
    "offers": """job { model { name: "llama3-8b" } cluster { pools { gpu_type: "a100-sxm-80gb" gpu_counts: [8, 16] }
        pools { gpu_type: "h100-sxm-80gb" gpu_count: 8 } } training { global_batch_samples: 64 } }""",
    "tiny": """job { model { name: "mpt-125m" } cluster { pools { gpu_type: "l40s-48gb" gpu_count: 2 } }
        training { global_batch_samples: 8 } }""",
    "launch": """job { model { name: "internvit-300m-448px+llama3-8b" }
        cluster { pools { gpu_type: "a100-sxm-80gb" gpu_count: 8 } } training { global_batch_samples: 64 }
        launch_frameworks: [LAUNCH_FRAMEWORK_MEGATRON, LAUNCH_FRAMEWORK_DEEPSPEED, LAUNCH_FRAMEWORK_TORCHTITAN,
            LAUNCH_FRAMEWORK_FLAGSCALE, LAUNCH_FRAMEWORK_XTUNER, LAUNCH_FRAMEWORK_FSDP] }""",
    "moe": """job { model { name: "mixtral-8x7b" } cluster { pools { gpu_type: "h100-sxm-80gb" gpu_count: 16 } }
        training { global_batch_samples: 32 } }""",
    "modules": """job { model { name: "mixtral-8x7b" } cluster { pools { gpu_type: "gh200-96gb" gpu_count: 16 } }
        training { trainer { name: "megatron-core" } global_batch_samples: 32
            offload { activation_modules: [OFFLOAD_MODULE_QKV, OFFLOAD_MODULE_EXPERT_FC1] } } }""",
    "chosen-modules": """job { model { name: "llama3-8b" } cluster { pools { gpu_type: "h100-sxm-80gb" gpu_count: 8 } }
        training { trainer { name: "megatron-core" } global_batch_samples: 32
            offload { choose_activation_modules: true } } }""",
    "sorted": """job { model { name: "llama3-8b" language_model_train_mode: TRAIN_MODE_LORA
            lora { rank: 8 train_embedding: true train_head: true } }
        dataset { histogram { llm_tokens: [100, 900, 4000] sample_count: [5000, 2000, 100] } }
        cluster { pools { gpu_type: "a100-sxm-80gb" gpu_count: 8 } }
        training { trainer { name: "huggingface-trainer" } micro_batch_samples: 4 group_by_length: true
            global_batch_samples: 64 } }""",
    "dataset-ref": """job { model { name: "llava-1.5-7b" }
        dataset { dataset_ref: "ds-0123456789abcdef0123456789abcdef" }
        cluster { pools { gpu_type: "a100-sxm-80gb" gpu_count: 4 } } training { global_batch_samples: 32 } }""",
}

SETTINGS = {
    "all": "--listen=127.0.0.1:0,unix:/run/s\n--metrics-address=off\n--workers=2\n"
           "--queue-length=9\n--log-level=debug",
    "environment": "EVENKEEL_WORKERS=3\nEVENKEEL_LISTEN=[::1]:50051\nEVENKEEL_REFLECTION=false\n--drain-timeout\n1.5",
    "wrong": "--workers=-1\n--no-such-flag\n--keepalive-time=1e400\nEVENKEEL_QUEUE_LENGTH=many\nextra",
    "help": "--help",
    "version": "--version",
    "numbers": "--cache-bytes=1099511627776\n--max-connection-age=0x10\n--drain-timeout=nan\n--memo-bytes= 1",
}

COLUMNS = b"# size count type redop root time algbw busbw #wrong\n"
NCCL = {
    "bare": b"!" + COLUMNS + b"1024 256 float none -1 9.5 1 1 0\n2048 512 float none -1 9.7 1 1 N/A\n",
    "tagged": b"!0: " + COLUMNS + b"[1,0]<stdout>:1024 256 float none -1 1.2e+06 1 1 0\r\n",
    "wrong": b"# Collective test starting: sendrecv_perf\n" + COLUMNS + b"1024 256 float none -1 -1 1 1 7\n",
    "short-json": b'{"nccl_version":1,"results":[{"size":1}],"args":["x"],"config":{"nthreads":0,"ngpus":1}}',
}

LENGTHS = {
    "array": b'[{"vit_num": 5, "token_num": 1341, "image_flags": 5},\n {"vit_num": 0, "token_num": 12}]',
    "lines": b'{"units": 2, "llm_tokens": 900, "loss_tokens": 10}\n\n'
             b'{"length": 7, "loss_tokens": 0, "x": {"y": [1.5]}}\n',
    "histogram": b'{"units": [0, 3], "llm_tokens": [10, "800"], "sample_count": [5, 1]}',
    "histogram-camel": b'{"encoderCount": 1, "units": [1], "llmTokens": [300], "sampleCount": ["7"]}',
    "gzip": b"\x1f\x8b\x08\x00",
    "minus": b'[{"length": -3}]',
    "deep": b"[" + b'{"a":' * 70 + b"1",
}


def npy(dtype, shape, data, major=1):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    size = struct.pack("<H" if major == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([major, 0]) + size + header + data


def upload(start, *chunks):
    made = inputs_pb2.Upload()
    text_format.Parse(start, made.messages.add().start)
    for tokens, units in chunks:
        chunk = made.messages.add().chunk
        chunk.llm_tokens.extend(tokens)
        chunk.units.extend(units)
    return made


def uploads():
    tokens = [(i * 7919) % 4000 + 1 for i in range(300)]
    units = [min(value // 300, 9) for value in tokens]
    yield "caps", upload("rule { unit_cap: 9 token_cap: 4096 } data_parallel: 2", (tokens, units))
    yield "derived", upload("rule {} data_parallel: 4 packs_per_rank: 2 keep_histogram: true",
                            (tokens[:40], units[:40]))
    yield "text", upload("rule { token_cap: 4096 } data_parallel: 1 result: PACK_DATASET_RESULT_SUMMARY", (tokens, []))
    yield "parts", upload("rule {} data_parallel: 3 sample_count: 60 apart_sample_count: [20, 40]",
                          (tokens[:30], units[:30]), (tokens[30:60], units[30:60]))
    yield "groups", upload("rule {} groups { length_tokens: 1024 data_parallel: 4 packs_per_rank: 1 } groups {"
                           " length_tokens: 4096 sequence_parallel: 4 data_parallel: 1 packs_per_rank: 1 }"
                           " curriculum_steps: 2", (tokens, []))


def evaluations():
    for path in EXAMPLES[:3] + EXAMPLES[-1:]:
        request = planner_service_pb2.EvaluatePlanRequest()
        request.job.CopyFrom(harness.job_request(path).job)
        done = harness.run([harness.CTL, "plan", "--local", "--job", path, "--output", "json"])
        response = json_format.Parse(done.stdout, planner_service_pb2.PlanJobResponse(), ignore_unknown_fields=True)
        if response.plan.HasField("misfit"):
            continue
        request.plan.parallelism.CopyFrom(response.plan.parallelism)
        request.plan.stages.extend(response.plan.stages)
        request.include_timeline = True
        yield os.path.basename(path)[:-5], request


def profiles():
    calls = inputs_pb2.Calls()
    text_format.Parse("""calls { record { model: "llama3-8b" gpu_type: "a100-sxm-80gb" tensor_parallel: 1 author: "a"
          layer_times { layer_kind: LAYER_KIND_DENSE tokens: 4096 forward_seconds: 0.012 backward_seconds: 0.024 }
          layer_times { layer_kind: LAYER_KIND_DENSE tokens: 8192 forward_seconds: 0.025 backward_seconds: 0.05 }
          memory_probes { recomputed_count: 0 allocated_bytes: 9000000000 layer_kind: LAYER_KIND_DENSE layer_count: 4
            in_flight_count: 1 tokens: 4096 moment: MEMORY_MOMENT_PEAK } } }
        calls { record { model: "llama3-8b" gpu_type: "a100-sxm-80gb" dry_run: true
          layer_times { layer_kind: LAYER_KIND_DENSE tokens: 4096 forward_seconds: 1e-9 backward_seconds: 0.024 } } }
        calls { list {} }""", calls)
    yield "record", calls
    encoder = inputs_pb2.Calls()
    text_format.Parse("""calls { record { model: "internvit-6b-448px-v1.5" gpu_type: "a100-sxm-80gb" tensor_parallel: 2
          layer_times { layer_kind: LAYER_KIND_ENCODER units: 9 tokens: 9225 forward_seconds: 0.02
            backward_seconds: 0.06 backward_recomputes: true includes_communication: true } } }
        calls { record { model: "no-such-model" gpu_type: "h100" } }
        calls { roll_back { remove_revision: 1 } }""", encoder)
    yield "encoder", encoder
    rolled = inputs_pb2.Calls()
    rolled.CopyFrom(calls)
    rolled.calls.add().roll_back.to_revision = 0
    rolled.calls.add().list.page_size = 1
    yield "roll-back", rolled


def record_bytes(action, target, author, profile):
    """Writes like server/calibration/record_bytes.cc, except for the checksum, which the target corrects."""
    number = struct.Struct("<q").pack
    return (b"EVKP" + number(1) + number(1_700_000_000_000_000_000) + number(action) + number(target) +
            number(len(author)) + author + number(len(profile)) + profile + bytes(8))


def plan_record():
    """Writes like server/cache/plan_record.cc, except for the checksum, which the target corrects."""
    number = struct.Struct("<q").pack

    def text(value):
        return number(len(value)) + value

    def plan(name):
        real = struct.Struct("<d").pack
        return (text(b"t") + text(name) + number(1_700_000_000_000_000_000) + text(b"llama3-8b") +
                text(b"h100-sxm-80gb") + number(8) + number(1) + real(1.5) + real(0.25) + number(0) + number(4096) +
                text(b"\x0a\x01p") + text(b""))
    whole = plan(b"plan-0123456789abcdef0123456789abcdef")
    offer = plan(b"plan-fedcba9876543210fedcba9876543210")
    yield "one", b"EVKC" + number(1) + text(b"1") + whole + number(0) + bytes(8)
    yield "offers", b"EVKC" + number(1) + text(b"1") + whole + number(2) + whole + offer + bytes(8)
    yield "many-offers", b"EVKC" + number(1) + text(b"1") + whole + number(4096) + bytes(8)
    yield "newer", b"EVKC" + number(9) + bytes(16)
    yield "short", b"EVKC"


def policies():
    with open(os.path.join(harness.ROOT, "deploy", "auth", "policy.json"), "rb") as file:
        yield "example", file.read()
    yield "one", b'{"version": 1, "rules": [{"principals": ["uid:1"], "roles": ["planner.read"]}]}'
    yield "any", b'{"version":1,"rules":[{"principals":["any"],"tenant":"a","methods":["GetPlan"]}]}'
    yield "wrong", b'{"version":2,"version":1,"rule":[],"rules":[{"principals":["dns:A","gid:-1"],"roles":["x"]}, 1]}'
    yield "deep", b'{"rules":' + b"[" * 200
    yield "spiffe", (b'{"version":1,"rules":[{"principals":["spiffe://example.org/ns/*","dns:a.example"],'
                     b'"roles":["admin"]},{"principals":["spiffe://example.org/ns/b"],"roles":["planner.write"]}]}')


def seeds():
    for name, data in plan_record():
        yield "plan_record", name, data
    for name, data in policies():
        yield "policy", name, data
    for path in EXAMPLES:
        name = os.path.basename(path)[:-5]
        yield "plan_job", name, harness.job_request(path).SerializeToString(deterministic=True)
        with open(path, "rb") as file:
            yield "job_file", name, file.read()
    for name, text in JOBS.items():
        request = text_format.Parse(text, planner_service_pb2.PlanJobRequest())
        yield "plan_job", name, request.SerializeToString(deterministic=True)
        yield "job_file", name, json_format.MessageToJson(request).encode()
    for name, request in evaluations():
        yield "evaluate_plan", name, request.SerializeToString(deterministic=True)
    for name, made in uploads():
        yield "pack_dataset", name, made.SerializeToString(deterministic=True)
    for name, made in profiles():
        yield "profile_calls", name, made.SerializeToString(deterministic=True)
    stored = profile_pb2.Profile(model="llama3-8b", gpu_type="a100-sxm-80gb", tensor_parallel=1, framework="megatron")
    yield "profile_record", "record", record_bytes(1, 0, b"a", stored.SerializeToString())
    yield "profile_record", "roll-back", record_bytes(2, 1, b"", b"")
    yield "profile_record", "remove", record_bytes(3, 1, "ä".encode(), b"")
    yield "profile_record", "short", b"EVKP"
    yield "profile_record", "newer", b"EVKP" + struct.pack("<q", 9) + bytes(8)
    for name, data in LENGTHS.items():
        yield "length_file", name, data
    for name, data in NCCL.items():
        yield "nccl_output", name, data
    samples = os.path.join(os.path.dirname(HERE), "client", "nccl_tests")
    for name in sorted(os.listdir(samples)):
        with open(os.path.join(samples, name), "rb") as file:
            yield "nccl_output", os.path.splitext(name)[0], (b"!" if name == "old.txt" else b"") + file.read()
    yield "length_file", "npy-tokens", npy("<i4", "(3,)", struct.pack("<3i", 5, 6, 7))
    yield "length_file", "npy-units", npy("<i8", "(2, 2)", struct.pack("<4q", 1, 300, 2, 600), major=2)
    yield "length_file", "npy-short", npy("<i8", "(9,)", bytes(8))
    for name, text in SETTINGS.items():
        yield "settings", name, text.encode()


def main():
    for target, name, data in seeds():
        folder = os.path.join(HERE, "corpus", target)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "seed-" + name), "wb") as file:
            file.write(data)


if __name__ == "__main__":
    main()
