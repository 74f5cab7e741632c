"""Steps of Hugging Face models of several kinds on one GPU, built from their configurations with random weights.

Each step is forward, backward, clipping of gradients and AdamW, all in 16 bits, without DeepSpeed or FSDP. The
time that the GPU works is given with the wall time, and does not depend on the host.
"""

import torch

from basic_kernels import BF16
from layers import training_step
from timing import CUDA, DEVICE, size, wall_us


def busy_us(step):
    """Time of the device's kernels and copies in one step, in microseconds."""
    if not CUDA:
        return 0.0
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as trace:
        step()
        torch.cuda.synchronize()
    return float(sum(event.device_time_total for event in trace.events()))


def text_inputs(config, batch, length):
    ids = torch.randint(1000 if CUDA else 50, (batch, length), device=DEVICE)
    return dict(input_ids=ids, labels=ids, use_cache=False)


def image_inputs(config, batch, length, images, grid):
    """Samples of `length` tokens of text and `images` images of grid x grid patches each, of a Qwen-VL model."""
    vision = config.vision_config
    merged = (grid // vision.spatial_merge_size) ** 2
    image = torch.full((images * (merged + 2),), config.image_token_id, device=DEVICE)
    image[:: merged + 2] = config.vision_start_token_id
    image[merged + 1 :: merged + 2] = config.vision_end_token_id
    ids = torch.cat([image, torch.randint(50, (length,), device=DEVICE)]).repeat(batch, 1)
    values = 3 * vision.temporal_patch_size * vision.patch_size**2
    inputs = dict(input_ids=ids, labels=ids, use_cache=False)
    inputs["pixel_values"] = torch.randn(batch * images * grid * grid, values, device=DEVICE, dtype=BF16)
    inputs["image_grid_thw"] = torch.tensor([[1, grid, grid]] * (batch * images), device=DEVICE)
    inputs["mm_token_type_ids"] = (ids == config.image_token_id).int()
    return inputs


def tower_inputs(config, batch, length, tokens):
    """Samples of one image of `tokens` tokens and `length` tokens of text, of a LLaVA model."""
    ids = torch.randint(50, (batch, length + tokens), device=DEVICE)
    ids[:, :tokens] = config.image_token_index
    side = config.vision_config.image_size
    pixels = torch.randn(batch, 3, side, side, device=DEVICE, dtype=BF16)
    return dict(input_ids=ids, labels=ids, use_cache=False, pixel_values=pixels)


def audio_inputs(config, batch, length):
    ids = torch.randint(50, (batch, length), device=DEVICE)
    shape = (batch, config.num_mel_bins, 2 * config.max_source_positions)
    sound = torch.randn(shape, device=DEVICE, dtype=BF16)
    return dict(input_features=sound, labels=ids, use_cache=False)


def measure(record, what, model_class, config, inputs, recompute=False, freeze=(), **values):
    model, step = training_step(model_class, config, inputs, recompute, freeze=freeze)
    us = wall_us(step, 3)
    peak = torch.cuda.max_memory_allocated() if CUDA else 0
    resident = torch.cuda.memory_allocated() if CUDA else 0
    busy = busy_us(step)
    record.add(
        "models",
        what=what,
        recompute=recompute,
        parameters=sum(p.numel() for p in model.parameters()),
        trained=sum(p.numel() for p in model.parameters() if p.requires_grad),
        step_us=us,
        busy_us=busy,
        peak_bytes=peak,
        resident_bytes=resident,
        **values,
    )


COMMON = dict(max_position_embeddings=32768)


def dense_models(length):
    """(name, configuration, [settings]) of models of text without experts."""
    import transformers as hf

    yield "qwen3-0.6b", hf.Qwen3Config(
        hidden_size=size(1024, 128),
        intermediate_size=size(3072, 256),
        num_hidden_layers=size(28, 2),
        num_attention_heads=16,
        num_key_value_heads=8,
        head_dim=size(128, 16),
        vocab_size=size(151936, 512),
        tie_word_embeddings=True,
        **COMMON,
    ), [dict(batch=2, seq=length), dict(batch=8, seq=length, recompute=True)]
    yield "gemma-3-1b", hf.Gemma3TextConfig(
        hidden_size=size(1152, 128),
        intermediate_size=size(6912, 256),
        num_hidden_layers=size(26, 6),
        num_attention_heads=4,
        num_key_value_heads=1,
        head_dim=size(256, 32),
        vocab_size=size(262144, 512),
        sliding_window=size(512, 16),
        **COMMON,
    ), [dict(batch=1, seq=size(8192, 64))]
    yield "16 layers of qwen3.5-4b", hf.Qwen3_5TextConfig(
        hidden_size=size(2560, 128),
        intermediate_size=size(9216, 256),
        num_hidden_layers=size(16, 4),
        num_attention_heads=16,
        num_key_value_heads=4,
        head_dim=size(256, 32),
        linear_num_key_heads=16,
        linear_num_value_heads=32,
        linear_key_head_dim=size(128, 16),
        linear_value_head_dim=size(128, 16),
        vocab_size=size(248320, 512),
        tie_word_embeddings=True,
        **COMMON,
    ), [dict(batch=1, seq=length)]


def expert_models(length):
    """(name, configuration, [settings]) of models of text with experts."""
    import transformers as hf

    wide = size(2048, 128)
    yield "8 layers of qwen3-30b-a3b", hf.Qwen3MoeConfig(
        hidden_size=wide,
        intermediate_size=3 * wide,
        num_hidden_layers=size(8, 2),
        num_attention_heads=32,
        num_key_value_heads=4,
        head_dim=size(128, 16),
        num_experts=size(128, 8),
        num_experts_per_tok=8,
        moe_intermediate_size=size(768, 64),
        vocab_size=size(151936, 512),
        **COMMON,
    ), [dict(batch=1, seq=length), dict(batch=4, seq=length, recompute=True)]
    yield "2 layers of mixtral-8x7b", hf.MixtralConfig(
        hidden_size=size(4096, 128),
        intermediate_size=size(14336, 256),
        num_hidden_layers=2,
        num_attention_heads=32,
        num_key_value_heads=8,
        num_local_experts=8,
        num_experts_per_tok=2,
        vocab_size=size(32000, 512),
        **COMMON,
    ), [dict(batch=1, seq=length)]
    yield "4 layers of gpt-oss-20b", hf.GptOssConfig(
        hidden_size=size(2880, 64),
        intermediate_size=size(2880, 64),
        num_hidden_layers=4,
        num_attention_heads=64,
        num_key_value_heads=8,
        head_dim=size(64, 16),
        num_local_experts=32,
        num_experts_per_tok=4,
        vocab_size=size(201088, 512),
    ), [dict(batch=1, seq=size(2048, 64), attention="eager")]


def qwen_vl():
    import transformers as hf

    wide = size(2048, 128)
    return hf.Qwen2_5_VLConfig(
        text_config=dict(
            hidden_size=wide,
            intermediate_size=size(11008, 256),
            num_hidden_layers=size(36, 2),
            num_attention_heads=16,
            num_key_value_heads=2,
            vocab_size=size(151936, 160000),
            tie_word_embeddings=True,
            rope_parameters={
                "rope_type": "default",
                "rope_theta": 1e6,
                "mrope_section": [16, 24, 24] if CUDA else [1, 1, 2],
            },
        ),
        vision_config=dict(
            depth=size(32, 2),
            hidden_size=size(1280, 64),
            num_heads=size(16, 4),
            intermediate_size=size(3420, 96),
            out_hidden_size=wide,
            fullatt_block_indexes=[7, 15, 23, 31] if CUDA else [1],
        ),
        tie_word_embeddings=True,
    )


def llava():
    import transformers as hf

    return hf.LlavaConfig(
        text_config=hf.LlamaConfig(
            hidden_size=size(4096, 128),
            intermediate_size=size(11008, 256),
            num_hidden_layers=size(8, 2),
            num_attention_heads=32,
            num_key_value_heads=32,
            vocab_size=size(32064, 33000),
        ),
        vision_config=hf.CLIPVisionConfig(
            hidden_size=size(1024, 64),
            intermediate_size=size(4096, 128),
            num_hidden_layers=size(24, 2),
            num_attention_heads=16,
            image_size=size(336, 56),
            patch_size=14,
            projection_dim=768,
        ),
        image_token_index=32000,
    )


def whisper():
    import transformers as hf

    return hf.WhisperConfig(
        d_model=size(1024, 64),
        encoder_layers=size(24, 2),
        decoder_layers=size(24, 2),
        encoder_attention_heads=16,
        decoder_attention_heads=16,
        encoder_ffn_dim=size(4096, 128),
        decoder_ffn_dim=size(4096, 128),
        vocab_size=51865,
        num_mel_bins=80,
        max_source_positions=size(1500, 50),
    )


def models(record):
    import transformers as hf

    def try_one(what, model_class, config, inputs, attention="sdpa", **values):
        try:
            config._attn_implementation = attention
            measure(record, what, model_class, config, inputs, **values)
        except Exception as error:
            record.add("models", what=what, failed=str(error)[:300])

    length = size(4096, 64)
    for what, config, settings in (*dense_models(length), *expert_models(length)):
        model_class = getattr(hf, type(config).__name__.replace("Text", "").replace("Config", "ForCausalLM"))
        for values in settings:
            try_one(what, model_class, config, text_inputs(config, values["batch"], values["seq"]), **values)

    vl, grid, text = qwen_vl(), size(48, 8), size(512, 16)
    pictures = image_inputs(vl, 1, text, 4, grid)
    shown = dict(images=4, patches=grid * grid, text=text, batch=1)
    two = llava()
    tokens, text = (two.vision_config.image_size // 14) ** 2, size(448, 16)
    image = tower_inputs(two, 8, text, tokens)
    for freeze in ((), ("visual", "vision_tower")):
        frozen = ", tower frozen" if freeze else ""
        model_class = hf.Qwen2_5_VLForConditionalGeneration
        try_one("qwen2.5-vl-3b" + frozen, model_class, vl, pictures, freeze=freeze, **shown)
        values = dict(batch=8, text=text, image_tokens=tokens)
        model_class = hf.LlavaForConditionalGeneration
        try_one("8 layers of llava-1.5-7b" + frozen, model_class, two, image, freeze=freeze, **values)
    sound, length = whisper(), size(256, 16)
    inputs = audio_inputs(sound, 16, length)
    try_one("whisper-medium", hf.WhisperForConditionalGeneration, sound, inputs, batch=16, seq=length)
