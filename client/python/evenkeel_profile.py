#!/usr/bin/env python3
"""Measures transformer layers under PyTorch on one GPU and writes a RecordProfile request (protobuf JSON).

    evenkeel_profile.py --model internvit-6b-448px-v1.5+internlm2-20b --tensor-parallel 2 --output profile.json
    evenkeelctl profile record profile.json --server ADDRESS

A model is one of the built-in table (--list), a pair ENCODER+LANGUAGE_MODEL of it, or one with dimensions from a
Hugging Face config.json (--config; --model is then the catalogue's name for it). What one rank of tensor parallel T
does is measured without the others: heads and widths divided by T, rows of norms and residuals too (Megatron's
sequence parallel). Where rows are gathered, a local copy writes what a collective would have written.

Times: CUDA events around a stack of --layers layers, forward and backward apart, median of --repeat runs after
warm-up; bf16, SDPA (flash attention). Memory: allocated after the forward pass, with no layer and with all layers
checkpointed. On a CPU (float32, --device cpu) the script only tries itself out: the request is a dry run. Needs
PyTorch 2.5 or newer.
"""
import argparse
import dataclasses
import json
import math
import os
import statistics
import sys
import time

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
    from torch.utils.checkpoint import checkpoint
    Module = nn.Module
except ImportError:  # the script can read tables and files without it
    torch = None
    Module = object


@dataclasses.dataclass(frozen=True)
class LayerShape:
    """Dimensions of one transformer layer, as planner/catalog has them."""
    hidden: int
    heads: int
    kv_heads: int
    head_size: int
    ffn: int
    gated: bool
    rms_norm: bool
    causal: bool
    qkv_bias: bool = False
    linear_bias: bool = False
    qk_norm: str = ""  # "", "width" (over all heads) or "head"
    layer_scale: bool = False
    tokens_per_unit: int = 0  # only for an encoder

    @property
    def kind(self):
        return "LAYER_KIND_DENSE" if self.causal else "LAYER_KIND_ENCODER"


# Figures from planner/catalog. A test compares the two.
TABLE = {
    "internvit-6b-448px-v1.5": LayerShape(3200, 25, 25, 128, 12800, gated=False, rms_norm=True, causal=False,
                                          linear_bias=True, qk_norm="width", layer_scale=True, tokens_per_unit=1025),
    "internvit-300m-448px": LayerShape(1024, 16, 16, 64, 4096, gated=False, rms_norm=False, causal=False,
                                       qkv_bias=True, linear_bias=True, layer_scale=True, tokens_per_unit=1025),
    "internlm2-20b": LayerShape(6144, 48, 8, 128, 16384, gated=True, rms_norm=True, causal=True),
    "llama3-8b": LayerShape(4096, 32, 8, 128, 14336, gated=True, rms_norm=True, causal=True),
    "llama3-70b": LayerShape(8192, 64, 8, 128, 28672, gated=True, rms_norm=True, causal=True),
}

# Maps what torch.cuda.get_device_name says to the catalogue's name.
GPU_TYPES = {
    "NVIDIA A100-SXM4-80GB": "a100-sxm-80gb", "NVIDIA A100-SXM4-40GB": "a100-sxm-40gb",
    "NVIDIA A100 80GB PCIe": "a100-pcie-80gb", "NVIDIA A100-PCIE-40GB": "a100-pcie-40gb",
    "NVIDIA H100 80GB HBM3": "h100-sxm-80gb", "NVIDIA H100 PCIe": "h100-pcie-80gb", "NVIDIA H200": "h200-sxm-141gb",
    "NVIDIA B200": "b200-sxm-180gb", "NVIDIA L40S": "l40s-48gb", "NVIDIA GeForce RTX 4090": "rtx-4090-24gb",
}


def shape_from_config(config):
    """Returns the layer of a Hugging Face config.json: a dense decoder, or a vision transformer."""
    config = config.get("text_config", config)
    heads = config["num_attention_heads"]
    is_encoder = "image_size" in config and "patch_size" in config
    activation = config.get("hidden_act", config.get("activation_function", "silu"))
    if config.get("num_experts") or config.get("n_routed_experts") or config.get("num_local_experts"):
        raise ValueError("layers with experts are not measured: only dense ones")
    family = config.get("model_type", "")
    norm = config.get("norm_type", "layer_norm" if is_encoder or "layer_norm_eps" in config else "rms_norm")
    tokens = (config["image_size"] // config["patch_size"]) ** 2 + 1 if is_encoder else 0
    return LayerShape(
        hidden=config["hidden_size"], heads=heads, kv_heads=config.get("num_key_value_heads") or heads,
        head_size=config.get("head_dim") or config["hidden_size"] // heads, ffn=config["intermediate_size"],
        gated=not is_encoder and activation in ("silu", "swish", "gelu_pytorch_tanh"), rms_norm="rms" in norm,
        causal=not is_encoder,
        qkv_bias=bool(config.get("qkv_bias", config.get("attention_bias", is_encoder or family.startswith("qwen2")))),
        linear_bias=is_encoder or bool(config.get("bias") or config.get("use_bias")),
        qk_norm=("width" if is_encoder else "head") if config.get("qk_normalization", config.get("qk_norm")) else "",
        layer_scale=family.startswith("intern_vit"), tokens_per_unit=tokens)


if torch is not None:
    class Gather(torch.autograd.Function):
        """Gathers one rank's rows into the rows of all ranks, like an all-gather. Backward keeps this rank's rows."""

        @staticmethod
        def forward(ctx, rows, ranks, whole):
            ctx.local = rows.shape[0]
            return rows.repeat(ranks, 1)[:whole] if ranks > 1 else rows

        @staticmethod
        def backward(ctx, gradient):
            return gradient[:ctx.local], None, None

    class Scatter(torch.autograd.Function):
        """Keeps this rank's rows out of the rows of all ranks. This is the reverse of Gather."""

        @staticmethod
        def forward(ctx, rows, ranks, local):
            ctx.ranks, ctx.whole = ranks, rows.shape[0]
            return rows[:local]

        @staticmethod
        def backward(ctx, gradient):
            return (gradient.repeat(ctx.ranks, 1)[:ctx.whole] if ctx.ranks > 1 else gradient), None, None


class Layer(Module):
    """One rank's part of a pre-norm transformer layer."""

    def __init__(self, shape, ranks):
        super().__init__()
        self.shape, self.ranks = shape, ranks
        self.heads = math.ceil(shape.heads / ranks)
        self.kv_heads = max(1, shape.kv_heads // ranks) if shape.kv_heads < shape.heads else self.heads
        size, ffn = shape.head_size, math.ceil(shape.ffn / ranks)
        norm = nn.RMSNorm if shape.rms_norm else nn.LayerNorm
        self.norms = nn.ModuleList([norm(shape.hidden), norm(shape.hidden)])
        self.qkv = nn.Linear(shape.hidden, (self.heads + 2 * self.kv_heads) * size, bias=shape.qkv_bias)
        self.out = nn.Linear(self.heads * size, shape.hidden, bias=shape.linear_bias)
        self.up = nn.Linear(shape.hidden, ffn * (2 if shape.gated else 1), bias=shape.linear_bias)
        self.down = nn.Linear(ffn, shape.hidden, bias=shape.linear_bias)
        self.q_norm = self.k_norm = None
        if shape.qk_norm:
            per_head = shape.qk_norm == "head"
            self.q_norm = norm(size if per_head else self.heads * size)
            self.k_norm = norm(size if per_head else self.kv_heads * size)
        self.scales = nn.ParameterList([nn.Parameter(torch.full((shape.hidden,), 0.1)) for _ in range(2)]
                                       if shape.layer_scale else [])

    def normed(self, norm, values, heads, samples):
        """Returns values of `heads` heads as samples x heads x tokens x size, through `norm` if there is one."""
        size = self.shape.head_size
        if norm is not None and self.shape.qk_norm == "width":
            values = norm(values)
        values = values.view(samples, -1, heads, size)
        if norm is not None and self.shape.qk_norm == "head":
            values = norm(values)
        return values.transpose(1, 2)

    def attention(self, rows, sample_tokens, rotary):
        size, samples = self.shape.head_size, rows.shape[0] // sample_tokens
        q, k, v = self.qkv(rows).split([self.heads * size, self.kv_heads * size, self.kv_heads * size], dim=-1)
        q = self.normed(self.q_norm, q, self.heads, samples)
        k = self.normed(self.k_norm, k, self.kv_heads, samples)
        v = self.normed(None, v, self.kv_heads, samples)
        if rotary is not None:
            q, k = rotate(q, rotary), rotate(k, rotary)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=self.shape.causal,
                                                  enable_gqa=self.kv_heads < self.heads)
        return self.out(attended.transpose(1, 2).reshape(rows.shape[0], -1))

    def mlp(self, rows):
        up = self.up(rows)
        if not self.shape.gated:
            return self.down(F.gelu(up))
        gate, value = up.chunk(2, dim=-1)
        return self.down(F.silu(gate) * value)

    def forward(self, rows, whole, sample_tokens, rotary):
        """Runs the layer. `rows` are this rank's rows of the residual stream, and `whole` is the number of all rows."""
        parts = (lambda x: self.attention(x, sample_tokens, rotary), self.mlp)
        for i, part in enumerate(parts):
            change = Scatter.apply(part(Gather.apply(self.norms[i](rows), self.ranks, whole)), self.ranks,
                                   rows.shape[0])
            rows = rows + (change * self.scales[i] if len(self.scales) else change)
        return rows


def rotate(values, rotary):
    cos, sin = rotary
    first, second = values.chunk(2, dim=-1)
    return values * cos + torch.cat((-second, first), dim=-1) * sin


def rotary_table(shape, tokens, device, dtype):
    frequencies = 10000.0 ** (-torch.arange(0, shape.head_size, 2, device=device) / shape.head_size)
    angles = torch.outer(torch.arange(tokens, device=device), frequencies).repeat(1, 2)
    return angles.cos().to(dtype), angles.sin().to(dtype)


class Bench:
    """A stack of layers of one shape on one device."""

    def __init__(self, shape, ranks, options):
        self.shape, self.ranks, self.options = shape, ranks, options
        self.on_gpu = options.device != "cpu"
        self.dtype = torch.bfloat16 if self.on_gpu else torch.float32
        torch.manual_seed(0)
        stack = [Layer(shape, ranks).to(options.device, self.dtype) for _ in range(options.layers)]
        self.stack = [torch.compile(layer) for layer in stack] if options.compile else stack

    def inputs(self, tokens, sample_tokens):
        local = math.ceil(tokens / self.ranks)
        rows = torch.randn(local, self.shape.hidden, device=self.options.device, dtype=self.dtype)
        rotary = None
        if self.shape.causal:
            rotary = rotary_table(self.shape, sample_tokens, self.options.device, self.dtype)
        return rows.requires_grad_(), rotary

    def run(self, rows, tokens, sample_tokens, rotary, checkpointed=0):
        for i, layer in enumerate(self.stack):
            if i < checkpointed:
                rows = checkpoint(layer, rows, tokens, sample_tokens, rotary, use_reentrant=False)
            else:
                rows = layer(rows, tokens, sample_tokens, rotary)
        return rows

    def clear(self, rows):
        rows.grad = None
        for layer in self.stack:
            layer.zero_grad(set_to_none=True)

    def times(self, tokens, sample_tokens):
        """Returns the median seconds of one layer, forward and backward."""
        rows, rotary = self.inputs(tokens, sample_tokens)
        gradient = torch.randn_like(rows)
        samples = []
        for i in range(self.options.warmup + self.options.repeat):
            self.clear(rows)
            marks = [self.mark()]
            out = self.run(rows, tokens, sample_tokens, rotary)
            marks.append(self.mark())
            out.backward(gradient)
            marks.append(self.mark())
            if self.on_gpu:
                torch.cuda.synchronize()
            if i >= self.options.warmup:
                samples.append([self.between(marks[0], marks[1]), self.between(marks[1], marks[2])])
        layers = len(self.stack)
        return [statistics.median(column) / layers for column in zip(*samples)]

    def mark(self):
        if not self.on_gpu:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, begin, end):
        return begin.elapsed_time(end) / 1e3 if self.on_gpu else end - begin

    def kept_bytes(self, tokens, sample_tokens, checkpointed):
        """Returns the bytes allocated after the forward pass, before the backward pass. On a CPU, returns the bytes
        that autograd has saved."""
        rows, rotary = self.inputs(tokens, sample_tokens)
        self.clear(rows)
        if self.on_gpu:
            out = self.run(rows, tokens, sample_tokens, rotary, checkpointed)
            torch.cuda.synchronize()
            allocated = torch.cuda.memory_stats()["allocated_bytes.all.current"]
            del out
            return allocated
        weights = {p.untyped_storage().data_ptr() for layer in self.stack for p in layer.parameters()}
        saved = []  # kept, so that no two share an address

        def pack(tensor):
            saved.append(tensor)
            return tensor
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            self.run(rows, tokens, sample_tokens, rotary, checkpointed)
        sizes = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in [*saved, rows]}
        return sum(size for address, size in sizes.items() if address not in weights)


def measure(shape, ranks, options):
    """Returns layer_times and memory_probes of one shape."""
    bench = Bench(shape, ranks, options)
    sizes = options.tokens if shape.causal else options.units
    layer_times, probes = [], []
    for size in sizes:
        tokens = size if shape.causal else size * shape.tokens_per_unit
        sample = (min(options.sample_tokens or tokens, tokens)) if shape.causal else shape.tokens_per_unit
        work = {"tokens": str(tokens)} if shape.causal else {"units": str(size)}
        forward, backward = bench.times(tokens, sample)
        time_entry = {"layer_kind": shape.kind, **work, "forward_seconds": forward, "backward_seconds": backward}
        if shape.causal and sample != tokens:
            time_entry["sample_tokens"] = str(sample)
        layer_times.append(time_entry)
        for recomputed in (0, options.layers):
            probes.append({"layer_kind": shape.kind, "layer_count": options.layers, "recomputed_count": recomputed,
                           **work, "moment": "MEMORY_MOMENT_AFTER_FORWARD",
                           "allocated_bytes": str(bench.kept_bytes(tokens, sample, recomputed))})
        print(f"{shape.kind} {work}: forward {forward * 1e3:.3f} ms, backward {backward * 1e3:.3f} ms", file=sys.stderr)
    return layer_times, probes


def shapes_of(options):
    if options.config:
        with open(options.config, encoding="utf-8") as file:
            return [shape_from_config(json.load(file))]
    shapes = []
    for name in options.model.split("+"):
        if name not in TABLE:
            raise ValueError(f"unknown model {name}: give --config, or one of {', '.join(TABLE)}")
        shapes.append(TABLE[name])
    return shapes


def gpu_type_of(options):
    if options.gpu_type:
        return options.gpu_type
    name = torch.cuda.get_device_name() if options.device != "cpu" else "a CPU"
    if name not in GPU_TYPES:
        raise ValueError(f"{name} has no known name in the catalogue: give --gpu-type (evenkeelctl gpus)")
    return GPU_TYPES[name]


def profile(options):
    """Returns the request."""
    shapes = shapes_of(options)
    request = {"model": options.model, "gpu_type": gpu_type_of(options), "tensor_parallel": options.tensor_parallel,
               "author": options.author, "layer_times": [], "memory_probes": [],
               "framework": f"PyTorch {torch.__version__}, SDPA, {'compiled' if options.compile else 'eager'}",
               "note": f"evenkeel_profile.py: {options.layers} layers, median of {options.repeat}"}
    if options.device == "cpu":
        request["dry_run"] = True
        request["note"] += "; on a CPU, to try the script"
    else:
        driver = f"CUDA {torch.version.cuda}" if torch.version.cuda else f"HIP {torch.version.hip}"
        request["software"] = f"{driver}, {torch.cuda.get_device_name()}"
    for shape in shapes:
        layer_times, probes = measure(shape, options.tensor_parallel, options)
        request["layer_times"] += layer_times
        request["memory_probes"] += probes
    return request


def send(path, request, server):
    """Sends the request by gRPC if grpcio and the generated messages are available. Otherwise, prints how to do it."""
    try:
        import grpc
        from evenkeel.v1 import profile_pb2
        from google.protobuf import json_format
    except ImportError:
        print(f"not sent (no grpcio, or no evenkeel.v1.profile_pb2 made by protoc). Send it by:\n"
              f"  evenkeelctl profile record {path} --server {server}", file=sys.stderr)
        return
    with grpc.insecure_channel(server) as channel:
        call = channel.unary_unary("/evenkeel.v1.PlannerService/RecordProfile",
                                   request_serializer=profile_pb2.RecordProfileRequest.SerializeToString,
                                   response_deserializer=profile_pb2.RecordProfileResponse.FromString)
        answer = call(json_format.ParseDict(request, profile_pb2.RecordProfileRequest()), timeout=60)
    print(json_format.MessageToJson(answer, preserving_proto_field_name=True), file=sys.stderr)


def numbers(text):
    values = [int(value) for value in text.split(",")]
    if min(values) < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return values


def parser():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parse.add_argument
    add("--list", action="store_true", help="list the built-in models")
    add("--model", help="name, or ENCODER+LANGUAGE_MODEL")
    add("--config", help="Hugging Face config.json with the dimensions")
    add("--gpu-type", help="name in the catalogue [from the GPU's own name]")
    add("--tensor-parallel", type=int, default=1, metavar="T")
    add("--tokens", type=numbers, default=[1024, 2048, 4096, 8192, 16384], help="micro-batches of decoder layers")
    add("--sample-tokens", type=int, default=0, help="tokens of each sample in them [all of the micro-batch]")
    add("--units", type=numbers, default=[1, 2, 4, 9, 18], help="micro-batches of encoder layers, in tiles")
    add("--layers", type=int, default=4, help="layers in the stack [4]")
    add("--repeat", type=int, default=30, help="timed runs [30]")
    add("--warmup", type=int, default=10, help="runs before them [10]")
    add("--device", default="cuda", help="cuda, cuda:N or cpu [cuda]")
    add("--compile", action="store_true", help="torch.compile the layers: fused norms, activations and residuals")
    add("--author", default=os.environ.get("USER", ""))
    add("--output", default="profile.json", help="file to write [profile.json]")
    add("--server", help="also send it to this address")
    return parse


def main(arguments=None):
    parse = parser()
    options = parse.parse_args(arguments)
    if options.list:
        print("\n".join(TABLE))
        return 0
    if not options.model:
        parse.error("--model is required")
    if torch is None:
        parse.error("PyTorch is not installed here")
    if options.device != "cpu" and not torch.cuda.is_available():
        parse.error("no GPU here; --device cpu tries the script out")
    try:
        request = profile(options)
    except (ValueError, KeyError, OSError) as error:
        parse.error(str(error))
    with open(options.output, "w", encoding="utf-8") as file:
        json.dump(request, file, indent=1)
        file.write("\n")
    print(f"wrote {options.output}; evenkeelctl profile record {options.output} --dry-run says what comes of it",
          file=sys.stderr)
    if options.server:
        send(options.output, request, options.server)
    return 0


if __name__ == "__main__":
    sys.exit(main())
