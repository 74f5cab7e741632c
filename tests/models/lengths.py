"""Compares the lengths that `evenkeelctl stats --processor` counts for images with transformers' own processors.

Run by run.sh (`lengths`). Each processor gets 1,000 sizes: half log-uniform in both sides (4 to 8,192 pixels:
transformers takes 3 rows for channels), a quarter of log-uniform area with an aspect ratio of 10 to 190, a quarter
within 2 pixels of a multiple of its step. Prints a line per processor.
"""
import collections
import json
import math
import os
import random
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
import transformers  # noqa: E402  (after the environment)

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "bin", "evenkeelctl")
COUNT = 1000
TEXT_TOKENS = 7

# Class of the image processor and its settings, class of the processor and its settings.
CASES = [
    ("Qwen2VLImageProcessor", {}, "Qwen2VLProcessor", {}),
    ("Qwen2VLImageProcessor", {"min_pixels": 200704, "max_pixels": 1003520}, "Qwen2VLProcessor", {}),
    ("Qwen2VLImageProcessor", {"patch_size": 16, "size": {"shortest_edge": 65536, "longest_edge": 16777216}},
     "Qwen3VLProcessor", {}),
    ("PixtralImageProcessor", {"size": {"longest_edge": 1024}}, "PixtralProcessor",
     {"patch_size": 16, "spatial_merge_size": 1}),
    ("PixtralImageProcessor", {"size": {"longest_edge": 1540}, "patch_size": {"height": 14, "width": 14}},
     "PixtralProcessor", {"patch_size": 14, "spatial_merge_size": 2}),
    ("GotOcr2ImageProcessor", {"size": {"height": 448, "width": 448}, "crop_to_patches": True, "max_patches": 12},
     "InternVLProcessor", {"image_seq_length": 256}),
    ("GotOcr2ImageProcessor", {"size": {"height": 448, "width": 448}, "crop_to_patches": True, "min_patches": 2,
                               "max_patches": 6}, "InternVLProcessor", {"image_seq_length": 64}),
    ("GotOcr2ImageProcessor", {"size": {"height": 448, "width": 448}, "crop_to_patches": False}, "InternVLProcessor",
     {"image_seq_length": 256}),
    ("Idefics3ImageProcessor", {}, "Idefics3Processor", {"image_seq_len": 169}),
    ("SmolVLMImageProcessor", {"size": {"longest_edge": 2048}, "max_image_size": {"longest_edge": 512}},
     "Idefics3Processor", {"image_seq_len": 64}),
    ("Idefics3ImageProcessor", {"size": {"longest_edge": 2048}, "max_image_size": {"longest_edge": 512}},
     "Idefics3Processor", {"image_seq_len": 64}),
]


def sizes(seed, step):
    draw = random.Random(seed)

    def side(low, high):
        return round(math.exp(draw.uniform(math.log(low), math.log(high))))
    found = []
    while len(found) < COUNT:
        if len(found) % 4 < 2:
            width, height = side(4, 8192), side(4, 8192)
        elif len(found) % 4 == 2:
            area, aspect = side(1000, 10**7), side(10, 190)
            width, height = math.ceil(math.sqrt(area * aspect)), math.ceil(math.sqrt(area / aspect))
            if draw.random() < 0.5:
                width, height = height, width
        else:
            width, height = (max(1, step * draw.randint(1, 60) + draw.randint(-2, 2)) for _ in range(2))
        if min(width, height) >= 4 and max(width, height) <= 190 * min(width, height):
            found.append((width, height))
    return found


def expected(case, images):
    image_class, image_settings, class_name, settings = case
    cls = getattr(transformers, class_name)
    processor = cls.__new__(cls)  # its tokenizer is not needed
    processor.image_processor = getattr(transformers, image_class)(**image_settings)
    for name, value in settings.items():
        setattr(processor, name, value)
    processor.tokenizer = lambda text, **_: {"input_ids": [0]}
    told = processor._get_num_multimodal_tokens(image_sizes=[(height, width) for width, height in images])
    tokens = told["num_image_tokens"]
    if "Qwen" in class_name:
        return list(zip(tokens, tokens))
    if class_name == "PixtralProcessor":
        # (columns + 1) x rows tokens: the rows are found from the processor's resize.
        from transformers.models.pixtral import processing_pixtral
        import numpy
        side = settings["patch_size"] * settings["spatial_merge_size"]
        edge = image_settings["size"]["longest_edge"]
        units = []
        for width, height in images:
            resized = processing_pixtral.get_resize_output_image_size(
                numpy.zeros((height, width, 3), dtype=numpy.uint8), size=(edge, edge), patch_size=(side, side))
            units.append((resized[0] // side) * (resized[1] // side))
        return list(zip(units, tokens))
    return [(max(1, units), count) for units, count in zip(told["num_image_patches"], tokens)]


def counted(case, images):
    image_class, image_settings, _, settings = case
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "preprocessor_config.json"), "w", encoding="utf-8") as file:
            json.dump({"image_processor_type": image_class + "Fast", "processor_class": case[2], **image_settings},
                      file)
        with open(os.path.join(folder, "processor_config.json"), "w", encoding="utf-8") as file:
            json.dump(settings, file)
        lengths = os.path.join(folder, "lengths.jsonl")
        with open(lengths, "w", encoding="utf-8") as file:
            for width, height in images:
                file.write(json.dumps({"text_tokens": TEXT_TOKENS, "images": [[width, height]]}) + "\n")
        answer = subprocess.run([TOOL, "--output", "json", "stats", "--processor", folder, lengths],
                                capture_output=True, text=True, check=True)
    told = json.loads(answer.stdout)
    bins = zip(told["units"], told["llm_tokens"], told["sample_count"])
    return collections.Counter({(int(u), int(t) - TEXT_TOKENS): int(n) for u, t, n in bins})


def main():
    failed = 0
    transformers.logging.set_verbosity_error()
    for number, case in enumerate(CASES):
        step = 32 if "Qwen" in case[0] else 28
        images = sizes(number, step)
        theirs = collections.Counter(expected(case, images))
        ours = counted(case, images)
        same = theirs == ours
        failed += not same
        print(f"{'ok    ' if same else 'FAILED'} {case[0]}, {case[2]} {json.dumps(case[1])}: {len(images)} sizes, "
              f"{sum((theirs & ours).values())} equal")
        if not same:
            print("       theirs only", list((theirs - ours).items())[:5])
            print("       ours only", list((ours - theirs).items())[:5])
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
