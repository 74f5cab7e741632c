"""Jobs on which launch settings are tried: shipped examples, and flags of evenkeelctl."""
import glob
import json
import os
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CTL = os.environ.get("EVENKEELCTL", os.path.join(ROOT, "build", "bin", "evenkeelctl"))
FRAMEWORKS = ("megatron", "flagscale", "deepspeed", "torchtitan", "fsdp", "xtuner")
ENUM = {name: "LAUNCH_FRAMEWORK_" + name.upper() for name in FRAMEWORKS}

# name: flags in addition to --local. Dense, experts, latent attention, encoders; PP 1 to 16; virtual and uneven stages.
FLAGS = {
    "dense-pp1": "--model llama3-8b --gpu h100-sxm-80gb --gpus 8 --pp 1",
    "dense-pp2": "--model llama3-8b --gpu a100-sxm-80gb --gpus 16 --pp 2",
    "dense-pp4": "--model llama3-70b --gpu h100-sxm-80gb --gpus 64 --pp 4",
    "dense-pp8-virtual": "--model llama3-70b --gpu a100-sxm-80gb --gpus 64 --tp 4 --pp 8 --virtual-stages 2",
    "dense-pp16": "--model llama3-70b --gpu a100-sxm-80gb --gpus 128 --tp 4 --pp 16 --virtual-stages 1",
    "dense-uneven": "--model llama3-8b --gpu a100-sxm-80gb --gpus 8 --stage-layers 5,9,9,9",
    "dense-per-stage":
        "--model llama3-8b --gpu a100-sxm-80gb --gpus 8 --stage-layers 5,9,9,9 --recompute whole-layers",
    "dense-free": "--model llama3-70b --gpu a100-sxm-80gb --gpus 32",
    "dense-forced-full": "--model llama3-8b --gpu a100-sxm-80gb --gpus 8 --pp 4 --recompute full",
    "dense-gpipe": "--model llama3-8b --gpu a100-sxm-80gb --gpus 8 --pp 4 --schedule gpipe",
    "dense-zero-bubble": "--model llama3-8b --gpu a100-sxm-80gb --gpus 8 --pp 4 --schedule zero-bubble",
    "dense-tight": "--model llama3-70b --gpu a100-sxm-80gb --gpus 32 --tp 4 --pp 8 --token-cap 16384 --global-batch 64",
    "dense-gqa-bias": "--model qwen2-72b --gpu h100-sxm-80gb --gpus 64",
    "dense-context": "--model llama3-8b --gpu h100-sxm-80gb --gpus 16 --cp 2 --pp 2",
    "dense-odd": "--model llama3-8b --gpu h100-sxm-80gb --gpus 16 --tp 2 --cp 2 --token-cap 5001",
    "experts": "--model mixtral-8x7b --gpu h100-sxm-80gb --gpus 32 --ep 4",
    "experts-pp4": "--model mixtral-8x22b --gpu h100-sxm-80gb --gpus 64 --pp 4",
    "latent-experts": "--model deepseek-v2-236b --gpu h100-sxm-80gb --gpus 128 --ep 8",
    "predicted-tokens": "--model deepseek-v3-671b --gpu h200-sxm-141gb --gpus 512 --ep 16",
    "vision-pp1": "--model internvit-300m-448px+llama3-8b --gpu h100-sxm-80gb --gpus 8 --pp 1",
    "vision-pp2": "--model internvl-chat-v1.5 --gpu a100-sxm-80gb --gpus 32 --pp 2",
    "vision-pp8": "--model internvl-chat-v1.5 --gpu a100-sxm-80gb --gpus 64 --tp 1 --pp 8",
    "vision-frozen": "--model internvl-chat-v1.5 --gpu a100-sxm-80gb --gpus 32 --freeze encoder",
    "vision-fp16": "--model internvit-300m-448px+llama3-8b --gpu v100-sxm2-32gb --gpus 32 --precision fp16",
    "modules-dense": "--model llama3-8b --gpu h100-sxm-80gb --gpus 8 --trainer megatron-core --pp 2 "
                     "--offload-modules qkv_linear,core_attn,attn_proj",
    "modules-interleaved": "--model llama3-8b --gpu h100-sxm-80gb --gpus 8 --trainer megatron-core --pp 4 "
                           "--virtual-stages 2 --offload-modules qkv_linear,core_attn",
    "modules-experts": "--model mixtral-8x7b --gpu gh200-96gb --gpus 32 --trainer megatron-core --ep 4 "
                       "--offload-modules expert_fc1,moe_act",
    "fsdp": "--model llama3-8b --gpu h100-sxm-80gb --gpus 16 --framework fsdp",
    "zero-none": "--model llama3-8b --gpu h200-sxm-141gb --gpus 16 --tp 4 --pp 2 --zero 0",
    "zero2": "--model llama3-8b --gpu h100-sxm-80gb --gpus 16 --zero 2 --pp 2",
    "deepspeed": "--model llama3-8b --gpu h100-sxm-80gb --gpus 16 --framework deepspeed",
}


def plan_of(command):
    """Returns the plan of `evenkeelctl plan --local ...`, or None if the job does not fit."""
    run = subprocess.run([CTL, "plan", "--local", "--timeout", "900", "--output", "json", *command], check=False,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if run.returncode not in (0, 1):
        raise AssertionError(f"{command}: {run.stderr}")
    plan = json.loads(run.stdout)["plan"]
    return None if plan.get("misfit") else plan


def with_frameworks(job, frameworks=FRAMEWORKS):
    """Returns a request that also asks for launch settings."""
    request = json.loads(json.dumps(job))
    request["job"]["launch_frameworks"] = [ENUM[name] for name in frameworks]
    return request


def all_plans(names=None):
    """Yields (name, plan with launch settings for every framework) of each case that fits."""
    with tempfile.TemporaryDirectory(prefix="evenkeel-launch-") as folder:
        path = os.path.join(folder, "job.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"job": {"launch_frameworks": list(ENUM.values())}}, file)
        for name, flags in FLAGS.items():
            if names is None or name in names:
                yield name, plan_of(["--job", path, *flags.split()])
        for example in sorted(glob.glob(os.path.join(ROOT, "deploy", "examples", "*.json"))):
            name = os.path.basename(example)[:-len(".json")]
            if name.endswith(".histogram") or (names is not None and name not in names):
                continue
            with open(example, encoding="utf-8") as file:
                request = with_frameworks(json.load(file))
            with open(path, "w", encoding="utf-8") as file:
                json.dump(request, file)
            yield name, plan_of(["--job", path])


def launch_of(plan, name):
    return next(launch for launch in plan["launch"] if launch["framework"] == ENUM[name])


def run_of(plan, launch):
    """Returns the (parallelism, stages) that the settings run."""
    if launch["match"] == "LAUNCH_MATCH_EXACT":
        return plan["parallelism"], plan["stages"]
    return launch["parallelism"], launch["stages"]


LANGUAGE = ("LAYER_KIND_DENSE", "LAYER_KIND_MOE")


def layers_of(stages, virtual, kinds=LANGUAGE):
    """Returns [stage][chunk]: layers of those kinds."""
    counts = [[0] * virtual for _ in stages]
    for s, stage in enumerate(stages):
        for group in stage["layers"]:
            if group["kind"] in kinds:
                counts[s][group["chunk"]] += group["layer_count"]
    return counts


def chunks_of(stages, virtual):
    """Returns the layer groups of each chunk in the order of the model."""
    return [[g for g in stages[s]["layers"] if g["chunk"] == c] for c in range(virtual) for s in range(len(stages))]


WHOLE, ALTERNATE = "RECOMPUTE_PART_WHOLE_LAYER", "RECOMPUTE_PART_ALTERNATE_PRODUCTS"


def recomputed_of(stages, virtual, kinds=LANGUAGE, part=WHOLE):
    """Returns the indices of layers of those kinds that recompute this part; others must not be there."""
    indices, at = [], 0
    for chunk in chunks_of(stages, virtual):
        for group in chunk:
            if group["kind"] not in kinds:
                continue
            first = at
            for recomputed in group.get("recomputed", []):
                assert recomputed["parts"] in ([WHOLE], [part], [ALTERNATE]), group
                if recomputed["parts"] == [part]:
                    indices += range(first, first + recomputed["layer_count"])
                first += recomputed["layer_count"]
            at += group["layer_count"]
    return indices


def option(arguments, name, default=None):
    """Returns the values after an option of a command line, or None if the option is not there."""
    if name not in arguments:
        return default
    at = arguments.index(name) + 1
    values = []
    while at < len(arguments) and not arguments[at].startswith("--"):
        values.append(arguments[at])
        at += 1
    return values
