"""The lengths that transformers' own processors give images, videos and recordings, for lengths.py.

A case is a checkpoint's files and a function of a list of records that gives (vision units, audio units, tokens) of
each. Processors are made without tokenizers: only their arithmetic and the strings that they write are used.
"""
import copy
import math
import re
import unittest.mock

import numpy
import torch
import transformers
import transformers.image_utils
from transformers.image_processing_utils import select_best_resolution
from transformers.models.kimi_k25 import video_processing_kimi_k25
from transformers.models.llama4 import image_processing_llama4
from transformers.models.pixtral import processing_pixtral
from transformers.video_utils import VideoMetadata


class Tokenizer:
    """Has a name for each special token, and no vocabulary."""
    init_kwargs = {}
    model_input_names = []

    def __getattr__(self, name):
        if name.endswith("_id"):
            return 1
        if name.endswith("_token"):
            return f"<|{name}|>"
        raise AttributeError(name)

    def __call__(self, text, **_):
        return {"input_ids": [0]}

    def convert_tokens_to_ids(self, token):
        return 1


def bare(class_name, **attributes):
    """A processor without its tokenizer."""
    cls = getattr(transformers, class_name)
    processor = cls.__new__(cls)
    for name, value in attributes.items():
        setattr(processor, name, value)
    processor.tokenizer = Tokenizer()
    return processor


def image_processor(case):
    settings = {k: v for k, v in case["preprocessor"].items() if k not in ("image_processor_type", "processor_class")}
    return getattr(transformers, case["preprocessor"]["image_processor_type"].removesuffix("Fast"))(**settings)


def video_processor(case):
    settings = {k: v for k, v in case["video"].items() if k != "video_processor_type"}
    return getattr(transformers, case["video"]["video_processor_type"])(**settings)


def image_sizes(records):
    return [(record["images"][0][1], record["images"][0][0]) for record in records]


def told_images(case, records):
    """Tokens and patches by the processor's own count."""
    processor = bare(case["owner"], image_processor=image_processor(case), **case["processor"])
    return processor._get_num_multimodal_tokens(image_sizes=image_sizes(records))


def native_images(case, records):
    return [(tokens, 0, tokens) for tokens in told_images(case, records)["num_image_tokens"]]


def tiled_images(case, records):
    told = told_images(case, records)
    return [(max(1, units), 0, tokens) for units, tokens in zip(told["num_image_patches"], told["num_image_tokens"])]


def pixtral_images(case, records):
    """(columns + 1) x rows tokens: the rows are found from the processor's resize."""
    side = case["processor"]["patch_size"] * case["processor"]["spatial_merge_size"]
    edge = case["preprocessor"]["size"]["longest_edge"]
    lengths = []
    for (height, width), tokens in zip(image_sizes(records), told_images(case, records)["num_image_tokens"]):
        resized = processing_pixtral.get_resize_output_image_size(
            numpy.zeros((height, width, 3), dtype=numpy.uint8), size=(edge, edge), patch_size=(side, side))
        lengths.append(((resized[0] // side) * (resized[1] // side), 0, tokens))
    return lengths


def any_resolution_images(case, records):
    images = image_processor(case)
    size = images.size
    side = size["shortest_edge"] if size.shortest_edge is not None else min(size["height"], size["width"])
    processor = bare(case["owner"], image_processor=images, **case["processor"])
    lengths = []
    for height, width in image_sizes(records):
        tokens = processor._get_number_of_features(height, width, side, side)
        tokens -= processor.vision_feature_select_strategy == "default"
        best = select_best_resolution((height, width), images.image_grid_pinpoints)
        lengths.append((1 + (best[0] // side) * (best[1] // side), 0, tokens))
    return lengths


def llama4_images(case, records):
    images = image_processor(case)
    processor = bare("Llama4Processor")
    image_processing_llama4.find_supported_resolutions.cache_clear()
    possible = torch.tensor(image_processing_llama4.find_supported_resolutions(images.max_patches, images.size))
    lengths = []
    for size in image_sizes(records):
        best = image_processing_llama4.get_best_fit(size, possible, images.resize_to_max_canvas)
        grid = (int(best[0]) // images.size.height, int(best[1]) // images.size.width)
        text = processor._prompt_split_image(grid, (images.size.height // 14) ** 2 // 4)
        tiles = grid[0] * grid[1]
        lengths.append((tiles + (tiles > 1), 0, len(re.findall(r"<\|\w+\|>", text))))
    return lengths


def gemma_images(case, records):
    processor = transformers.Gemma3Processor.__new__(transformers.Gemma3Processor)
    with unittest.mock.patch.object(transformers.ProcessorMixin, "__init__", lambda *_, **__: None):
        processor.__init__(image_processor(case), Tokenizer(), **case["processor"])
    pieces = re.findall(r"<\|\w+\|>|\n\n", processor.full_image_sequence)
    return [(1, 0, len(pieces))] * len(records)


def one_unit_images(case, records):
    tokens = case["tokens"]
    return [(1, 0, tokens)] * len(records)


def metadata_of(video):
    seconds = video.get("seconds", video["frames"] / video["fps"])
    return VideoMetadata(total_num_frames=video["frames"], fps=video["fps"], duration=seconds,
                         width=video["width"], height=video["height"])


def sampled(videos, video):
    """Number of frames, and metadata with their indices, as BaseVideoProcessor.preprocess samples them."""
    metadata = metadata_of(video)
    metadata.frames_indices = list(range(video["frames"]))
    if not videos.do_sample_frames:
        return video["frames"], metadata
    kwargs = {name: getattr(videos, name, None) for name in videos.valid_kwargs.__annotations__}
    metadata.frames_indices = numpy.asarray(videos.sample_frames(metadata=copy.copy(metadata), **kwargs))
    return len(metadata.frames_indices), metadata


def resized(videos, frames, video, owner):
    """Height and width that the processor's resize() asks for, of frames without pixels."""
    base = next(cls for cls in type(videos).__mro__[1:] if "resize" in vars(cls))
    size = getattr(getattr(transformers, owner), "videos_kwargs", {}).get("size")  # goes before the files
    with unittest.mock.patch.object(base, "resize", lambda _, image, size, **__: size):
        size = videos.resize(torch.empty(1, frames, 3, video["height"], video["width"], device="meta"),
                             size=transformers.image_utils.SizeDict(**size) if size else videos.size, resample=None,
                             factor=videos.patch_size * videos.merge_size,
                             temporal_factor=videos.temporal_patch_size,
                             cap_pixels_per_frame=getattr(videos, "cap_pixels_per_frame", None))
    return size.height, size.width


def pieces_of_text(text):
    """Tokens of the text that a processor writes around frames, by Qwen's splitting of text, each piece one token."""
    placeholder = re.search(r"<\|(video|image|context)\|>", text).group()
    rest = text.replace(placeholder, "")
    return text.count(placeholder) + len(re.findall(r"<\|\w+\|>|[ ]?[^\W\d]+|\d|[^\s\w]|\n|[ ]", rest))


def native_videos(case, records):
    """Frames and sizes by the processor's own sample_frames() and resize(); marks and times from its text."""
    videos = video_processor(case)
    processor = bare(case["owner"], video_processor=videos, image_token="<|image|>", video_token="<|video|>",
                     vision_start_token="<|start|>", vision_end_token="<|end|>")
    lengths = []
    for record in records:
        video = record["videos"][0]
        frames, metadata = sampled(videos, video)
        pairs = math.ceil(frames / videos.temporal_patch_size)
        height, width = resized(videos, frames, video, case["owner"])
        patches = pairs * (height // videos.patch_size) * (width // videos.patch_size)
        units = patches // videos.merge_size ** 2
        inputs = {"video_grid_thw": torch.tensor([[pairs, patches // pairs, 1]]), "video_metadata": [metadata]}
        text = processor.replace_video_token(inputs, 0, load_audio_from_video=False)
        if case["owner"].startswith("Glm"):
            text = re.sub(r"\d{1,3}", "0", text)
        lengths.append((units, 0, pieces_of_text(text)))
    return lengths


def kimi_videos(case, records):
    """Chunks by the processor's own text; sizes by its resizing. Each frame of a chunk goes through the encoder."""
    videos = video_processor(case)
    processor = bare("Kimi_K25Processor", video_processor=videos, video_token="<|video|>")
    lengths = []
    for record in records:
        video = record["videos"][0]
        frames, metadata = sampled(videos, video)
        _, (height, width) = video_processing_kimi_k25.navit_resize(
            video["height"], video["width"], patch_size=videos.patch_size, merge_kernel_size=videos.merge_size,
            max_patches=videos.max_patches, max_size_per_side=videos.size["max_height"])
        rows, columns = height // videos.patch_size, width // videos.patch_size
        chunks = math.ceil(frames / videos.temporal_patch_size)
        inputs = {"num_chunks_per_video": [chunks], "video_metadata": [metadata],
                  "video_grid_thw": numpy.array([[1, rows, columns]] * chunks)}
        text = re.sub(r"\d{1,3}", "0", processor.replace_video_token(inputs, 0))
        lengths.append((frames * rows * columns // videos.merge_size ** 2, 0, pieces_of_text(text)))
    return lengths


def smol_videos(case, records):
    videos = video_processor(case)
    processor = bare("SmolVLMProcessor", image_token="<|image|>", fake_image_token="<|fake|>",
                     global_image_token="<|global|>", image_seq_len=case["processor"].get("image_seq_len", 169))
    lengths = []
    for record in records:
        frames, metadata = sampled(videos, record["videos"][0])
        inputs = {"pixel_values": torch.empty(1, frames, 0), "video_metadata": [metadata]}
        text = processor.replace_video_token(inputs, 0)
        lengths.append((frames, 0, pieces_of_text(text)))
    return lengths


def intern_videos(case, records):
    videos = video_processor(case)
    processor = bare("InternVLProcessor", start_image_token="<|img|>", end_image_token="<|end|>",
                     image_token="<|context|>", image_seq_length=case["processor"].get("image_seq_length", 256))
    lengths = []
    for record in records:
        frames, _ = sampled(videos, record["videos"][0])
        text = processor.replace_video_token({"pixel_values_videos": [torch.empty(frames, 0)]}, 0)
        lengths.append((frames, 0, pieces_of_text(text)))
    return lengths


def one_vision_videos(case, records):
    videos = video_processor(case)
    processor = bare("LlavaOnevisionProcessor", **case["processor"])
    counts = [sampled(videos, record["videos"][0])[0] for record in records]
    told = processor._get_num_multimodal_tokens(video_sizes=[(count, 0, 0) for count in counts])
    return [(count, 0, tokens) for count, tokens in zip(counts, told["num_video_tokens"])]


def extractor(case):
    settings = {k: v for k, v in case["preprocessor"].items()
                if k not in ("image_processor_type", "feature_extractor_type", "processor_class")}
    return transformers.WhisperFeatureExtractor(**settings)


def omni_audio(case, records):
    processor = bare(case["owner"], feature_extractor=extractor(case))
    counts = [processor._get_num_audio_tokens(record["audios"][0]["samples"]) for record in records]
    return [(0, count, count) for count in counts]


def qwen2_audio(case, records):
    processor = bare("Qwen2AudioProcessor", feature_extractor=extractor(case), audio_token="<|audio|>")
    lengths = []
    for record in records:
        wave = numpy.zeros(record["audios"][0]["samples"], numpy.float32)
        _, texts = processor._process_audio([wave], sampling_rate=16000)
        lengths.append((0, 1, len(re.findall(r"<\|audio\|>", texts[0]))))
    return lengths


def voxtral_audio(case, records):
    """Stretches by the feature extractor; the 375 tokens of each and the mark before them are mistral-common's."""
    features = extractor(case)
    processor = bare("VoxtralProcessor", feature_extractor=features)
    lengths = []
    for record in records:
        wave = numpy.zeros(record["audios"][0]["samples"], numpy.float32)
        stretches = len(processor._retrieve_input_features([wave], 3000, padding=True, truncation=False,
                                                           pad_to_multiple_of=480000, sampling_rate=16000,
                                                           return_tensors="pt"))
        lengths.append((0, stretches, 1 + 375 * stretches))
    return lengths


def images(expected, image_class, settings, owner, processor=None, **others):
    return {"kind": "images", "expected": expected, "owner": owner, "processor": processor or {},
            "preprocessor": {"image_processor_type": image_class, "processor_class": owner, **settings}, **others}


def videos(expected, video_class, settings, owner, processor=None):
    return {"kind": "videos", "expected": expected, "owner": owner, "processor": processor or {},
            "preprocessor": {"processor_class": owner},
            "video": {"video_processor_type": video_class, **settings}}


def audios(expected, settings, owner, most_seconds):
    return {"kind": "audios", "expected": expected, "owner": owner, "processor": {}, "most_seconds": most_seconds,
            "preprocessor": {"feature_extractor_type": "WhisperFeatureExtractor", "processor_class": owner, **settings}}


INTERN = {"size": {"height": 448, "width": 448}}
SPLITS = {"size": {"longest_edge": 2048}, "max_image_size": {"longest_edge": 512}}
NEXT = {"size": {"shortest_edge": 336}, "crop_size": {"height": 336, "width": 336}}
CASES = [
    images(native_images, "Qwen2VLImageProcessorFast", {}, "Qwen2VLProcessor"),
    images(native_images, "Qwen2VLImageProcessorFast", {"min_pixels": 200704, "max_pixels": 1003520},
           "Qwen2_5_VLProcessor"),
    images(native_images, "Qwen2VLImageProcessorFast",
           {"patch_size": 16, "size": {"shortest_edge": 65536, "longest_edge": 16777216}}, "Qwen3VLProcessor"),
    images(native_images, "Glm4vImageProcessor", {}, "Glm4vProcessor"),
    images(native_images, "Glm4vImageProcessor", {"size": {"shortest_edge": 50176, "longest_edge": 1605632}},
           "Glm4vProcessor"),
    images(native_images, "Glm46VImageProcessor", {}, "Glm46VProcessor"),
    images(native_images, "Kimi_K25ImageProcessor", {}, "Kimi_K25Processor"),
    images(native_images, "Kimi_K25ImageProcessor", {"max_patches": 4096, "size": {"max_height": 128,
                                                                                  "max_width": 128}},
           "Kimi_K25Processor"),
    images(pixtral_images, "PixtralImageProcessor", {"size": {"longest_edge": 1024}}, "PixtralProcessor",
           {"patch_size": 16, "spatial_merge_size": 1}),
    images(pixtral_images, "PixtralImageProcessor",
           {"size": {"longest_edge": 1540}, "patch_size": {"height": 14, "width": 14}}, "PixtralProcessor",
           {"patch_size": 14, "spatial_merge_size": 2}),
    images(tiled_images, "GotOcr2ImageProcessor", {**INTERN, "crop_to_patches": True, "max_patches": 12},
           "InternVLProcessor", {"image_seq_length": 256}),
    images(tiled_images, "GotOcr2ImageProcessor",
           {**INTERN, "crop_to_patches": True, "min_patches": 2, "max_patches": 6}, "InternVLProcessor",
           {"image_seq_length": 64}),
    images(tiled_images, "GotOcr2ImageProcessor", {**INTERN, "crop_to_patches": False}, "InternVLProcessor",
           {"image_seq_length": 256}),
    images(tiled_images, "Idefics3ImageProcessor", {}, "Idefics3Processor", {"image_seq_len": 169}),
    images(tiled_images, "Idefics3ImageProcessor", SPLITS, "Idefics3Processor", {"image_seq_len": 64}),
    images(tiled_images, "SmolVLMImageProcessor", SPLITS, "Idefics3Processor", {"image_seq_len": 64}),
    images(any_resolution_images, "LlavaNextImageProcessor", NEXT, "LlavaNextProcessor",
           {"patch_size": 14, "vision_feature_select_strategy": "default", "num_additional_image_tokens": 1}),
    images(any_resolution_images, "LlavaNextImageProcessor",
           {"size": {"shortest_edge": 384}, "crop_size": {"height": 384, "width": 384},
            "image_grid_pinpoints": [[384, 768], [768, 384], [768, 768], [1152, 384], [384, 1152]]},
           "LlavaNextProcessor",
           {"patch_size": 14, "vision_feature_select_strategy": "full", "num_additional_image_tokens": 0}),
    images(any_resolution_images, "LlavaOnevisionImageProcessor", {}, "LlavaOnevisionProcessor",
           {"num_image_tokens": 729, "vision_feature_select_strategy": "full", "vision_aspect_ratio": "anyres_max_9"}),
    images(any_resolution_images, "LlavaOnevisionImageProcessor",
           {"image_grid_pinpoints": [[384, 768], [768, 384], [768, 768], [1152, 1152], [2304, 1152]]},
           "LlavaOnevisionProcessor",
           {"num_image_tokens": 576, "vision_feature_select_strategy": "default",
            "vision_aspect_ratio": "anyres_max_4"}),
    images(llama4_images, "Llama4ImageProcessor", {}, "Llama4Processor"),
    images(llama4_images, "Llama4ImageProcessor", {"max_patches": 9, "resize_to_max_canvas": True},
           "Llama4Processor"),
    images(gemma_images, "Gemma3ImageProcessor", {"size": {"height": 896, "width": 896}}, "Gemma3Processor",
           {"image_seq_length": 256}),
    images(one_unit_images, "SiglipImageProcessor", {"image_seq_length": 1024}, "PaliGemmaProcessor", tokens=1024),
    videos(native_videos, "Qwen2VLVideoProcessor", {}, "Qwen2VLProcessor"),
    videos(native_videos, "Qwen2VLVideoProcessor",
           {"do_sample_frames": True, "fps": 2.0, "size": {"shortest_edge": 100352, "longest_edge": 401408}},
           "Qwen2_5_VLProcessor"),
    videos(native_videos, "Qwen2VLVideoProcessor", {"do_sample_frames": True, "num_frames": 16}, "Qwen2VLProcessor"),
    videos(native_videos, "Qwen2VLVideoProcessor",
           {"do_sample_frames": True, "fps": 3, "max_frames": 96, "cap_pixels_per_frame": True,
            "max_video_tokens": 8192}, "Qwen2_5_VLProcessor"),
    videos(native_videos, "Qwen3VLVideoProcessor", {}, "Qwen3VLProcessor"),
    videos(native_videos, "Qwen3VLVideoProcessor",
           {"fps": 1, "max_frames": 64, "size": {"shortest_edge": 4096, "longest_edge": 25165824},
            "cap_pixels_per_frame": True}, "Qwen3VLProcessor"),
    videos(native_videos, "Qwen2VLVideoProcessor",
           {"do_sample_frames": True, "fps": 1, "size": {"shortest_edge": 3136, "longest_edge": 200704}},
           "Qwen2_5OmniProcessor"),
    videos(native_videos, "Qwen2VLVideoProcessor", {"do_sample_frames": True, "fps": 2, "patch_size": 16},
           "Qwen3OmniMoeProcessor"),
    videos(native_videos, "Glm4vVideoProcessor", {}, "Glm4vProcessor"),
    videos(native_videos, "Glm4vVideoProcessor", {"fps": 1, "max_duration": 60}, "Glm4vProcessor"),
    videos(native_videos, "Glm46VVideoProcessor", {}, "Glm46VProcessor"),
    videos(native_videos, "Glm46VVideoProcessor",
           {"size": {"shortest_edge": 12544, "longest_edge": 4704000}, "max_duration": 60}, "Glm46VProcessor"),
    videos(kimi_videos, "Kimi_K25VideoProcessor", {}, "Kimi_K25Processor"),
    videos(kimi_videos, "Kimi_K25VideoProcessor",
           {"fps": 1, "max_patches": 1024, "size": {"max_height": 64, "max_width": 64}}, "Kimi_K25Processor"),
    videos(smol_videos, "SmolVLMVideoProcessor", {"do_sample_frames": True, "num_frames": 64, "fps": 1},
           "SmolVLMProcessor", {"image_seq_len": 81}),
    videos(smol_videos, "SmolVLMVideoProcessor",
           {"do_sample_frames": True, "size": {"longest_edge": 512}, "max_image_size": {"longest_edge": 512},
            "video_sampling": {"fps": 2, "max_frames": 480, "video_size": {"longest_edge": 512}}},
           "SmolVLMProcessor", {"image_seq_len": 64}),
    videos(intern_videos, "InternVLVideoProcessor", {"do_sample_frames": True, "num_frames": 8}, "InternVLProcessor"),
    videos(intern_videos, "InternVLVideoProcessor", {"do_sample_frames": True, "fps": 1}, "InternVLProcessor",
           {"image_seq_length": 64}),
    videos(one_vision_videos, "LlavaOnevisionVideoProcessor", {}, "LlavaOnevisionProcessor",
           {"num_image_tokens": 729}),
    videos(one_vision_videos, "LlavaOnevisionVideoProcessor", {"do_sample_frames": True, "fps": 1},
           "LlavaOnevisionProcessor", {"num_image_tokens": 729}),
    audios(omni_audio, {"chunk_length": 300}, "Qwen2_5OmniProcessor", 400),
    audios(omni_audio, {}, "Qwen2_5OmniProcessor", 60),
    audios(omni_audio, {"feature_size": 128}, "Qwen3OmniMoeProcessor", 1200),
    audios(qwen2_audio, {"feature_size": 128}, "Qwen2AudioProcessor", 40),
    audios(qwen2_audio, {"chunk_length": 15}, "Qwen2AudioProcessor", 20),
    audios(voxtral_audio, {"feature_size": 128}, "VoxtralProcessor", 100),
]
