"""Reads command lines like Megatron-LM's pretrain_gpt.py and FlagScale's train_gpt.py: with their own parser, their own
checks of arguments and, for encoders, the arguments of examples/multimodal. It runs in a separate process, because
FlagScale contains a Megatron-LM whose modules are not those of the megatron-core next to it.

    megatron_command.py FLAGSCALE_FOLDER < [{"words": [...], "world": 8, "environment": {...}, "vision": false}]

writes a list of {"fault": text or null, and as read: "per_stage": values of recompute, "virtual" and "data" degrees,
"hetero": whether stages are run as unlike}.
"""
import contextlib
import enum
import importlib
import json
import os
import sys
import traceback
import types

import stubs

# Further options that examples/multimodal requires and that belong to the user.
VISION = ["--language-model-type", "x", "--tokenizer-prompt-format", "chatml"]


def load(root):
    """Returns (megatron.training.arguments, flagscale.train.arguments, multimodal_args) of FlagScale."""
    megatron = os.path.join(root, "third_party", "Megatron-LM")
    sys.path.insert(0, os.path.join(megatron, "examples", "multimodal"))
    for name in ("megatron", "megatron.core", "megatron.core.transformer", "megatron.training"):
        stubs.package(name, os.path.join(megatron, *name.split(".")))
    for name in ("flagscale", "flagscale.train"):
        stubs.package(name, os.path.join(root, *name.split(".")))
    stubs.stand_in("megatron.core.dist_checkpointing", "megatron.core.models", "megatron.core.rerun_state_machine",
                   "megatron.core.parallel_state", "megatron.core.fusions", "megatron.core.quantization",
                   "megatron.core.utils", "megatron.core.fp8_utils", "megatron.core.activations",
                   "megatron.training.utils", "megatron.core.msc_utils", "megatron.core.jit", "flagscale.train.hetero")
    core = importlib.import_module("megatron.core.utils")
    core.is_torch_min_version = core.is_te_min_version = lambda *_, **__: True
    utils = importlib.import_module("megatron.training.utils")
    utils.get_device_arch_version = lambda: 9  # Hopper
    utils.update_use_dist_ckpt = lambda args: setattr(args, "use_dist_ckpt", args.ckpt_format != "torch")
    importlib.import_module("megatron.core.dist_checkpointing.validation").StrictHandling = \
        enum.Enum("StrictHandling", {"ASSUME_OK_UNEXPECTED": "assume_ok_unexpected"})
    config = importlib.import_module("megatron.core.transformer.transformer_config")
    transformer = sys.modules["megatron.core.transformer"]
    transformer.TransformerConfig = config.TransformerConfig
    transformer.MLATransformerConfig = config.MLATransformerConfig
    import torch
    torch.cuda.get_device_capability = lambda *_: (9, 0)
    torch.distributed.get_rank = lambda *_: 0
    return tuple(map(importlib.import_module,
                     ("megatron.training.arguments", "flagscale.train.arguments", "multimodal_args")))


def read(modules, case):
    arguments, flagscale, multimodal = modules
    sys.argv = ["train.py", *case["words"], "--mock-data", "--lr", "1e-5", "--train-iters", "10",
                *(VISION if case["vision"] else [])]
    os.environ.pop("CUDA_DEVICE_MAX_CONNECTIONS", None)
    os.environ.update(case["environment"], WORLD_SIZE=str(case["world"]), RANK="0")
    args = arguments.parse_args(multimodal.add_multimodal_extra_args if case["vision"] else None)
    meshes = None
    if args.hetero_process_meshes is not None:  # like megatron/training/initialize.py
        meshes = flagscale.FSTrainArguments(args, types.SimpleNamespace(to_logical_ranks=lambda ranks: ranks))
        meshes.pre_validate_args()
    arguments.validate_args(args)
    if meshes:
        meshes.post_validate_args()
    if case["vision"]:  # examples/multimodal/model.py
        assert args.decoder_seq_length is not None, "--decoder-seq-length is missing"
        assert args.decoder_seq_length <= args.max_position_embeddings
    return {"fault": None, "per_stage": args.recompute_num_layers_per_stage_micro_batch,
            "virtual": args.virtual_pipeline_model_parallel_size, "hetero": bool(args.enable_hetero),
            "data": args.data_parallel_size}


def main():
    modules = load(sys.argv[1])
    results = []
    for case in json.load(sys.stdin):
        with contextlib.redirect_stdout(sys.stderr):
            try:
                results.append(read(modules, case))
            except (Exception, SystemExit):  # pylint: disable=broad-except
                results.append({"fault": traceback.format_exc(limit=-2)})
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
