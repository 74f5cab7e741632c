"""Prints the predicted peak memory of models of h200.jsonl whose layers are of several kinds.

    python3 tests/measure/predict.py build/bin/evenkeelctl

Each step is one micro-batch of one size on one H200, with all in 16 bits, as models.py ran it.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

QWEN35 = dict(
    model_type="qwen3_5_text",
    hidden_size=2560,
    intermediate_size=9216,
    num_hidden_layers=16,
    num_attention_heads=16,
    num_key_value_heads=4,
    head_dim=256,
    linear_num_key_heads=16,
    linear_num_value_heads=32,
    linear_key_head_dim=128,
    linear_value_head_dim=128,
    vocab_size=248320,
    tie_word_embeddings=True,
    max_position_embeddings=32768,
)
LLAVA = dict(
    model_type="llava",
    image_token_index=32000,
    text_config=dict(
        model_type="llama",
        hidden_size=4096,
        intermediate_size=11008,
        num_hidden_layers=8,
        num_attention_heads=32,
        num_key_value_heads=32,
        vocab_size=32064,
        max_position_embeddings=4096,
    ),
    vision_config=dict(
        model_type="clip_vision_model",
        hidden_size=1024,
        intermediate_size=4096,
        num_hidden_layers=24,
        num_attention_heads=16,
        image_size=336,
        patch_size=14,
        projection_dim=768,
    ),
    tie_word_embeddings=False,
)
QWEN_VL = dict(
    model_type="qwen2_5_vl",
    hidden_size=2048,
    intermediate_size=11008,
    num_hidden_layers=36,
    num_attention_heads=16,
    num_key_value_heads=2,
    vocab_size=151936,
    tie_word_embeddings=True,
    max_position_embeddings=32768,
    rope_theta=1e6,
    rope_scaling={"type": "mrope", "mrope_section": [16, 24, 24]},
    vision_config=dict(
        depth=32,
        hidden_size=1280,
        num_heads=16,
        intermediate_size=3420,
        out_hidden_size=2048,
        fullatt_block_indexes=[7, 15, 23, 31],
    ),
)
FROZEN = ["--freeze", "encoder"]
PICTURES = {"units": 4 * 576, "llm_tokens": 512 + 4 * 578}
# Name in h200.jsonl: model, flags, samples of the micro-batch, and one of them.
MODELS = {
    "gemma-3-1b": ("gemma-3-1b", [], 1, {"llm_tokens": 8192}),
    "16 layers of qwen3.5-4b": (QWEN35, [], 1, {"llm_tokens": 4096}),
    "qwen2.5-vl-3b": (QWEN_VL, [], 1, PICTURES),
    "qwen2.5-vl-3b, tower frozen": (QWEN_VL, FROZEN, 1, PICTURES),
    "8 layers of llava-1.5-7b": (LLAVA, [], 8, {"units": 1, "llm_tokens": 1024}),
    "8 layers of llava-1.5-7b, tower frozen": (LLAVA, FROZEN, 8, {"units": 1, "llm_tokens": 1024}),
}
COMMON = "--gpu h200 --gpus 1 --trainer huggingface-trainer --optimizer adam-16bit --recompute none".split()


def predicted(evenkeelctl, folder, model, flags, samples, sample):
    if isinstance(model, dict):
        config = folder / "config.json"
        config.write_text(json.dumps(model))
        model = str(config)
    data = folder / "data.jsonl"
    data.write_text((json.dumps(sample) + "\n") * 64)
    command = [evenkeelctl, "plan", "--local", "--output", "json", "--model", model, "--dataset", str(data), *COMMON]
    command += ["--global-batch", str(samples), "--micro-batch-samples", str(samples), *flags]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return int(answer["plan"]["stages"][0]["memory"]["allocated_bytes"])


def main():
    rows = [json.loads(line) for line in (HERE / "h200.jsonl").open()]
    measured = {row["what"]: row["peak_bytes"] for row in rows if row["section"] == "models" and not row["recompute"]}
    with tempfile.TemporaryDirectory() as folder:
        for name, model in MODELS.items():
            bytes_ = predicted(sys.argv[1], pathlib.Path(folder), *model)
            error = bytes_ / measured[name] - 1
            print(f"{name:40} measured {measured[name] / 1e9:6.2f} GB, predicted {bytes_ / 1e9:6.2f}, {error:+.1%}")


if __name__ == "__main__":
    main()
