"""Compares parameters counted from config.json with those of the model that transformers builds from it.

Run by run.sh. Each architecture is tried at transformers' default shape and at two others; of a model with an encoder
of audio also the language model alone, and the small shape with another encoder of audio, so that no two faults of its
parts cancel. Prints a line per case.
"""
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
import torch  # noqa: E402  (after the environment)
import transformers  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.path.join(ROOT, "build", "bin", "evenkeelctl")
SOURCES = [os.path.join(ROOT, "server", "convert", "config", f"{name}architectures.cc")
           for name in ("", "recurrent_", "mixture_", "mixed_", "early_", "own_code_")]

# Without code in transformers: compared with nothing here.
WITHOUT_CODE = {"internlm2", "kimi_k2", "mimo", "exaone", "baichuan", "minicpm", "bailing_moe"}
# Built only inside a model with an encoder, which is compared.
ONLY_INSIDE = {"ernie4_5_vl_moe_text", "mllama_text_model"}
# Built only inside a model with an encoder; compared by the class of this name.
TEXT_ONLY_INSIDE = {"mistral4": "Mistral4ForCausalLM"}

# Settings that the default shape lacks.
NEEDED = {
    "lfm2_moe": {"layer_types": ["conv", "conv", "full_attention", "conv"] * 8},
    "dbrx": {"attn_config": {"kv_n_heads": 1, "rope_theta": 10000.0}},  # read there
    "glm4_moe": {"head_dim": 128},  # 96 heads do not divide the width
    "hunyuan_v1_dense": {"head_dim": 128},
    "ministral": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128, "num_experts": 16, "moe_topk": 2},
    "nemotron": {"head_dim": 128, "num_key_value_heads": 8},
    "qwen3_omni_moe_thinker": {"head_dim": 128},
    "glm4v_moe": {"head_dim": 128},
    "deepseek_v2": {"num_experts_per_tok": 6, "moe_intermediate_size": 1408, "first_k_dense_replace": 1},
    "dots1": {"num_experts_per_tok": 6, "n_routed_experts": 128, "n_shared_experts": 2, "first_k_dense_replace": 1},
}

# Whose small shapes have keys of their own, with that of the number of layers.
OF_GPT2 = {"n_layer": 7, "n_embd": 768, "n_head": 12, "n_inner": 1280, "n_positions": 300, "vocab_size": 5000}
OF_MOSAIC = {"n_layers": 7, "d_model": 768, "n_heads": 12, "vocab_size": 5000}
OWN_KEYS = {
    "mpt": ("n_layers", OF_MOSAIC),
    "dbrx": ("n_layers", dict(OF_MOSAIC, attn_config={"kv_n_heads": 4, "rope_theta": 10000.0, "clip_qkv": 8},
                              ffn_config={"ffn_hidden_size": 640, "moe_num_experts": 6, "moe_top_k": 2})),
    "gpt2": ("n_layer", OF_GPT2),
    "gpt_bigcode": ("n_layer", OF_GPT2),
    "bloom": ("n_layer", {"n_layer": 7, "hidden_size": 768, "n_head": 12, "vocab_size": 5000}),
    "opt": ("num_hidden_layers", {"num_hidden_layers": 7, "hidden_size": 768, "num_attention_heads": 12,
                                  "ffn_dim": 1280, "vocab_size": 5000, "max_position_embeddings": 300}),
    "falcon": ("num_hidden_layers", {"num_hidden_layers": 7, "hidden_size": 768, "num_attention_heads": 12,
                                     "ffn_hidden_size": 1280, "vocab_size": 5000, "new_decoder_architecture": True,
                                     "num_kv_heads": 4}),
}

# Layers of the small shapes, in place of a number of them.
BLOCKS = {"nemotron_h": ["mamba", "moe", "attention", "mlp", "mamba", "moe", "mamba"]}
OF_LFM2 = ["conv", "full_attention", "conv", "conv", "full_attention", "conv", "conv"]
# Settings of the small shapes in addition to SMALL.
ALSO = {
    "qwen3_next": {"linear_num_key_heads": 4, "linear_num_value_heads": 12, "linear_key_head_dim": 64, "num_experts": 6,
                   "num_experts_per_tok": 2},
    "qwen3_5_text": {"linear_num_key_heads": 4, "linear_num_value_heads": 12, "linear_value_head_dim": 96},
    "qwen3_5_moe_text": {"linear_num_key_heads": 4, "linear_num_value_heads": 12, "linear_conv_kernel_dim": 3,
                         "num_experts": 6, "num_experts_per_tok": 2},
    "nemotron_h": {"mamba_num_heads": 16, "mamba_head_dim": 96, "n_groups": 2, "ssm_state_size": 96, "conv_kernel": 3,
                   "n_routed_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 512,
                   "moe_shared_expert_intermediate_size": 640, "moe_latent_size": 256},
    "bamba": {"attn_layer_indices": [1, 4], "mamba_n_heads": 16, "mamba_d_head": 96, "mamba_n_groups": 2,
              "mamba_d_state": 96, "mamba_d_conv": 3},
    "granitemoehybrid": {"layer_types": ["mamba", "mamba", "attention", "mamba", "attention", "mamba", "mamba"],
                         "mamba_n_heads": 16, "mamba_d_head": 96, "mamba_n_groups": 2, "mamba_d_state": 96,
                         "shared_intermediate_size": 896},
    "deepseek_v32": {"index_n_heads": 6, "index_head_dim": 96},
    "glm_moe_dsa": {"index_n_heads": 10, "num_key_value_heads": 12},
    "gemma4_text": {"global_head_dim": 128, "head_dim": 64, "num_kv_shared_layers": 2, "use_double_wide_mlp": True,
                    "hidden_size_per_layer_input": 32, "vocab_size_per_layer_input": 3000,
                    "layer_types": ["full_attention"] + ["sliding_attention"] * 5 + ["full_attention"]},
    "mimo_v2_flash": {"head_dim": 96, "v_head_dim": 64, "num_attention_heads": 16, "n_routed_experts": 6,
                      "num_experts_per_tok": 2, "moe_intermediate_size": 256},
    "minimax_m3_vl_text": {"dense_intermediate_size": 1536, "index_n_heads": 2, "index_head_dim": 96, "head_dim": 96,
                           "layer_types": ["full_attention"] * 3 + ["minimax_m3_sparse"] * 4,
                           "mlp_layer_types": ["dense"] * 2 + ["sparse"] * 5},
    "deepseek_v4": {"num_key_value_heads": 1, "head_dim": 96, "q_lora_rank": 192, "o_groups": 3, "o_lora_rank": 80,
                    "index_n_heads": 6, "index_head_dim": 64, "hc_mult": 3, "n_routed_experts": 6,
                    "num_experts_per_tok": 2, "moe_intermediate_size": 256,
                    "layer_types": ["sliding_attention"] + ["heavily_compressed_attention"] * 3 +
                                   ["compressed_sparse_attention"] * 3},
    "falcon_h1": {"mamba_d_ssm": 1024, "mamba_n_heads": 16, "mamba_n_groups": 2, "mamba_d_state": 96,
                  "mamba_d_conv": 3},
    "kimi_linear": {"linear_head_dim": 96, "linear_num_heads": 6, "linear_conv_kernel_dim": 3, "q_lora_rank": 160,
                    "num_experts": 6, "num_experts_per_token": 2, "num_shared_experts": 2,
                    "moe_intermediate_size": 256, "num_key_value_heads": 12,
                    "layer_types": ["linear_attention", "full_attention"] * 3 + ["linear_attention"]},
    "minicpm3": {"num_key_value_heads": 12, "q_lora_rank": 160, "kv_lora_rank": 96, "qk_nope_head_dim": 48,
                 "qk_rope_head_dim": 16},
    "lfm2": {"conv_L_cache": 4, "block_multiple_of": 96, "block_ffn_dim_multiplier": 1.3, "layer_types": OF_LFM2},
    "lfm2_moe": {"conv_L_cache": 4, "num_dense_layers": 3, "num_experts": 6, "num_experts_per_tok": 2,
                 "moe_intermediate_size": 256, "layer_types": OF_LFM2},
    "exaone_moe": {"num_experts": 6, "num_experts_per_tok": 2, "num_shared_experts": 2, "moe_intermediate_size": 256},
    "flex_olmo": {"num_experts": 6, "num_experts_per_tok": 2},
    "granitemoeshared": {"shared_intermediate_size": 640},
    "mistral4": {"num_key_value_heads": 12, "n_routed_experts": 6, "num_experts_per_tok": 2,
                 "moe_intermediate_size": 256, "first_k_dense_replace": 2},
    "olmo_hybrid": {"linear_num_key_heads": 4, "linear_num_value_heads": 4,
                    "layer_types": ["linear_attention", "full_attention"] * 3 + ["linear_attention"]},
    "glm4_moe_lite": {"num_key_value_heads": 12, "n_routed_experts": 6, "num_experts_per_tok": 2,
                      "moe_intermediate_size": 256},
    "minimax": {"head_dim": 96, "layer_types": ["linear_attention"] * 3 + ["full_attention"] * 2 +
                                              ["linear_attention"] * 2},
    "gemma3n_text": {"head_dim": 64, "intermediate_size": [1280, 1280, 640, 640, 1280, 640, 1280],
                     "num_kv_shared_layers": 2, "altup_num_inputs": 3, "laurel_rank": 40,
                     "hidden_size_per_layer_input": 32, "vocab_size_per_layer_input": 3000,
                     "activation_sparsity_pattern": [0.95] * 3 + [0.0] * 4,
                     "layer_types": ["full_attention"] + ["sliding_attention"] * 5 + ["full_attention"]},
    "jamba": {"attn_layer_period": 3, "attn_layer_offset": 1, "expert_layer_period": 3, "expert_layer_offset": 2,
              "num_experts": 6, "mamba_d_state": 24, "mamba_dt_rank": 40},
}

# Further settings of the shapes with turned flags.
ALSO_FLAGGED = {
    "gemma4_text": {"num_global_key_value_heads": 2, "num_experts": 6, "top_k_experts": 2,
                    "moe_intermediate_size": 256, "hidden_size_per_layer_input": 0, "num_kv_shared_layers": 0},
    "gemma3n_text": {"num_kv_shared_layers": 0, "intermediate_size": 896, "altup_num_inputs": 5,
                     "activation_sparsity_pattern": None},
}

SMALL = {"pad_token_id": None, "bos_token_id": None, "eos_token_id": None, "num_hidden_layers": 7, "hidden_size": 768,
         "intermediate_size": 1280, "num_attention_heads": 12, "num_key_value_heads": 4, "vocab_size": 5000}
# A shape in which every flag of the config differs from its default.
FLAGS = ("attention_bias", "mlp_bias", "use_bias", "use_qkv_bias", "tie_word_embeddings", "use_qk_norm", "qk_layernorm",
         "use_parallel_residual", "attention_out_bias", "use_conv_bias", "mamba_conv_bias", "mamba_proj_bias",
         "mamba_rms_norm", "lm_head_bias", "attention_k_eq_v", "enable_moe_block", "use_double_wide_mlp",
         "multi_query", "conv_bias", "block_auto_adjust_ff_dim", "enable_bias", "bias", "parallel_attn",
         "layer_norm_elementwise_affine")
# Flags that transformers reads for other layers than the planner has, or refuses together with others.
FIXED = {"ernie4_5_moe": {"use_bias"}, "gpt_oss": {"attention_bias"}, "deepseek_v2": {"attention_bias", "mlp_bias"},
         "deepseek_v3": {"attention_bias"}, "deepseek_v32": {"attention_bias", "mlp_bias"},
         "glm_moe_dsa": {"attention_bias", "mlp_bias"}, "nemotron_h": {"mlp_bias"},
         "deepseek_v4": {"attention_bias", "mlp_bias", "tie_word_embeddings"},
         "dbrx": {"tie_word_embeddings"}, "minicpm3": {"attention_bias"},
         "falcon_h1": {"mamba_proj_bias"}, "mistral4": {"attention_bias"},
         "kimi_linear": {"attention_bias", "tie_word_embeddings"}, "glm4_moe_lite": {"attention_bias"}}

# Models with an encoder: what the small shapes have in their parts, and for the whole.
TEXT = {"num_hidden_layers": 3, "hidden_size": 512, "intermediate_size": 768, "num_attention_heads": 8,
        "num_key_value_heads": 2, "vocab_size": 5000, "pad_token_id": None}
SIGLIP = {"model_type": "siglip_vision_model", "num_hidden_layers": 3, "hidden_size": 384, "intermediate_size": 640,
          "num_attention_heads": 6, "image_size": 224, "patch_size": 14, "vision_use_head": False}
QWEN = {"depth": 5, "num_heads": 6, "hidden_size": 384, "intermediate_size": 640, "out_hidden_size": 512}
IDEFICS = {"num_hidden_layers": 3, "hidden_size": 384, "intermediate_size": 640, "num_attention_heads": 6,
           "image_size": 364, "patch_size": 14}
GLM = {"depth": 5, "num_heads": 6, "hidden_size": 384, "intermediate_size": 640, "out_hidden_size": 512,
       "image_size": 448, "patch_size": 16}
LINEAR = {"linear_num_key_heads": 4, "linear_num_value_heads": 8}
EXPERTS = {"num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 256}
WRAPPERS = {
    "qwen2_vl": ({}, {"depth": 5, "embed_dim": 384, "num_heads": 6, "hidden_size": 512}, {}),
    "qwen2_5_vl": ({}, dict(QWEN, fullatt_block_indexes=[1, 3]), {}),
    "qwen3_vl": ({}, dict(QWEN, deepstack_visual_indexes=[1, 2], num_position_embeddings=1024), {}),
    "qwen3_vl_moe": (EXPERTS, dict(QWEN, deepstack_visual_indexes=[1]), {}),
    "qwen3_5": (LINEAR, QWEN, {}),
    "qwen3_5_moe": (dict(LINEAR, **EXPERTS), QWEN, {}),
    "llava": ({"model_type": "llama"}, {"model_type": "clip_vision_model", "num_hidden_layers": 3, "hidden_size": 384,
                                        "intermediate_size": 640, "num_attention_heads": 6, "image_size": 336,
                                        "patch_size": 14}, {}),
    "llava_next": ({"model_type": "mistral"}, SIGLIP, {}),
    "llava_next_video": ({"model_type": "llama"}, SIGLIP, {}),
    "kimi_k25": ({"model_type": "deepseek_v3", "num_key_value_heads": 8, "n_routed_experts": 8, "n_group": 1,
                  "topk_group": 1, "num_experts_per_tok": 2, "moe_intermediate_size": 256},
                 {"num_hidden_layers": 3, "hidden_size": 384, "intermediate_size": 640, "num_attention_heads": 6,
                  "pos_emb_height": 16, "pos_emb_width": 24}, {"projection_hidden_size": 384}),
    "llava_onevision": ({"model_type": "qwen2"}, SIGLIP, {}),
    "idefics3": ({"model_type": "llama"}, IDEFICS, {"scale_factor": 2}),
    "smolvlm": ({"model_type": "llama"}, IDEFICS, {"scale_factor": 3}),
    "internvl": ({"model_type": "qwen3"}, dict(IDEFICS, image_size=448), {}),
    "llama4": ({"head_dim": 64, "intermediate_size_mlp": 1024, "num_local_experts": 6,
                "interleave_moe_layer_step": 2, "no_rope_layer_interval": 2},
               {"num_hidden_layers": 3, "hidden_size": 384, "intermediate_size": 1536, "num_attention_heads": 6,
                "projector_input_dim": 320, "projector_output_dim": 320, "vision_output_dim": 320}, {}),
    "mllama": ({"cross_attention_layers": [1, 2]},
               {"num_hidden_layers": 3, "num_global_layers": 2, "hidden_size": 384, "intermediate_size": 640,
                "attention_heads": 6, "image_size": 560, "intermediate_layers_indices": [0, 2], "max_num_tiles": 2,
                "vision_output_dim": 1152, "supported_aspect_ratios": [[1, 1], [1, 2], [2, 1]]}, {}),
    "lfm2_vl": ({"model_type": "lfm2", "layer_types": ["conv", "full_attention", "conv"]},
                {"model_type": "siglip2_vision_model", "num_hidden_layers": 3, "hidden_size": 384,
                 "intermediate_size": 640, "num_attention_heads": 6, "num_patches": 100, "vision_use_head": False},
                {"projector_hidden_size": 704, "projector_use_layernorm": False, "projector_bias": False}),
    "ovis2": ({"model_type": "qwen2"},
              {"num_hidden_layers": 3, "hidden_size": 384, "intermediate_size": 640, "num_attention_heads": 6,
               "image_size": 224, "hidden_stride": 2, "vocab_size": 1000}, {"hidden_size": 512, "vocab_size": 5000}),
    "aya_vision": ({"model_type": "cohere2", "head_dim": 64}, SIGLIP, {"alignment_intermediate_size": 704}),
    "cohere2_vision": ({"model_type": "cohere2", "head_dim": 64}, SIGLIP, {"alignment_intermediate_size": 704}),
    "paligemma": ({"model_type": "gemma2"}, dict(SIGLIP, projection_dim=512), {"projection_dim": 512}),
    "gemma3": ({}, SIGLIP, {"mm_tokens_per_image": 64}),
    "gemma4": ({"head_dim": 64, "global_head_dim": 128, "hidden_size_per_layer_input": 32, "layer_types":
                ["sliding_attention", "sliding_attention", "full_attention"]},
               {"num_hidden_layers": 3, "hidden_size": 384, "intermediate_size": 640, "num_attention_heads": 6,
                "num_key_value_heads": 6, "head_dim": 96, "position_embedding_size": 500}, {}),
    "ernie4_5_vl_moe": ({"head_dim": 128, "moe_num_experts": 6, "moe_k": 2, "moe_num_shared_experts": 1,
                         "moe_intermediate_size": [256, 128]},
                        {"depth": 3, "num_heads": 6, "hidden_size": 384, "intermediate_size": 640}, {}),
    "idefics2": ({"model_type": "mistral"}, dict(IDEFICS, image_size=280),
                 {"perceiver_config": {"hidden_size": 512, "resampler_depth": 2, "resampler_n_latents": 24,
                                       "resampler_n_heads": 6, "resampler_head_dim": 48, "num_key_value_heads": 2}}),
    "glm4v": ({}, GLM, {}),
    "glm46v": ({}, dict(GLM, attention_bias=True), {}),
    "glm4v_moe": ({"head_dim": 64, "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 256}, GLM,
                  {}),
    "minimax_m3_vl": ({"head_dim": 96, "num_local_experts": 6, "num_experts_per_tok": 2, "index_head_dim": 96,
                       "dense_intermediate_size": 1536},
                      {"num_hidden_layers": 3, "hidden_size": 384, "intermediate_size": 640, "num_attention_heads": 6,
                       "patch_size": 16}, {"projector_hidden_size": 896}),
    "mistral3": ({"model_type": "mistral"}, {"num_hidden_layers": 3, "hidden_size": 384, "intermediate_size": 640,
                                             "num_attention_heads": 6, "model_type": "pixtral"}, {}),
}


# Models whose config has the keys of the language model next to those of two encoders: those of the small shapes.
FLAT = {
    "phi4_multimodal": (dict(TEXT, bos_token_id=None, eos_token_id=None),
                        {"num_hidden_layers": 3, "hidden_size": 384, "intermediate_size": 640, "num_attention_heads": 6,
                         "image_size": 210, "crop_size": 210},
                        {"num_blocks": 3, "hidden_size": 384, "ext_pw_out_channel": 384, "num_attention_heads": 6,
                         "depthwise_separable_out_channel": 384, "intermediate_size": 640, "nemo_conv_channels": 96,
                         "kernel_size": 5, "bias_max_distance": 300}),
}
# Models with a decoder that attends to an encoder's tokens.
SPEECH = {
    "whisper": ({"encoder_layers": 3, "decoder_layers": 5, "d_model": 384, "encoder_attention_heads": 4,
                 "decoder_attention_heads": 6, "encoder_ffn_dim": 640, "decoder_ffn_dim": 896, "vocab_size": 3000,
                 "max_source_positions": 300, "max_target_positions": 120, "pad_token_id": 0, "bos_token_id": 1,
                 "eos_token_id": 2},
                {"num_mel_bins": 128, "encoder_layers": 4, "decoder_layers": 2, "tie_word_embeddings": False}),
}

# Models with an encoder of audio: the same, for the parts text, vision (None: it has none) and audio.
WHISPER = {"encoder_layers": 3, "d_model": 384, "encoder_ffn_dim": 640, "encoder_attention_heads": 6}
VOXTRAL = {"num_hidden_layers": 3, "hidden_size": 384, "intermediate_size": 1536, "num_attention_heads": 6,
           "max_source_positions": 300}
AUDIO = {
    "qwen2_5_omni_thinker": ({}, dict(QWEN, fullatt_block_indexes=[1, 3]), dict(WHISPER, output_dim=512)),
    "qwen3_omni_moe_thinker": (dict(EXPERTS, head_dim=128), dict(QWEN, deepstack_visual_indexes=[1, 2]),
                               dict(WHISPER, output_dim=512)),
    "voxtral": ({"model_type": "llama", "head_dim": 64}, None, VOXTRAL),
    "qwen2_audio": ({"model_type": "qwen2"}, None, dict(WHISPER, max_source_positions=300)),
}
# Models among WRAPPERS that may have an encoder of audio too.
HEARING = {"gemma4": {"num_hidden_layers": 3, "hidden_size": 384, "num_attention_heads": 6, "output_proj_dims": 320,
                      "subsampling_conv_channels": [64, 48], "conv_kernel_size": 7}}
OTHER_AUDIO = {"num_mel_bins": 80}
OTHER = {"qwen3_omni_moe_thinker": {"downsample_hidden_size": 96}}
NEVER_TIED = {"voxtral", "qwen2_audio"}  # whatever the config says
# Models whose thinker is trained by itself.
WHOLES = {"qwen2_5_omni": "qwen2_5_omni_thinker", "qwen3_omni_moe": "qwen3_omni_moe_thinker"}


# Whose default encoder has a pooling head.
WITH_POOLING_HEAD = ("llava_next", "llava_next_video", "paligemma", "llava_onevision", "gemma3", "aya_vision",
                     "cohere2_vision", "lfm2_vl", "ovis2")


def audio_shapes(model_type):
    config_class = transformers.CONFIG_MAPPING[model_type]
    text, vision, audio = AUDIO[model_type]
    default = config_class()
    width = default.text_config.hidden_size
    parts = {}
    if vision is not None:  # their defaults may have other widths than the language model's
        parts = {"vision_config": dict(default.vision_config.to_dict(), out_hidden_size=width),
                 "audio_config": dict(default.audio_config.to_dict(), output_dim=width)}
    if model_type in NEEDED:
        parts["text_config"] = dict(default.text_config.to_dict(), **NEEDED[model_type])
    yield "default", config_class(**parts)
    vision = {} if vision is None else {"vision_config": vision}
    others = dict(audio, **OTHER_AUDIO, **OTHER.get(model_type, {}))
    for name, listen, tied in (("small", audio, False), ("tied", audio, True), ("audio", others, False)):
        yield name, config_class(text_config=dict(TEXT, **text), audio_config=listen, tie_word_embeddings=tied,
                                 **vision)


def whole_shapes(model_type):
    for name, thinker in audio_shapes(WHOLES[model_type]):
        config_class = transformers.CONFIG_MAPPING[model_type]
        yield name, config_class(thinker_config=thinker.to_dict(), enable_audio_output=False)


def wrapped_shapes(model_type):
    config_class = transformers.CONFIG_MAPPING[model_type]
    text, vision, whole = WRAPPERS[model_type]
    if model_type.startswith("qwen"):  # whose default projects into another width than the language model's
        default = config_class()
        vision_default = default.vision_config.to_dict()
        output = "hidden_size" if model_type == "qwen2_vl" else "out_hidden_size"
        vision_default[output] = default.text_config.hidden_size
        yield "default", config_class(vision_config=vision_default)
    elif model_type == "llama4":  # whose default transformers builds, but cannot run
        yield "default", config_class(vision_config={"hidden_size": 1408, "vision_output_dim": 4096})
    elif model_type not in WITH_POOLING_HEAD:
        yield "default", config_class(**({"text_config": NEEDED[model_type]} if model_type in NEEDED else {}))
    for name, tied in (("small", False), ("tied", True)):
        yield name, config_class(text_config=dict(TEXT, **text), vision_config=vision, tie_word_embeddings=tied,
                                 **whole)
    if model_type in HEARING:
        for name, audio in (("audio", HEARING[model_type]), ("audio, default", {})):
            yield name, config_class(text_config=dict(TEXT, **text), vision_config=vision, audio_config=audio, **whole)


def speech_shapes(model_type):
    config_class = transformers.CONFIG_MAPPING[model_type]
    small, other = SPEECH[model_type]
    yield "default", config_class()
    yield "small", config_class(**small)
    yield "other", config_class(**dict(small, **other))


def flat_shapes(model_type):
    config_class = transformers.CONFIG_MAPPING[model_type]
    text, vision, audio = FLAT[model_type]
    yield "default", config_class()
    for name, tied, other in (("small", False, {}), ("tied", True, {}),
                              ("other", False, {"bias_symmetric": True, "input_size": 128})):
        yield name, config_class(**dict(text, tie_word_embeddings=tied), vision_config=vision,
                                 audio_config=dict(audio, **other))


def model_types():
    types = []
    for source in SOURCES:
        with open(source, encoding="utf-8") as file:
            types += re.findall(r'\.model_type = "([a-z0-9_]+)"', file.read())
    types = [model_type for model_type in types if model_type not in ONLY_INSIDE]
    return types + list(FLAT) + list(WRAPPERS) + list(AUDIO) + list(WHOLES)  # a decoder of SPEECH is an architecture


def shapes(model_type):
    for models, shapes_of in ((WRAPPERS, wrapped_shapes), (AUDIO, audio_shapes), (WHOLES, whole_shapes),
                              (SPEECH, speech_shapes), (FLAT, flat_shapes)):
        if model_type in models:
            yield from shapes_of(model_type)
            return
    config_class = transformers.CONFIG_MAPPING[model_type]
    needed = NEEDED.get(model_type, {})
    yield "default", config_class(**needed)
    if model_type in OWN_KEYS:
        layers, small = OWN_KEYS[model_type]
        yield "small", config_class(**small)
        default = config_class().to_dict()
        turned = {key: not default[key] for key in FLAGS
                  if isinstance(default.get(key), bool) and key not in FIXED.get(model_type, ())}
        yield "flags", config_class(**dict(small, **{layers: 5}, **turned))
        return
    small = dict(SMALL, **needed)
    small["num_key_value_heads"] = SMALL["num_key_value_heads"]
    if "num_local_experts" in config_class().to_dict():
        small.update(num_local_experts=6, num_experts_per_tok=2)
    if "num_key_value_heads" not in config_class(**needed).to_dict():
        del small["num_key_value_heads"]
    if model_type.startswith("deepseek"):
        small["num_key_value_heads"] = SMALL["num_attention_heads"]
    small.update(ALSO.get(model_type, {}))
    if model_type in BLOCKS:
        del small["num_hidden_layers"]
        small["layers_block_type"] = BLOCKS[model_type]
    yield "small", config_class(**small)
    default = config_class(**needed).to_dict()
    turned = {key: not default[key] for key in FLAGS
              if isinstance(default.get(key), bool) and key not in FIXED.get(model_type, ())}
    for key in ("layer_types", "mlp_layer_types"):
        if key in small:
            small[key] = small[key][-5:]
    small.update(ALSO_FLAGGED.get(model_type, {}))
    layers = {} if model_type in BLOCKS else {"num_hidden_layers": 5}
    yield "flags", config_class(**dict(small, **layers, **turned))


def inside_class(model_type):
    module = importlib.import_module(f"transformers.models.{model_type}.modeling_{model_type}")
    return getattr(module, TEXT_ONLY_INSIDE[model_type])


def counted_by_transformers(config):
    with torch.device("meta"):
        auto = transformers.AutoModelForCausalLM
        if config.model_type in WRAPPERS:
            auto = transformers.AutoModelForImageTextToText
        elif config.model_type in AUDIO or config.model_type in WHOLES:
            auto = transformers.AutoModelForMultimodalLM
        elif config.model_type in SPEECH:
            auto = transformers.AutoModelForSpeechSeq2Seq
        if config.model_type in TEXT_ONLY_INSIDE:
            model = inside_class(config.model_type)(config)
        else:
            model = auto.from_config(config)
    if config.model_type in WHOLES:
        model = model.thinker
    counts = {"all": 0, "text": 0}
    for name, parameter in model.named_parameters():
        counts["all"] += parameter.numel()
        if not re.search(r"visual|audio_tower|multi_modal_projector", name):
            counts["text"] += parameter.numel()
    return counts


# Samples with units of two encoders, which must be given.
TWO_COLUMNS = {"encoder_count": 2, "units": [1, 100, 0, 0], "llm_tokens": [512, 512], "sample_count": [1000, 1000]}


# Models whose layers for multi-token prediction transformers builds, only for generation.
PREDICTING = ("deepseek_v3", "glm4_moe")


def with_predicted_layers(config):
    from transformers.modeling_layers import MtpModel
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
        layers = MtpModel(model, config.num_mtp_layers).layers
    return sum(p.numel() for part in (model, layers) for p in part.parameters())


def predicting_cases(model_type):
    for layers in (1, 2):
        for name, config in shapes(model_type):
            config.num_mtp_layers = layers
            yield f"{name}, {layers} predicted", with_predicted_layers(config), counted_by_planner(
                config.to_dict(), flags=["--predicted-tokens", str(layers)])


def counted_by_planner(config, columns=False, flags=()):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file, tempfile.NamedTemporaryFile(
            "w", suffix=".json") as data:
        file.write(json.dumps(config, default=str))
        file.flush()
        data.write(json.dumps({"job": {"dataset": {"histogram": TWO_COLUMNS}}}))
        data.flush()
        answer = subprocess.run(
            [TOOL, "plan", "--local", "--model", file.name, "--gpu", "h200-sxm-141gb", "--gpus", "64", "--output",
             "json", *flags] + (["--job", data.name] if columns else []),
            capture_output=True, text=True, check=False)
    if not answer.stdout:
        return answer.stderr.strip().replace("\n", " ")[:300]
    plan = json.loads(answer.stdout)
    return int(plan.get("plan", plan)["subject"]["parameter_count"])


def text_of(config):
    """Returns the language model's own config, with the keys of the whole that belong to it."""
    thinker = getattr(config, "thinker_config", config)
    tied = thinker.model_type not in NEVER_TIED and bool(thinker.tie_word_embeddings)
    return dict(thinker.text_config.to_dict(), tie_word_embeddings=tied)


def cases(model_type):
    """Yields name, expected count and counted one; the expected one is a text where transformers refuses the shape."""
    for name, config in shapes(model_type):
        try:
            expected = counted_by_transformers(config)
        except Exception as error:
            yield name, f"transformers: {str(error)[:120]}", None
            continue
        audio = model_type in AUDIO or model_type in WHOLES
        columns = model_type in WHOLES or model_type in FLAT or (
            model_type in AUDIO and AUDIO[model_type][1] is not None) or (
                model_type in HEARING and config.audio_config is not None)
        yield name, expected["all"], counted_by_planner(config.to_dict(), columns)
        if audio:
            yield f"{name} (text)", expected["text"], counted_by_planner(text_of(config))
    if model_type in PREDICTING:
        yield from predicting_cases(model_type)


def main():
    passed = failed = 0
    for model_type in sys.argv[1:] or model_types():
        if model_type in WITHOUT_CODE:
            print(f"skipped {model_type}: transformers has no code for it")
            continue
        for name, expected, counted in cases(model_type):
            if counted is None:
                print(f"skipped {model_type} {name}: {expected}")
                continue
            good = counted == expected
            passed, failed = passed + good, failed + (not good)
            print(f"{'ok     ' if good else 'FAILED '}{model_type} {name}: {expected:,}"
                  + ("" if good else f", counted {counted}"), flush=True)
    print(f"{passed} passed, {failed} failed")
    return 0 if passed > 0 and failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
