"""Kernels of training one by one: products, attention, streaming, optimizers, recurrences, experts, copies."""

import subprocess

import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from timing import CUDA, DEVICE, device_us, free_memory, size, wall_us

BF16 = torch.bfloat16


def normal(*shape, dtype=BF16, grad=False):
    value = torch.randn(*shape, device=DEVICE, dtype=torch.float32).mul_(0.5).to(dtype)
    return value.requires_grad_(grad)


def machine(record):
    """The GPU, its software and its memory's rate."""
    values = {"torch": torch.__version__, "threads": torch.get_num_threads()}
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        values["cpu"] = next((line.split(":", 1)[1].strip() for line in info if line.startswith("model name")), "")
    if CUDA:
        values["gpu"] = torch.cuda.get_device_name()
        values["cudnn"] = torch.backends.cudnn.version()
        query = "power.limit,clocks.max.sm,clocks.max.memory,pcie.link.gen.max,pcie.link.width.max,driver_version"
        values["smi"] = subprocess.run(
            ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            check=False,
        ).stdout.strip()
    record.add("machine", **values)
    source = normal(size(1 << 30, 1 << 16))
    target = torch.empty_like(source)
    us = device_us(lambda: target.copy_(source))
    record.add("machine", what="device copy", bytes=4 * source.numel(), us=us)


def products(record):
    """y = x W^T (forward), dx = dy W, dW = dy^T x; filled with random values."""
    layers = {
        "1024": [(3072, 1024), (1024, 1024), (4096, 1024), (1024, 4096)],
        "2048": [(3072, 2048), (2048, 2048), (16384, 2048), (2048, 8192)],
        "4096": [(6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336), (128256, 4096)],
        "8192": [(10240, 8192), (8192, 8192), (57344, 8192), (8192, 28672)],
        "8192 over 8": [(1280, 8192), (8192, 1024), (7168, 8192), (8192, 3584)],
    }
    for name, shapes in layers.items():
        for rows in (1024, 2048, 4096, 8192, 16384):
            for n, k in shapes:
                m, n, k = size(rows, 32), size(n, 64), size(k, 64)
                if m * n > 2.2e9:
                    continue
                x, w, dy = normal(m, k), normal(n, k), normal(m, n)
                record.add(
                    "products",
                    layer=name,
                    m=m,
                    n=n,
                    k=k,
                    forward_us=device_us(lambda: F.linear(x, w), 15),
                    input_us=device_us(lambda: dy @ w, 15),
                    weight_us=device_us(lambda: dy.t() @ x, 15),
                )
    m = n = k = size(8192, 64)
    zeros = torch.zeros(m, k, device=DEVICE, dtype=BF16)
    x, w = normal(m, k), normal(n, k)
    for _ in range(2):
        record.add("products", layer="random", m=m, n=n, k=k, forward_us=device_us(lambda: F.linear(x, w), 400))
        record.add(
            "products", layer="zeros", m=m, n=n, k=k, forward_us=device_us(lambda: F.linear(zeros, zeros), 400)
        )


def attention_shapes():
    for length in (1024, 2048, 4096, 8192, 16384, 32768):
        for heads, kv, d, dv in (
            (16, 16, 64, 64),
            (32, 8, 128, 128),
            (16, 16, 128, 128),
            (16, 16, 192, 128),
            (8, 8, 256, 256),
            (4, 4, 128, 128),
        ):
            yield max(1, 16384 // length), length, heads, kv, d, dv, True
    for batch, length, heads, d in (
        (16, 576, 16, 64),
        (16, 1025, 16, 64),
        (16, 1025, 25, 128),
        (8, 1025, 24, 128),
        (16, 729, 16, 72),
        (2, 4096, 16, 80),
    ):
        yield batch, length, heads, heads, d, d, False


def attention(record):
    """Forward and backward pass of each kernel that PyTorch has; with deterministic gradients, too."""
    backends = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}
    if not CUDA:
        backends = {"math": SDPBackend.MATH}
    for batch, length, heads, kv, d, dv, causal in attention_shapes():
        batch, length = size(batch, 1), size(length, 16)
        q = normal(batch, length, heads, d, grad=True).transpose(1, 2)
        k = normal(batch, length, kv, d, grad=True).transpose(1, 2)
        v = normal(batch, length, kv, dv, grad=True).transpose(1, 2)
        dy = normal(batch, heads, length, dv)
        shape = dict(batch=batch, seq=length, heads=heads, kv_heads=kv, head_dim=d, value_dim=dv, causal=causal)
        for name, backend in backends.items():
            try:
                with sdpa_kernel(backend):

                    def run():
                        return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=kv != heads)

                    forward = device_us(run, 15)
                    out = run()

                    def backward():
                        torch.autograd.grad(out, (q, k, v), dy, retain_graph=True)

                    values = dict(forward_us=forward, backward_us=device_us(backward, 20))
                    torch.use_deterministic_algorithms(True)  # warn_only would leave attention as it is
                    torch.utils.deterministic.fill_uninitialized_memory = False
                    out = run()
                    values["deterministic_us"] = device_us(backward, 20)
            except Exception as error:
                values = dict(failed=str(error)[:120])
            finally:
                torch.use_deterministic_algorithms(False)
                torch.utils.deterministic.fill_uninitialized_memory = True
            record.add("attention", kernel=name, **shape, **values)


def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sin


def eager_norm(x, weight):
    wide = x.float()
    return weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


def rotations(record):
    """The rotation of Hugging Face's modules: q cos + rotate_half(q) sin, on batch x heads x rows x 128."""
    for rows, heads in ((2048, 32), (8192, 32), (16384, 32)):
        rows = size(rows, 16)
        x = normal(1, rows, heads, 128, grad=True)
        cos, sin = normal(1, 1, rows, 128), normal(1, 1, rows, 128)

        def turn():
            return rotate(x.transpose(1, 2), cos, sin)

        out = turn()
        dy = torch.randn_like(out)
        record.add(
            "streaming",
            what="rotation of Hugging Face",
            rows=rows,
            width=heads * 128,
            bytes=4 * rows * heads * 128,
            us=device_us(turn, 10),
            backward_us=device_us(lambda: torch.autograd.grad(out, x, dy, retain_graph=True), 10),
        )
        gate, up = normal(rows, 14336, grad=True), normal(rows, 14336, grad=True)
        out = F.silu(gate) * up
        dy = torch.randn_like(out)
        record.add(
            "streaming",
            what="silu and product, apart",
            rows=rows,
            width=14336,
            bytes=10 * gate.numel(),
            us=device_us(lambda: F.silu(gate) * up, 10),
            backward_us=device_us(lambda: torch.autograd.grad(out, (gate, up), dy, retain_graph=True), 10),
        )
        wide = normal(rows, 16384, grad=True)
        out = F.gelu(wide)
        dy = torch.randn_like(out)
        record.add(
            "streaming",
            what="gelu, both passes",
            rows=rows,
            width=16384,
            bytes=4 * wide.numel(),
            us=device_us(lambda: F.gelu(wide), 10),
            backward_us=device_us(lambda: torch.autograd.grad(out, wide, dy, retain_graph=True), 10),
        )


def streaming(record):
    """Memory-bound kernels; `bytes` is what they must read and write at least."""
    for rows, h in ((4096, 1024), (8192, 4096), (8192, 8192), (32768, 4096)):
        rows, h = size(rows, 16), size(h, 64)
        x, y, wide = normal(rows, h), normal(rows, h), normal(rows, 4 * h)
        xg, w = normal(rows, h, grad=True), normal(h, grad=True)
        cos, sin = normal(rows, 1, 128), normal(rows, 1, 128)
        heads = x.view(rows, -1, 128) if h % 128 == 0 else None
        half = 2 * h
        tasks = {
            "add": (lambda: x + y, 6 * rows * h),
            "gelu": (lambda: F.gelu(wide), 16 * rows * h),
            "silu and product": (lambda: F.silu(wide[:, :half]) * wide[:, half:], 20 * rows * h),
            "rms norm": (lambda: F.rms_norm(x, (h,), w), 4 * rows * h),
            "layer norm": (lambda: F.layer_norm(x, (h,), w, w), 4 * rows * h),
            "rms norm of eager modules": (lambda: eager_norm(x, w), 4 * rows * h),
            "dropout": (lambda: F.dropout(x, 0.1), 5 * rows * h),
            "cast to fp32": (lambda: x.float(), 6 * rows * h),
            "fill": (lambda: x.fill_(float("nan")), 2 * rows * h),
        }
        if heads is not None:
            tasks["rotation of eager modules"] = (lambda: rotate(heads, cos, sin), 4 * rows * h)
        for name, (task, moved) in tasks.items():
            record.add("streaming", what=name, rows=rows, width=h, bytes=moved, us=device_us(task, 10))
        x.normal_()
        for name, norm in (
            ("rms norm", lambda: F.rms_norm(xg, (h,), w)),
            ("layer norm", lambda: F.layer_norm(xg, (h,), w, w)),
            ("rms norm of eager modules", lambda: eager_norm(xg, w)),
        ):
            out = norm()
            us = device_us(lambda: torch.autograd.grad(out, (xg, w), y, retain_graph=True), 10)
            record.add("streaming", what=name + ", backward", rows=rows, width=h, bytes=6 * rows * h, us=us)
    rotations(record)
    for rows, vocab in ((4096, 32000), (8192, 128256)):
        rows, vocab = size(rows, 16), size(vocab, 64)
        logits, labels = normal(rows, vocab, grad=True), torch.randint(vocab, (rows,), device=DEVICE)
        us = device_us(lambda: F.cross_entropy(logits.float(), labels))
        loss = F.cross_entropy(logits.float(), labels)
        back = device_us(lambda: torch.autograd.grad(loss, logits, retain_graph=True))
        record.add("streaming", what="cross entropy", rows=rows, width=vocab, us=us, backward_us=back)
        table = normal(vocab, size(4096, 64), dtype=BF16, grad=True)
        out = F.embedding(labels, table)
        dy = torch.randn_like(out)
        us = device_us(lambda: torch.autograd.grad(out, table, dy, retain_graph=True))
        torch.use_deterministic_algorithms(True, warn_only=True)
        indexed = table[labels]
        exact = device_us(lambda: torch.autograd.grad(indexed, table, dy, retain_graph=True))
        torch.use_deterministic_algorithms(False)
        record.add("streaming", what="embedding, backward", rows=rows, width=vocab, us=us, deterministic_us=exact)


def optimizers(record):
    """One step over parameters of one billion (GPU) and of a quarter of it (host)."""
    count = size(1 << 30, 1 << 14)
    for dtype in (torch.float32, BF16):
        for form in ("fused", "foreach"):
            weights = [torch.nn.Parameter(normal(count // 16, dtype=dtype)) for _ in range(16)]
            for weight in weights:
                weight.grad = torch.full_like(weight, 1e-3)
            optimizer = torch.optim.AdamW(weights, lr=1e-4, **{form: True})
            record.add(
                "optimizers",
                what=f"adamw {form}",
                dtype=str(dtype),
                parameters=count,
                us=device_us(optimizer.step, 60),
            )
            record.add(
                "optimizers",
                what="gradient norm",
                dtype=str(dtype),
                parameters=count,
                us=device_us(lambda: torch.nn.utils.clip_grad_norm_(weights, 1.0), 60),
            )
            weights = optimizer = None
            free_memory()
    count = size(1 << 28, 1 << 14)
    weights = [torch.nn.Parameter(torch.randn(count // 16)) for _ in range(16)]
    for weight in weights:
        weight.grad = torch.full_like(weight, 1e-3)
    optimizer = torch.optim.AdamW(weights, lr=1e-4, fused=True)
    record.add(
        "optimizers",
        what="adamw fused on the host",
        dtype="torch.float32",
        parameters=count,
        us=wall_us(optimizer.step, 4),
    )


def copies(record):
    """Pinned copies between host and GPU, alone, both ways at once, and during a product."""
    count = size(1 << 29, 1 << 14)
    host_in, host_out = (torch.empty(count, dtype=BF16, pin_memory=CUDA) for _ in range(2))
    device_in, device_out = normal(count), normal(count)
    moved = 2 * count
    record.add(
        "copies",
        what="host to device",
        bytes=moved,
        us=device_us(lambda: device_in.copy_(host_in, non_blocking=True), 200),
    )
    record.add(
        "copies",
        what="device to host",
        bytes=moved,
        us=device_us(lambda: host_out.copy_(device_out, non_blocking=True), 200),
    )
    if not CUDA:
        return
    up, down = torch.cuda.Stream(), torch.cuda.Stream()

    def both():
        with torch.cuda.stream(up):
            device_in.copy_(host_in, non_blocking=True)
        with torch.cuda.stream(down):
            host_out.copy_(device_out, non_blocking=True)

    record.add("copies", what="both ways at once", bytes=moved, us=wall_us(both, 5))
    x, w = normal(8192, 8192), normal(8192, 8192)
    streamed = normal(1 << 28)

    def beside(task, calls, what, copying):
        for copy in (False, True):
            if copy:
                copying()
            start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            for _ in range(calls):
                task()
            stop.record()
            torch.cuda.synchronize()
            record.add("copies", what=what, beside_copies=copy, us=start.elapsed_time(stop) * 1e3 / calls)

    def go_down():
        with torch.cuda.stream(down):
            host_out.copy_(device_out, non_blocking=True)

    for _ in range(2):
        beside(lambda: F.linear(x, w), 12, "product of 8192^3", go_down)
        beside(lambda: F.linear(x, w), 12, "product of 8192^3, copies both ways", both)
        beside(lambda: streamed.mul_(1.0), 30, "streaming of 2^28 values", go_down)
