#!/usr/bin/env python3
"""Measures kernels, layers and steps of training on one GPU.

    python3 tests/measure/measure.py --out h100.jsonl [--only SECTION ...]

Each line of the output is one measurement: its section, its shape, and times in microseconds of the device (`us`,
`forward_us`, `backward_us`) or of the wall clock. On a CPU all sections run on small shapes, to try the code out.
PyTorch 2.9 or newer; `host`, `steps` and `models` need transformers and peft, `recurrences` (and `models`, for a fast
gated delta net) flash-linear-attention, `four bits` bitsandbytes, `megatron` megatron-core. A section whose package
is missing says so and is left out.
"""

import argparse
import os

# Without it, products have no deterministic mode.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import basic_kernels as kernels
import layers
import models
import offload
import special_kernels
from timing import Record

SECTIONS = {
    "machine": kernels.machine,
    "copies": kernels.copies,
    "offload": offload.offload,
    "deterministic": layers.deterministic_mode,
    "attention": kernels.attention,
    "host": layers.host,
    "fsdp": layers.fsdp,
    "megatron": layers.megatron,
    "steps": layers.steps,
    "models": models.models,
    "streaming": kernels.streaming,
    "optimizers": kernels.optimizers,
    "adapters": special_kernels.adapters,
    "four bits": special_kernels.four_bit,
    "experts": special_kernels.experts,
    "products": kernels.products,
    "fp8": special_kernels.low_precision,
    "recurrences": special_kernels.recurrences,
}


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--out", required=True)
    parse.add_argument("--only", nargs="*", choices=list(SECTIONS))
    arguments = parse.parse_args()
    record = Record(arguments.out)
    for name, section in SECTIONS.items():
        if not arguments.only or name in arguments.only:
            record.section(name, section)


if __name__ == "__main__":
    main()
