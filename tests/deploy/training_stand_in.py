"""Runs a training program under the PyTorch of Debian 12 (1.13) on CPUs. It stands in for the parts of PyTorch 2.6 that
the example and evenkeel_fsdp.py use. Gradients are averaged over the ranks, as in FSDP, but nothing is sharded.

    training_stand_in.py PROGRAM
"""
import os
import runpy
import sys
import types

import google
import torch
import torch.distributed as dist
from torch.nn import functional


def attention(query, key, value, is_causal):
    scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
    if is_causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), float("-inf"))
    return scores.softmax(-1) @ value


def average(gradient):
    gradient = gradient.clone()
    dist.all_reduce(gradient)
    return gradient / dist.get_world_size()


def fully_shard(module, mesh, mp_policy, reshard_after_forward):
    assert mesh["ranks"] == dist.get_world_size() and mp_policy["param_dtype"] == torch.bfloat16, (mesh, mp_policy)
    assert isinstance(reshard_after_forward, bool)
    for parameter in module.parameters():
        if not getattr(parameter, "averaged", False):
            parameter.averaged = True
            parameter.register_hook(average)
    module.set_is_last_backward = lambda last: None


def init_device_mesh(device, shape, mesh_dim_names):
    assert device == "cuda" and len(shape) == len(mesh_dim_names)
    return {"data": {"ranks": shape[0]}}


functional.scaled_dot_product_attention = attention
sys.modules["torch.distributed.fsdp"] = types.SimpleNamespace(fully_shard=fully_shard, MixedPrecisionPolicy=dict)
sys.modules["torch.distributed.device_mesh"] = types.SimpleNamespace(init_device_mesh=init_device_mesh)
torch.set_num_threads(1)
google.__path__.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "google"))  # Debian lacks google.rpc
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
