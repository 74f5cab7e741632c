"""Kernels of special layers: recurrences (flash-linear-attention), grouped products of experts, 4-bit weights."""

import torch
from torch.nn import functional as F

from basic_kernels import BF16, normal
from timing import CUDA, DEVICE, device_us, graph_us, size, wall_us


def both_passes(record, section, run, inputs, **values):
    """Times the forward and the backward pass of `run`, which gives one tensor."""
    try:
        with torch.no_grad():
            forward = device_us(run, 20)
        out = run()
        dy = torch.randn_like(out)
        backward = device_us(lambda: torch.autograd.grad(out, inputs, dy, retain_graph=True), 25)
        record.add(section, forward_us=forward, backward_us=backward, **values)
    except Exception as error:
        record.add(section, failed=str(error)[:200], **values)


def recurrences(record):
    """Gated delta net, Kimi delta attention, Mamba-2 (as simple gated linear attention), Lightning attention.

    Version 0.6 refuses the backward pass on Hopper with Triton before 3.7.1, whose results are wrong. h200.jsonl was
    timed with 3.6 and without the refusal: the same kernels ran.
    """
    from fla.ops.gated_delta_rule import chunk_gated_delta_rule
    from fla.ops.kda import chunk_kda
    from fla.ops.lightning_attn import chunk_lightning_attn
    from fla.ops.simple_gla import chunk_simple_gla

    for length in (4096, 16384):
        length = size(length, 64)

        def inputs(heads, d, dv):
            q, k = (F.normalize(normal(1, length, heads, d).float(), dim=-1).to(BF16).requires_grad_() for _ in "qk")
            return q, k, normal(1, length, heads, dv, grad=True)

        q, k, v = inputs(32, 128, 128)
        gate = F.logsigmoid(torch.randn(1, length, 32, device=DEVICE)).requires_grad_()
        beta = torch.rand(1, length, 32, device=DEVICE).to(BF16).requires_grad_()
        both_passes(
            record,
            "recurrences",
            lambda: chunk_gated_delta_rule(q, k, v, gate, beta)[0],
            (q, k, v, gate, beta),
            what="gated delta net",
            tokens=length,
            heads=32,
            key=128,
            value=128,
        )
        wide = F.logsigmoid(torch.randn(1, length, 32, 128, device=DEVICE)).requires_grad_()
        both_passes(
            record,
            "recurrences",
            lambda: chunk_kda(q, k, v, wide, beta)[0],
            (q, k, v, wide, beta),
            what="kimi delta attention",
            tokens=length,
            heads=32,
            key=128,
            value=128,
        )
        both_passes(
            record,
            "recurrences",
            lambda: chunk_lightning_attn(q, k, v, layer_idx=3, num_layers=32)[0],
            (q, k, v),
            what="lightning attention",
            tokens=length,
            heads=32,
            key=128,
            value=128,
        )
        q, k, v = inputs(64, 128, 64)
        decay = F.logsigmoid(torch.randn(1, length, 64, device=DEVICE)).requires_grad_()
        both_passes(
            record,
            "recurrences",
            lambda: chunk_simple_gla(q, k, v, decay)[0],
            (q, k, v, decay),
            what="mamba-2",
            tokens=length,
            heads=64,
            key=128,
            value=64,
        )


def adapters(record):
    """A layer of PEFT with the layer that it adapts."""
    from peft import LoraConfig, get_peft_model

    for n, k in ((4096, 4096), (14336, 4096), (4096, 14336)):
        n, k = size(n, 64), size(k, 64)
        plain = torch.nn.Sequential(torch.nn.Linear(k, n, bias=False, device=DEVICE, dtype=BF16))
        plain.requires_grad_(False)
        for rows in (2048, 8192):
            x = normal(size(rows, 16), k, grad=True)
            both_passes(record, "adapters", lambda: plain(x), (x,), what="plain", n=n, k=k, rows=rows)
            for dropout in (0.0, 0.05):
                config = LoraConfig(r=16, target_modules=["0"], lora_dropout=dropout)
                layer = torch.nn.Sequential(torch.nn.Linear(k, n, bias=False, device=DEVICE, dtype=BF16))
                adapted = get_peft_model(layer, config, autocast_adapter_dtype=False).train()
                weights = [p for p in adapted.parameters() if p.requires_grad]
                both_passes(
                    record,
                    "adapters",
                    lambda: adapted.base_model.model(x),
                    (x, *weights),
                    what="adapted",
                    n=n,
                    k=k,
                    rows=rows,
                    dropout=dropout,
                )


def grouped(x, weight, ends):
    return F.grouped_mm(x, weight, offs=ends) if hasattr(F, "grouped_mm") else torch._grouped_mm(x, weight, offs=ends)


def expert_forms(record, count, hidden, ffn, rows):
    """The device's time of equal products: one after another, on four streams as in TransformerEngine, and grouped."""
    inputs = [normal(rows, hidden) for _ in range(count)]
    outputs = [normal(rows, ffn) for _ in range(count)]
    weights = [normal(hidden, ffn) for _ in range(count)]
    streams = [torch.cuda.Stream() for _ in range(4)] if CUDA else []
    passes = {
        "forward": lambda i: torch.mm(inputs[i], weights[i], out=outputs[i]),
        "input gradient": lambda i: torch.mm(outputs[i], weights[i].t(), out=inputs[i]),
        "weight gradient": lambda i: torch.mm(inputs[i].t(), outputs[i], out=weights[i]),
    }
    values = dict(experts=count, hidden=hidden, ffn=ffn, rows=rows)
    for name, product in passes.items():

        def in_turn():
            for i in range(count):
                product(i)

        def side_by_side():
            start = torch.cuda.Event()
            start.record()
            for stream in streams:
                stream.wait_event(start)
            for i in range(count):
                with torch.cuda.stream(streams[i % len(streams)]):
                    product(i)
            for stream in streams:
                torch.cuda.current_stream().wait_stream(stream)

        record.add("experts", what=name + ", in turn", us=graph_us(in_turn, 2), **values)
        if CUDA:
            record.add("experts", what=name + ", four streams", us=graph_us(side_by_side, 2), **values)
    x, weight = torch.cat(inputs), torch.stack(weights)
    ends = torch.arange(1, count + 1, device=DEVICE, dtype=torch.int32) * rows
    record.add("experts", what="forward, grouped", us=graph_us(lambda: grouped(x, weight, ends), 2), **values)


def experts(record):
    """Grouped products over equal experts, a loop of products over them, and the copies of rows around them."""
    for count, hidden, ffn in (
        (8, 4096, 14336),
        (64, 2048, 1408),
        (128, 2048, 768),
        (32, 1024, 1024),
        (16, 2048, 1408),
    ):
        for rows in (4096, 16384, 65536):
            count, hidden, ffn = size(count, 4), size(hidden, 32), size(ffn, 32)
            rows = size(rows, 64)
            x = normal(rows, hidden, grad=True)
            weight = normal(count, hidden, ffn, grad=True)
            ends = torch.arange(1, count + 1, device=DEVICE, dtype=torch.int32) * (rows // count)
            values = dict(experts=count, hidden=hidden, ffn=ffn, rows=rows)
            both_passes(
                record, "experts", lambda: grouped(x, weight, ends), (x, weight), what="grouped product", **values
            )
            weights = [weight[expert].detach().requires_grad_() for expert in range(count)]

            def loop():
                return torch.cat([part @ w for part, w in zip(x.chunk(count), weights)])

            both_passes(record, "experts", loop, (x, *weights), what="loop of products", **values)
    for count, hidden, ffn in ((8, 7168, 4096), (16, 4096, 3072), (16, 2048, 1536), (16, 2048, 2816), (4, 4096, 28672)):
        for rows in (64, 256, 1024, 4096):
            if CUDA or (count, rows) == (4, 64):
                expert_forms(record, count, size(hidden, 32), size(ffn, 32), size(rows, 8))
    for tokens, hidden, top, count in ((8192, 2048, 6, 64), (8192, 4096, 2, 8), (32768, 2048, 8, 128)):
        tokens = size(tokens, 32)
        x = normal(tokens, hidden, grad=True)
        chosen = torch.randint(count, (tokens, top), device=DEVICE)
        share = torch.rand(tokens, top, device=DEVICE, dtype=BF16)
        order = chosen.flatten().argsort()
        rows = normal(tokens * top, hidden, grad=True)
        values = dict(tokens=tokens, hidden=hidden, top=top)
        record.add("experts", what="sort", us=device_us(lambda: chosen.flatten().argsort(), 10), **values)
        both_passes(record, "experts", lambda: x[order // top], (x,), what="permute", **values)

        def back():
            part = rows * share.flatten()[order].unsqueeze(1)
            return torch.zeros_like(x).index_add(0, order // top, part)

        both_passes(record, "experts", back, (rows,), what="unpermute", **values)


def four_bit(record):
    """NF4 of bitsandbytes: writing the matrix in 16 bits, and a layer's passes next to those of a 16-bit one."""
    import bitsandbytes as bnb
    from bitsandbytes.functional import dequantize_4bit, quantize_4bit

    for n, k in ((4096, 4096), (14336, 4096), (8192, 8192), (28672, 8192)):
        n, k = size(n, 64), size(k, 64)
        for double in (False, True):
            packed, state = quantize_4bit(normal(n, k), quant_type="nf4", compress_statistics=double)
            record.add(
                "four bits",
                what="dequantize",
                n=n,
                k=k,
                double=double,
                us=device_us(lambda: dequantize_4bit(packed, state)),
            )
        layer = bnb.nn.Linear4bit(k, n, bias=False, compute_dtype=BF16, quant_type="nf4").to(DEVICE)
        plain = torch.nn.Linear(k, n, bias=False, device=DEVICE, dtype=BF16)
        plain.weight.requires_grad_(False)
        for rows in (512, 4096, 16384):
            x = normal(rows, k, grad=True)
            for name, module in (("nf4 layer", layer), ("16-bit layer", plain)):
                both_passes(record, "four bits", lambda: module(x), (x,), what=name, n=n, k=k, rows=rows)
        x = normal(16, k, grad=True)
        for name, module in (("nf4 layer", layer), ("16-bit layer", plain)):
            record.add("four bits", what=name + ", host", n=n, k=k, wall_us=wall_us(lambda: module(x)))


def low_precision(record):
    """FP8 products of PyTorch with scales by tensor and by row, and the casts before them."""
    if not CUDA:
        return
    e4m3 = torch.float8_e4m3fn
    for m, n, k in (
        (8192, 4096, 4096),
        (8192, 28672, 4096),
        (8192, 8192, 8192),
        (16384, 57344, 8192),
        (8192, 8192, 28672),
    ):
        x, w = normal(m, k).to(e4m3), normal(n, k).to(e4m3)
        one = torch.ones((), device=DEVICE)
        rows, columns = torch.ones(m, 1, device=DEVICE), torch.ones(1, n, device=DEVICE)
        values = dict(m=m, n=n, k=k)
        record.add(
            "fp8",
            what="by tensor",
            us=device_us(lambda: torch._scaled_mm(x, w.t(), one, one, out_dtype=BF16, use_fast_accum=True), 20),
            **values
        )
        record.add(
            "fp8",
            what="by row",
            us=device_us(lambda: torch._scaled_mm(x, w.t(), rows, columns, out_dtype=BF16, use_fast_accum=True), 20),
            **values
        )
        a, b = normal(m, k), normal(n, k)
        record.add("fp8", what="16 bits", us=device_us(lambda: F.linear(a, b), 20), **values)
