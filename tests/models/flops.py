"""Compares FLOPs of a forward pass that the planner counts with those of the model's own operations.

Run by run.sh. Each architecture of text is built small, with random weights on the CPU, and runs once over one sample
under PyTorch's operator-level counter, with eager attention, which multiplies all pairs of tokens. So do encoders whose
projectors have several steps. Short convolutions
and scans of recurrent mixers are left out on both sides: eager code scans in other ways than the kernels that the
planner counts. Prints a line per architecture, and the planner's operations where the two differ by more than 1%.
"""
import json
import os
import subprocess
import sys
import tempfile

import compare
import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode

PROGRAM = os.path.join(compare.ROOT, "build", "tests", "forward_flops")
TOKENS = 256
MOST = 0.01
# Work of transformers other than products of matrices: scans.
SCANS = ("scan",)
# Models whose encoder is compared, with its projector, and not their language model.
ENCODERS = ("glm4v", "glm46v", "glm4v_moe", "minimax_m3_vl", "ernie4_5_vl_moe", "idefics2", "llama4", "aya_vision",
            "cohere2_vision", "ovis2")
# Models whose language model attends to the encoder's tokens: compared as a whole.
TOGETHER = ("mllama",)
# As ENCODERS, for encoders that take only images of one size.
OF_ONE_SIZE = ("llama4", "aya_vision", "cohere2_vision", "ovis2")
# Models whose code does not run under the counter.
NOT_RUN = ("dbrx",)
# Models whose code multiplies every token by every expert, and then leaves out the unwanted products.
EVERY_EXPERT = {"llama4_text": ("num_experts_per_tok", "num_local_experts")}


def mixers(model):
    """Returns the names of recurrent mixers: modules with a short convolution, or with fixed decays."""
    return [name for name, module in model.named_modules()
            if hasattr(module, "conv1d") or hasattr(module, "slope_rate")]


def total(counts):
    return sum(counts.values())


def counted_by_operators(config):
    for part in (config, config.get_text_config()):
        part._attn_implementation = "eager"
        part._experts_implementation = "eager"
    torch.manual_seed(0)
    inputs = {"input_ids": torch.randint(3, 3000, (1, TOKENS))}
    if config.model_type in compare.TEXT_ONLY_INSIDE:
        model = compare.inside_class(config.model_type)(config)
    elif config.model_type in compare.SPEECH:
        model = transformers.AutoModelForSpeechSeq2Seq.from_config(config, attn_implementation="eager")
        inputs = {"decoder_input_ids": inputs["input_ids"][:, :config.max_target_positions],
                  "input_features": torch.randn(1, config.num_mel_bins, 2 * config.max_source_positions)}
    else:
        model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    model = model.float().eval()
    counter = FlopCounterMode(display=False, depth=None)
    with torch.no_grad(), counter:
        model(**inputs, use_cache=False)
    counts = counter.get_flop_counts()
    of = {name.split(".", 1)[1] if "." in name else "": total(flops) for name, flops in counts.items()}
    flops = of[""]
    for name in mixers(model):
        children = sum(value for child, value in of.items()
                       if child.startswith(name + ".") and "." not in child[len(name) + 1:])
        flops -= of.get(name, 0) - children
        flops -= of.get(name + ".conv1d", 0)
    return flops


def encoder_inputs(config):
    """Returns the method of the model that encodes, its arguments, and the units that they make."""
    vision = config.vision_config
    if config.model_type == "idefics2":
        side = vision.image_size
        return "get_image_features", (torch.randn(1, 1, 3, side, side), torch.ones(1, 1, side, side).bool()), 1
    if config.model_type in OF_ONE_SIZE:
        return "get_image_features", (torch.randn(1, 3, vision.image_size, vision.image_size),), 1
    merge, frames = vision.spatial_merge_size, getattr(vision, "temporal_patch_size", 1)
    pixels = torch.randn(64 * merge * merge, 3 * frames * vision.patch_size ** 2)
    return "get_image_features", (pixels, torch.tensor([[1, 8 * merge, 8 * merge]])), 64


def compare_encoder(model_type):
    """Returns the operators' FLOPs of an encoder with its projector, and the planner's operations."""
    config = small(model_type)
    torch.manual_seed(0)
    model = transformers.AutoModelForImageTextToText.from_config(config, attn_implementation="eager").float().eval()
    method, arguments, units = encoder_inputs(config)
    counter = FlopCounterMode(display=False)
    with counter:
        getattr(getattr(model, "model", model), method)(*arguments)
    counted = counted_by_planner(config, sample=(4096, units))
    return counter.get_total_flops(), {name: flops for name, flops in counted.items() if name.startswith("encoder: ")}


def compare_whole(model_type):
    """Returns the operators' FLOPs of a sample with one image, and the planner's operations."""
    config = small(model_type)
    vision = config.vision_config
    torch.manual_seed(0)
    model = transformers.AutoModelForImageTextToText.from_config(config, attn_implementation="eager").float().eval()
    tiles = (1, 1, vision.max_num_tiles)
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        model(input_ids=torch.randint(3, 3000, (1, TOKENS)),
              pixel_values=torch.randn(*tiles, 3, vision.image_size, vision.image_size),
              aspect_ratio_ids=torch.ones(1, 1).long(), aspect_ratio_mask=torch.ones(*tiles).long(), use_cache=False)
    return counter.get_total_flops(), counted_by_planner(config, sample=(TOKENS, 1))


def counted_by_planner(config, sample=None):
    described = config.to_dict()
    if config.model_type in EVERY_EXPERT:
        visited, all_of_them = EVERY_EXPERT[config.model_type]
        described[visited] = described[all_of_them]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(json.dumps(described, default=str))
        file.flush()
        if sample is None:
            speech = config.model_type in compare.SPEECH
            sample = (min(TOKENS, config.max_target_positions), 1) if speech else (TOKENS,)
        answer = subprocess.run([PROGRAM, file.name, *map(str, sample)], capture_output=True, text=True, check=False)
    if not answer.stdout:
        raise RuntimeError(answer.stderr.strip()[:300])
    return {name: flops for name, flops in json.loads(answer.stdout).items() if name not in SCANS}


def small(model_type):
    return next(config for name, config in compare.shapes(model_type) if name == "small")


def texts():
    wrappers = set(compare.WRAPPERS) | set(compare.AUDIO) | set(compare.WHOLES) | set(compare.FLAT)
    return [t for t in compare.model_types()
            if t not in wrappers and t not in compare.WITHOUT_CODE and t not in NOT_RUN]


def main():
    passed = failed = 0
    for model_type in sys.argv[1:] or texts() + list(ENCODERS) + list(TOGETHER):
        try:
            if model_type in ENCODERS:
                expected, counted = compare_encoder(model_type)
            elif model_type in TOGETHER:
                expected, counted = compare_whole(model_type)
            else:
                config = small(model_type)
                expected, counted = counted_by_operators(config), counted_by_planner(config)
        except Exception as error:
            failed += 1
            print(f"FAILED {model_type}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            continue
        off = sum(counted.values()) / expected - 1
        good = abs(off) <= MOST
        passed, failed = passed + good, failed + (not good)
        print(f"{'ok     ' if good else 'FAILED '}{model_type}: {expected:,} FLOPs, the planner {off:+.2%}", flush=True)
        if not good:
            print("  " + ", ".join(f"{name} {flops:,.0f}" for name, flops in counted.items() if flops > 0))
    print(f"{passed} passed, {failed} failed")
    return 0 if passed > 0 and failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
