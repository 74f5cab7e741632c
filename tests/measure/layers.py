"""Whole layers and steps: what the host spends, what deterministic mode and offload cost, steps of Hugging Face."""

import contextlib
import os

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint

from basic_kernels import BF16, normal
from timing import CUDA, DEVICE, device_us, free_memory, size, wall_us


class Layer(nn.Module):
    """A decoder layer with fused q, k, v as Megatron has it, or with the separate products of eager modules."""

    def __init__(self, hidden, heads, kv, ffn, gated=False):
        super().__init__()
        self.heads, self.kv, self.size, self.gated = heads, kv, hidden // heads, gated
        self.qkv = nn.Linear(hidden, hidden + 2 * kv * self.size)
        self.out = nn.Linear(hidden, hidden)
        self.up = nn.Linear(hidden, (1 + gated) * ffn)
        self.down = nn.Linear(ffn, hidden)
        self.first, self.second = nn.LayerNorm(hidden), nn.LayerNorm(hidden)

    def forward(self, x):
        batch, length, hidden = x.shape
        q, k, v = self.qkv(self.first(x)).split([hidden, self.kv * self.size, self.kv * self.size], dim=-1)
        q, k, v = (part.view(batch, length, -1, self.size).transpose(1, 2) for part in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.kv != self.heads)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, hidden))
        y = self.up(self.second(x))
        if self.gated:
            gate, up = y.chunk(2, dim=-1)
            return x + self.down(F.silu(gate) * up)
        return x + self.down(F.gelu(y, approximate="tanh"))


def passes(layers, x, recompute=False):
    """A forward and a backward pass through all layers."""
    y = x
    for layer in layers:
        y = checkpoint(layer, y, use_reentrant=False) if recompute else layer(y)
    y.backward(torch.ones_like(y))


@contextlib.contextmanager
def deterministic(fill):
    # With warn_only, attention stays as it is.
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = fill
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)
        torch.utils.deterministic.fill_uninitialized_memory = True


def filled_bytes(task):
    """The bytes and the number of fills that deterministic mode adds, read off PyTorch's profiler."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) as trace:
        task()
        torch.cuda.synchronize()
    kernels, time, count = 0, 0.0, 0
    for event in trace.events():
        if event.name == "aten::fill_":
            count += 1
        if "FillFunctor" in event.name:
            kernels += 1
            time += event.device_time_total
    return dict(fills=count, fill_kernels=kernels, fill_us=float(time))


def deterministic_mode(record):
    """A layer with and without torch.use_deterministic_algorithms, and with the fills of new tensors apart."""
    for name, hidden, heads, kv, ffn, batch, length in (
        ("7b", 4096, 32, 8, 16384, 1, 8192),
        ("short", 4096, 32, 32, 16384, 1, 2048),
        ("2b", 2048, 16, 16, 8192, 4, 2048),
    ):
        hidden, ffn, length = size(hidden, heads * 8), size(ffn, 64), size(length, 16)
        layers = nn.ModuleList([Layer(hidden, heads, kv, ffn) for _ in range(2)]).to(DEVICE, BF16)
        x = normal(batch, length, hidden, grad=True)
        for kernel in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION) if CUDA else (SDPBackend.MATH,):
            with sdpa_kernel(kernel):

                def run():
                    passes(layers, x)

                values = dict(layer=name, kernel=str(kernel), layers=2)
                try:
                    record.add("deterministic", what="off", us=device_us(run, 80), **values)
                    with deterministic(False):
                        record.add("deterministic", what="no fills", us=device_us(run, 80), **values)
                    with deterministic(True):
                        record.add("deterministic", what="on", us=device_us(run, 80), **values)
                        if CUDA:
                            record.add("deterministic", what="fills", **filled_bytes(run), **values)
                except Exception as error:
                    record.add("deterministic", failed=str(error)[:200], **values)


def host_of(record, what, modules, x, **values):
    """The host's time of a forward and a backward pass through a layer, with tensors too small to fill a GPU."""

    def forward():
        y = x
        for module in modules:
            y = module(y)
            y = y[0] if isinstance(y, tuple) else y
        return y

    def both():
        forward().sum().backward()

    with torch.no_grad():
        free = wall_us(forward)
    kept = wall_us(forward)
    total = wall_us(both)
    record.add(
        "host",
        what=what,
        layers=len(modules),
        no_grad_us=free / len(modules),
        forward_us=kept / len(modules),
        both_us=total / len(modules),
        **values,
    )


def hugging_face(hidden=256, layers=8, lora=False, experts=0, kind="sdpa"):
    from transformers import LlamaConfig, LlamaForCausalLM, Qwen3MoeConfig, Qwen3MoeForCausalLM

    shape = dict(
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        vocab_size=1024,
        num_attention_heads=hidden // 64,
        num_key_value_heads=hidden // 64,
        attn_implementation=kind,
    )
    if experts:
        config = Qwen3MoeConfig(
            **shape, num_experts=experts, num_experts_per_tok=4, moe_intermediate_size=hidden, head_dim=64
        )
        model = Qwen3MoeForCausalLM(config)
    else:
        model = LlamaForCausalLM(LlamaConfig(**shape))
    model = model.to(DEVICE, BF16)
    if lora:
        from peft import LoraConfig, get_peft_model

        model = get_peft_model(model, LoraConfig(r=16, target_modules="all-linear", task_type="CAUSAL_LM"))
    return model


def host_of_model(record, what, model, layers, length=64, **values):
    ids = torch.randint(1000, (1, length), device=DEVICE)
    model.train()

    def forward():
        return model(input_ids=ids, labels=ids, use_cache=False).loss

    with torch.no_grad():
        free = wall_us(forward, 12)
    kept = wall_us(forward, 12)
    total = wall_us(lambda: forward().backward(), 12)
    record.add(
        "host",
        what=what,
        layers=layers,
        no_grad_us=free / layers,
        forward_us=kept / layers,
        both_us=total / layers,
        **values,
    )


def host(record):
    """Host time of one layer under several trainers' code."""
    x = normal(1, 64, 256, grad=True)
    plain = nn.ModuleList([Layer(256, 4, 4, 512, gated=True) for _ in range(8)]).to(DEVICE, BF16)
    host_of(record, "plain module", plain, x)
    if CUDA:
        graph = torch.compile(Layer(256, 4, 4, 512, gated=True).to(DEVICE, BF16))
        host_of(record, "compiled module", [graph] * 8, x)
    for layers in (8, 16):
        host_of_model(record, "hugging face", hugging_face(layers=layers), layers)
        host_of_model(record, "hugging face lora", hugging_face(layers=layers, lora=True), layers)
    model = hugging_face()
    model.gradient_checkpointing_enable({"use_reentrant": False})
    host_of_model(record, "hugging face, checkpointed", model, 8)
    model = hugging_face(lora=True)
    model.gradient_checkpointing_enable({"use_reentrant": False})
    model.enable_input_require_grads()
    host_of_model(record, "hugging face lora, checkpointed", model, 8)
    for experts in (8, 64):
        for form in ("eager", "grouped_mm"):
            model = hugging_face(experts=experts)
            try:
                model.set_experts_implementation(form)
            except Exception as error:
                record.add("host", what="experts " + form, failed=str(error)[:200])
                continue
            host_of_model(record, f"hugging face, {experts} experts, {form}", model, 8)


def fsdp(record):
    """FSDP2 on one rank: the host time of its hooks, and a layer's passes with it."""
    import torch.distributed as dist
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511", RANK="0", WORLD_SIZE="1")
    dist.init_process_group("nccl" if CUDA else "gloo")
    mesh = dist.device_mesh.init_device_mesh(DEVICE, (1,))
    policy = MixedPrecisionPolicy(param_dtype=BF16, reduce_dtype=torch.float32)
    stack = nn.Sequential(*[Layer(256, 4, 4, 512, gated=True) for _ in range(8)]).to(DEVICE)
    for layer in stack:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(stack, mesh=mesh, mp_policy=policy)
    x = normal(1, 64, 256, grad=True)
    total = wall_us(lambda: stack(x).sum().backward())
    record.add("host", what="fsdp2, plain module", layers=8, both_us=total / 8)
    dist.destroy_process_group()


def megatron(record):
    """Megatron-Core's GPT layer of its local specification: host time of one layer, with real code."""
    if not CUDA:  # its layers are made on a GPU
        return
    from megatron.core import parallel_state
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
    from megatron.core.transformer.spec_utils import build_module
    from megatron.core.transformer.transformer_config import TransformerConfig

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29512", RANK="0", WORLD_SIZE="1")
    torch.distributed.init_process_group("nccl" if CUDA else "gloo")
    parallel_state.initialize_model_parallel()
    if CUDA:
        model_parallel_cuda_manual_seed(1)
    for experts in (None, 8):
        config = TransformerConfig(
            num_layers=8,
            hidden_size=256,
            num_attention_heads=4,
            ffn_hidden_size=512,
            bf16=True,
            params_dtype=BF16,
            add_bias_linear=not experts,
            attention_dropout=0.0,
            hidden_dropout=0.0,
            num_moe_experts=experts,
            moe_grouped_gemm=False,
            gradient_accumulation_fusion=False,
        )
        spec = get_gpt_layer_local_spec(num_experts=experts)
        layers = [build_module(spec, config=config, layer_number=1 + i).to(DEVICE, BF16) for i in range(8)]
        x = normal(64, 1, 256, grad=True)
        mask = torch.ones(1, 1, 64, 64, device=DEVICE).triu(1).bool()
        modules = [lambda y, layer=layer: layer(y, attention_mask=mask) for layer in layers]
        host_of(record, "megatron-core local" + (f", {experts} experts" if experts else ""), modules, x)
    torch.distributed.destroy_process_group()


def training_step(model_class, config, inputs, recompute, lora=0, dropout=0.0, freeze=(), fused=True):
    """A model with random 16-bit weights, and the function that runs a step of it."""
    free_memory()
    torch.set_default_dtype(BF16)
    with torch.device(DEVICE):
        model = model_class(config)
    torch.set_default_dtype(torch.float32)
    for name, parameter in model.named_parameters():
        if any(part in name for part in freeze):
            parameter.requires_grad_(False)
    if lora:
        from peft import LoraConfig, get_peft_model

        model = get_peft_model(
            model,
            LoraConfig(r=lora, target_modules="all-linear", lora_dropout=dropout, task_type="CAUSAL_LM"),
            autocast_adapter_dtype=False,
        )
    if recompute:
        model.gradient_checkpointing_enable({"use_reentrant": False})
        model.enable_input_require_grads()
    model.train()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-5, **({"fused": True} if fused else {"foreach": True}))

    def step():
        model(**inputs).loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return model, step


def one_step(record, what, config, length, batch, lora=0, recompute=True, fused=True, calls=4, dropout=0.0):
    from transformers import LlamaForCausalLM

    ids = torch.randint(1000, (batch, length), device=DEVICE)
    inputs = dict(input_ids=ids, labels=ids, use_cache=False)
    model, step = training_step(LlamaForCausalLM, config, inputs, recompute, lora, dropout, fused=fused)
    us = wall_us(step, calls)
    peak = torch.cuda.max_memory_allocated() if CUDA else 0
    resident = torch.cuda.memory_allocated() if CUDA else 0
    record.add(
        "steps",
        what=what,
        layers=config.num_hidden_layers,
        hidden=config.hidden_size,
        ffn=config.intermediate_size,
        heads=config.num_attention_heads,
        kv=config.num_key_value_heads,
        vocab=config.vocab_size,
        tied=config.tie_word_embeddings,
        seq=length,
        batch=batch,
        lora=lora,
        dropout=dropout,
        recompute=recompute,
        parameters=sum(p.numel() for p in model.parameters()),
        step_us=us,
        peak_bytes=peak,
        resident_bytes=resident,
    )


def steps(record):
    """Steps of Hugging Face models with plain PyTorch: 16-bit weights and moments (pure bf16), or adapters."""
    from transformers import LlamaConfig

    def llama(layers, hidden, ffn, heads, kv, vocab, tied=False):
        return LlamaConfig(
            num_hidden_layers=size(layers, 2),
            hidden_size=size(hidden, 64),
            intermediate_size=size(ffn, 96),
            num_attention_heads=size(heads, 4),
            num_key_value_heads=size(kv, 2),
            vocab_size=size(vocab, 1024),
            tie_word_embeddings=tied,
            attn_implementation="sdpa",
            max_position_embeddings=32768,
        )

    cut = llama(8, 4096, 14336, 32, 8, 32000)  # eight layers of Llama-3-8B
    whole = llama(32, 4096, 14336, 32, 8, 128256)  # Llama-3.1-8B
    small = llama(16, 2048, 8192, 32, 8, 128256, True)  # Llama-3.2-1B
    for length in (2048, 8192):
        length = size(length, 32)
        one_step(record, "8 layers, full", cut, length, 1, recompute=False)
        one_step(record, "8 layers, full", cut, length, 1)
        for dropout in (0.0, 0.05):
            one_step(record, "8 layers, lora", cut, length, 1, lora=16, recompute=False, dropout=dropout)
        one_step(record, "8 layers, lora", cut, length, 1, lora=16)
        one_step(record, "llama-3.1-8b lora", whole, length, 1, lora=16, calls=2)
    one_step(record, "llama-3.1-8b lora", whole, size(512, 32), 1, lora=16, calls=2)
    one_step(record, "8 layers, full", cut, size(2048, 32), 4, recompute=False)
    one_step(record, "8 layers, full, foreach", cut, size(8192, 32), 1, recompute=False, fused=False)
    for length in (512, 2048, 8192):
        one_step(record, "llama-3.2-1b full", small, size(length, 32), 1, recompute=False, calls=3)
    one_step(record, "llama-3.2-1b full", small, size(8192, 32), 1, calls=3)
