"""Layers whose kept activations wait in host memory between their forward and backward passes."""

import torch
from torch import nn

from basic_kernels import BF16, normal
from layers import Layer
from timing import CUDA, DEVICE, device_us, free_memory

LEAST = 1 << 20  # values of a tensor that leaves (Megatron-Core's min_offloaded_tensor_size)


class Offload:
    """Hooks of saved tensors: one stream copies them out, another fetches `ahead` of them before their use."""

    def __init__(self, ahead=4):
        self.ahead, self.out, self.back = ahead, torch.cuda.Stream(), torch.cuda.Stream()
        self.free, self.held, self.bytes = {}, [], 0

    def pack(self, tensor):
        if tensor.numel() < LEAST or tensor.is_leaf or not tensor.is_contiguous():
            return tensor
        key = (tensor.numel(), tensor.dtype)
        pool = self.free.setdefault(key, [])
        host = pool.pop() if pool else torch.empty(tensor.numel(), dtype=tensor.dtype, pin_memory=True)
        self.out.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.out):
            host.copy_(tensor.detach().view(-1), non_blocking=True)
            done = self.out.record_event()
        tensor.record_stream(self.out)
        self.bytes += tensor.numel() * tensor.element_size()
        self.held.append(dict(host=host, done=done, key=key, shape=tensor.shape, fetched=None))
        return len(self.held) - 1

    def fetch(self, index):
        entry = self.held[index]
        if entry["fetched"] is None:
            with torch.cuda.stream(self.back):
                self.back.wait_event(entry["done"])
                value = entry["host"].to(DEVICE, non_blocking=True)
                entry["fetched"] = (value, self.back.record_event())
        return entry["fetched"]

    def unpack(self, packed):
        if not isinstance(packed, int):
            return packed
        for index in range(packed, max(-1, packed - self.ahead), -1):
            value, _ = self.fetch(index)
        value, ready = self.fetch(packed)
        torch.cuda.current_stream().wait_event(ready)
        value.record_stream(torch.cuda.current_stream())
        entry = self.held[packed]
        self.free[entry["key"]].append(entry["host"])
        return value.view(entry["shape"])


def offload(record):
    """Steps of a stack of layers with and without the copies. `bytes` leave and return in one step."""
    if not CUDA:
        return
    for hidden, heads, kv, ffn, length, count in (
        (4096, 32, 8, 14336, 8192, 12),
        (4096, 32, 8, 14336, 32768, 4),
        (2048, 16, 16, 8192, 8192, 12),
    ):
        layers = nn.ModuleList([Layer(hidden, heads, kv, ffn, gated=True) for _ in range(count)]).to(DEVICE, BF16)
        x = normal(1, length, hidden, grad=True)

        def run(hooks=None):
            y = x
            for layer in layers:
                if hooks is None:
                    y = layer(y)
                else:
                    with torch.autograd.graph.saved_tensors_hooks(hooks.pack, hooks.unpack):
                        y = layer(y)
            y.backward(y.detach())

        values = dict(hidden=hidden, ffn=ffn, seq=length, layers=count)
        free_memory()
        us = device_us(run, 300)
        record.add("offload", what="none", us=us, peak_bytes=torch.cuda.max_memory_allocated(), **values)
        free_memory()
        pool = {}

        def offloaded():
            hooks = Offload()
            hooks.free = pool
            run(hooks)
            offloaded.bytes = hooks.bytes

        us = device_us(offloaded, 300)
        record.add(
            "offload",
            what="activations",
            us=us,
            bytes=offloaded.bytes,
            peak_bytes=torch.cuda.max_memory_allocated(),
            **values
        )
