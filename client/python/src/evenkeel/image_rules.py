"""How many encoder units and tokens an image becomes: the arithmetic of transformers' image processors (5.23).

The same in C++: client/cli/media/{image_rules,tile_rules,any_resolution}.cc. tests/client/media/media_vectors.json
holds both to the answers of transformers.
"""
from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import NamedTuple

from .media_settings import MOST_PIXELS, MOST_SIDE, MOST_TOKENS, MediaError, Settings

_MOST_MERGE, _MOST_TILES = 64, 256


class Lengths(NamedTuple):
    """units: tiles, or tokens of the language model where media keep their resolution; tokens: marks included."""
    units: int
    tokens: int


class Source(NamedTuple):
    """The settings from which a rule is made. owner: the "processor_class", or ""."""
    media: Settings
    processor: Settings
    owner: str


ImageRule = Callable[[int, int, int], Lengths]  # width, height, images of the sample


def _into_range(rows: int, columns: int, volume: int, pixels: int, width: int, height: int, side: int, least: int,
                most: int) -> tuple[int, int]:
    if pixels > most:
        shrink = math.sqrt(volume / most)
        rows, columns = (max(1, math.floor(length / shrink / side)) for length in (height, width))
    elif pixels < least:
        grow = math.sqrt(least / volume)
        rows, columns = (math.ceil(length * grow / side) for length in (height, width))
    if rows * columns < 1:
        raise MediaError(f"{width} x {height} pixels: less than one patch is left")
    return rows, columns


def _check_aspect(width: int, height: int) -> None:
    if max(width, height) / min(width, height) > 200:
        raise MediaError(f"{width} x {height} pixels: one side must be at most 200 times the other")


def smart_resize(width: int, height: int, side: int, least: int, most: int) -> tuple[int, int]:
    """Qwen2-VL's rows and columns: whole cells of `side` pixels, as many pixels as `least` to `most`."""
    _check_aspect(width, height)
    rows, columns = round(height / side), round(width / side)
    return _into_range(rows, columns, height * width, rows * columns * side * side, width, height, side, least, most)


def smart_resize_frames(frames: int, width: int, height: int, step: int, side: int, least: int,
                        most: int) -> tuple[int, int]:
    """As smart_resize, with the pixels of all frames in the range. `step` frames become one."""
    if frames < step:
        raise MediaError(f"{frames} frames are left: at least {step} are needed")
    if height < side or width < side:
        scale = max(side / height, side / width)
        height, width = int(height * scale), int(width * scale)
    _check_aspect(width, height)
    rows, columns = round(height / side), round(width / side)
    kept = round(frames / step) * step
    return _into_range(rows, columns, frames * height * width, kept * rows * columns * side * side, width, height, side,
                       least, most)


def _pixel_budget(source: Source) -> ImageRule:
    s = source.media
    s.require("do_resize", True)
    s.number("temporal_patch_size", 2, _MOST_MERGE)
    side = s.side("patch_size", 14) * s.number("merge_size", 2, _MOST_MERGE)
    shortest = s.edge("size", "shortest_edge", 56 * 56, MOST_PIXELS)
    longest = s.edge("size", "longest_edge", 28 * 28 * 1280, MOST_PIXELS)
    least, most = s.number("min_pixels", shortest, MOST_PIXELS), s.number("max_pixels", longest, MOST_PIXELS)

    def rule(width: int, height: int, _: int) -> Lengths:
        tokens = math.prod(smart_resize(width, height, side, least, most))
        return Lengths(tokens, tokens)
    return rule


def _temporal_budget(source: Source) -> ImageRule:
    s = source.media
    s.require("do_resize", True)
    step = s.number("temporal_patch_size", 2, _MOST_MERGE)
    side = s.side("patch_size", 14) * s.number("merge_size", 2, _MOST_MERGE)
    least = s.edge("size", "shortest_edge", 112 * 112, MOST_PIXELS)
    most = s.edge("size", "longest_edge", 28 * 28 * 15000, MOST_PIXELS)

    def rule(width: int, height: int, _: int) -> Lengths:
        tokens = math.prod(smart_resize_frames(step, width, height, step, side, least, most))
        return Lengths(tokens, tokens)
    return rule


def _longest_edge(source: Source) -> ImageRule:
    s = source.media
    s.require("do_resize", True)
    merge = source.processor.number("spatial_merge_size", 1, _MOST_MERGE)
    side = source.processor.side("patch_size", s.side("patch_size", 16)) * merge
    longest = s.edge("size", "longest_edge", 1024, MOST_SIDE)

    def rule(width: int, height: int, _: int) -> Lengths:
        ratio = max(height / longest, width / longest)
        short, long = (int(math.floor(v / ratio)) if ratio > 1 else v for v in (height, width))
        if short < 1 or long < 1:
            raise MediaError(f"{width} x {height} pixels: too long for its width")
        rows, columns = -(-short // side), -(-long // side)
        return Lengths(rows * columns, rows * (columns + 1))  # a mark ends each row
    return rule


def _kimi(source: Source) -> ImageRule:
    s = source.media
    if not s.flag("pad_input", False):
        raise MediaError('"pad_input" must be true: false is not supported yet')
    patch, most = s.side("patch_size", 14), s.number("in_token_limit", 4096, MOST_PIXELS)
    merge = s.equal_pair("merge_kernel_size", 2)

    def rule(width: int, height: int, _: int) -> Lengths:
        patches = (width // patch) * (height // patch)
        scale = math.sqrt(most / patches) if patches > most else 1.0
        rows, columns = (-(-int(length * scale) // (merge * patch)) for length in (height, width))
        if max(rows, columns) * merge > 511:
            raise MediaError(f"{width} x {height} pixels: more than 511 patches in a row or column")
        return Lengths(rows * columns, rows * columns)
    return rule


def navit_cells(width: int, height: int, patch: int, merge: int, most_patches: int, most_rows: int) -> int:
    """Tokens of Kimi-K2.5's resizing, to whole cells of `merge` times `merge` patches by padding."""
    patches = max(1, height // patch) * max(1, width // patch)
    longest = most_rows * patch
    scale = min(1.0, math.sqrt(most_patches / patches), longest / height, longest / width)
    return math.prod(-(-min(max(1, int(length * scale)), longest) // (merge * patch)) for length in (height, width))


def _kimi_k25(source: Source) -> ImageRule:
    s = source.media
    s.require("do_resize", True)
    patch, merge = s.side("patch_size", 14), s.number("merge_size", 2, _MOST_MERGE)
    most_patches = s.number("max_patches", 16384, MOST_PIXELS)
    most_rows = s.edge("size", "max_height", 512, MOST_SIDE)
    if s.edge("size", "max_width", 512, MOST_SIDE) != most_rows:
        raise MediaError('"size" must be as high as wide')

    def rule(width: int, height: int, _: int) -> Lengths:
        tokens = navit_cells(width, height, patch, merge, most_patches, most_rows)
        return Lengths(tokens, tokens)
    return rule


def _tiles_of(width: int, height: int, side: int, least_tiles: int, most_tiles: int) -> int:
    """Tiles of the grid that is nearest in aspect ratio."""
    aspect, area = width / height, width * height
    least, tiles = math.inf, 1
    # Of two grids that are as near, the later one wins if the image has pixels enough for half its tiles.
    for count in range(least_tiles, most_tiles + 1):
        for columns in range(1, count + 1):
            if count % columns:
                continue
            off = abs(aspect - columns / (count // columns))
            if off < least or (off == least and area > 0.5 * side * side * count):
                tiles = count
            least = min(least, off)
    return tiles


def _tiles(source: Source) -> ImageRule:
    s = source.media
    s.require("do_resize", True)
    side = s.side("size", 384)
    # InternVL's processor cuts images into tiles for all settings of its image processor.
    cuts = s.flag("crop_to_patches", False) or source.owner == "InternVLProcessor"
    least, most = s.number("min_patches", 1, _MOST_TILES), s.number("max_patches", 12, _MOST_TILES)
    tokens = source.processor.number("image_seq_length", 256, MOST_TOKENS)
    if cuts and least > most:
        raise MediaError('"min_patches" must be at most "max_patches"')

    def rule(width: int, height: int, _: int) -> Lengths:
        tiles = _tiles_of(width, height, side, least, most) if cuts else 1
        units = tiles + 1 if tiles > 1 else 1
        return Lengths(units, 2 + units * tokens)  # a mark before and after an image
    return rule


def _split_size(width: int, height: int, longest: int) -> tuple[int, int]:
    """Idefics 3's scaling to a longest side; the shorter side becomes even. Then sides of at most 4,096."""
    aspect = width / height
    if width >= height:
        width, height = longest, int(longest / aspect)
        height = max(1, height + height % 2)
    else:
        width, height = int(longest * aspect), longest
        width = max(1, width + width % 2)
    if max(width, height) > 4096:
        aspect = width / height
        width, height = (4096, int(4096 / aspect)) if width >= height else (int(4096 * aspect), 4096)
    return max(1, width), max(1, height)


def _splits(source: Source) -> ImageRule:
    s = source.media
    s.require("do_resize", True)
    s.flag("do_pad", True)  # pads batches, not images
    longest = s.edge("size", "longest_edge", 4 * 364, MOST_SIDE)
    cuts = s.flag("do_image_splitting", True)
    side = s.edge("max_image_size", "longest_edge", 364, MOST_SIDE)
    tokens = source.processor.number("image_seq_len", 169, MOST_TOKENS)
    whole = tokens + 3

    def rule(width: int, height: int, _: int) -> Lengths:
        if not cuts:
            return Lengths(1, whole)
        width, height = _split_size(width, height, longest)
        rows, columns = -(-height // side), -(-width // side)
        if rows == columns == 1:
            return Lengths(1, whole)
        return Lengths(rows * columns + 1, whole + rows * (columns * (tokens + 2) + 1))
    return rule


def _one_unit(source: Source) -> ImageRule:
    s, p = source.media, source.processor
    s.require("do_resize", True)
    size = s.side("size", 224)
    crop = s.side("crop_size", size)
    side = crop if s.flag("do_center_crop", True) else size
    patch = p.side("patch_size", 0)
    others = p.number("num_additional_image_tokens", 0, MOST_TOKENS, least=0)
    dropped = p.text("vision_feature_select_strategy") == "default"
    tokens = p.number("image_seq_length", s.number("image_seq_length", 0, MOST_TOKENS), MOST_TOKENS)
    if tokens == 0 and patch:
        tokens = (side // patch) ** 2 + others - dropped
    if tokens < 1:
        raise MediaError('"image_seq_length" or, in processor_config.json, "patch_size" is needed: the tokens of an '
                         "image")
    if source.owner == "Gemma3nProcessor":
        tokens += 4  # as in _gemma
    return lambda *_: Lengths(1, tokens)


def _gemma(source: Source) -> ImageRule:
    s = source.media
    s.require("do_resize", True)
    s.require("do_pan_and_scan", False)
    for key in ("pan_and_scan_min_crop_size", "pan_and_scan_max_num_crops"):
        s.number(key, 1, MOST_SIDE)
    s.real("pan_and_scan_min_ratio_to_activate", 1)
    s.side("size", 224)
    tokens = source.processor.number("image_seq_length", s.number("image_seq_length", 256, MOST_TOKENS), MOST_TOKENS)
    # A mark and an empty line (one token) before the image and after it.
    return lambda *_: Lengths(1, tokens + 4)


def _single(value: float) -> float:
    """Rounds to single precision, in which PyTorch divides."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def _llama4(source: Source) -> ImageRule:
    s = source.media
    s.require("do_resize", True)
    side, most = s.side("size", 336), s.number("max_patches", 16, _MOST_TILES)
    largest = s.flag("resize_to_max_canvas", False)
    patch = source.processor.side("patch_size", 14)
    merged = max(1, round(1 / source.processor.real("pixel_shuffle_ratio", 0.5) ** 2))
    tokens = (side // patch) ** 2 // merged
    if tokens < 1:
        raise MediaError('"size" and "patch_size" leave a tile no token')
    grids = [(count, count // columns, columns) for count in range(1, most + 1)
             for columns in range(1, count + 1) if count % columns == 0]

    def rule(width: int, height: int, _: int) -> Lengths:
        # Of the canvases that hold the image the least enlarging one, else the least shrinking one; of equal ones,
        # that with the fewest tiles.
        best, tiles = 0.0, 1
        for count, rows, columns in grids:
            scale = min(_single(columns * side / width), _single(rows * side / height))
            holds, held = scale >= 1, best >= 1
            if best == 0 or (holds if holds != held else scale < best if holds and not largest else scale > best):
                best, tiles = scale, count
        if tiles == 1:
            return Lengths(1, 3 + tokens)
        return Lengths(tiles + 1, 3 + tokens + tiles * (tokens + 1))  # a mark ends each tile
    return rule


def _best_resolution(width: int, height: int, resolutions: list[tuple[int, int]]) -> tuple[int, int]:
    """Returns the resolution that keeps most of the image and, among equals, wastes least."""
    best, most_kept, least_wasted = resolutions[0], 0, math.inf
    for rows, columns in resolutions:
        scale = min(columns / width, rows / height)
        kept = min(int(width * scale) * int(height * scale), width * height)
        wasted = columns * rows - kept
        if kept > most_kept or (kept == most_kept and wasted < least_wasted):
            best, most_kept, least_wasted = (rows, columns), kept, wasted
    return best


def _unpadded(width: int, height: int, rows: int, columns: int) -> tuple[int, int]:
    """Removes the rows or columns of padding from a grid that the image was fitted into."""
    if width / height > columns / rows:
        return rows - (rows - int(round(height * (columns / width), 7))) // 2 * 2, columns
    return rows, columns - (columns - int(round(width * (rows / height), 7))) // 2 * 2


def _grid(best: tuple[int, int], row: int, side: int) -> tuple[int, int]:
    if min(best) < side:
        raise MediaError('a resolution of "image_grid_pinpoints" is below "size"')
    return row * (best[0] // side), row * (best[1] // side)


def _tile_count(best: tuple[int, int], side: int) -> int:
    return -(-best[0] // side) * -(-best[1] // side) + 1


def _llava_next(source: Source) -> ImageRule:
    s, p = source.media, source.processor
    s.require("do_resize", True)
    s.require("do_pad", True)
    side = s.side("size", 224)
    if s.flag("do_center_crop", True) and s.side("crop_size", side) != side:
        raise MediaError('"crop_size" must be that of "size"')
    resolutions = s.pairs("image_grid_pinpoints", [(336, 672), (672, 336), (672, 672), (1008, 336), (336, 1008)])
    patch = p.side("patch_size", 0)
    if not patch:
        raise MediaError('"patch_size" is needed in processor_config.json')
    others = p.number("num_additional_image_tokens", 0, MOST_TOKENS, least=0)
    others -= p.text("vision_feature_select_strategy") == "default"
    row = side // patch
    if row < 1:
        raise MediaError('"patch_size" must be at most "size"')

    def rule(width: int, height: int, _: int) -> Lengths:
        best = _best_resolution(width, height, resolutions)
        rows, columns = _unpadded(width, height, *_grid(best, row, side))
        return Lengths(_tile_count(best, side), rows * columns + rows + row * row + others)  # a mark ends a row
    return rule


def _one_vision(source: Source) -> ImageRule:
    s, p = source.media, source.processor
    s.require("do_resize", True)
    s.require("do_pad", True)
    s.require("do_center_crop", False)
    side = s.side("size", 384)
    resolutions = s.pairs("image_grid_pinpoints", [(384 * r, 384 * c) for r in range(1, 7) for c in range(1, 7)])
    tokens = p.number("num_image_tokens", 0, MOST_TOKENS)
    if not tokens:
        raise MediaError('"num_image_tokens" is needed in processor_config.json')
    row, dropped = int(math.sqrt(tokens)), p.text("vision_feature_select_strategy") == "default"
    aspect = p.text("vision_aspect_ratio") if p.has("vision_aspect_ratio") else "anyres_max_9"
    number = aspect.removeprefix("anyres_max_")
    if number == aspect or not number.isdecimal() or int(number) < 1:
        raise MediaError('"vision_aspect_ratio" must be "anyres_max_N"')
    most_tiles = int(number)

    def rule(width: int, height: int, images_of_sample: int) -> Lengths:
        if images_of_sample > 1:  # several images of a sample are not cut
            return Lengths(1, tokens + 1 - dropped)
        best = _best_resolution(width, height, resolutions)
        rows, columns = _unpadded(width, height, *_grid(best, row, side))
        ratio = math.sqrt(rows * columns / (most_tiles * row ** 2))
        if ratio > 1.1:
            rows, columns = int(rows // ratio), int(columns // ratio)
        return Lengths(_tile_count(best, side), rows * columns + rows + tokens - dropped)
    return rule


# Class, its rule, and the processors that it may belong to: they share classes, but may write other marks.
_CLASSES: dict[str, tuple[Callable[[Source], ImageRule], tuple[str, ...]]] = {
    "Qwen2VLImageProcessor": (_pixel_budget, ("Qwen2VLProcessor", "Qwen2_5_VLProcessor", "Qwen3VLProcessor",
                                              "Qwen2_5OmniProcessor", "Qwen3OmniMoeProcessor")),
    "Glm4vImageProcessor": (_temporal_budget, ("Glm4vProcessor",)),
    "Glm46VImageProcessor": (_temporal_budget, ("Glm46VProcessor",)),
    "PixtralImageProcessor": (_longest_edge, ("PixtralProcessor",)),
    "GotOcr2ImageProcessor": (_tiles, ("InternVLProcessor",)),
    "Idefics3ImageProcessor": (_splits, ("Idefics3Processor", "SmolVLMProcessor")),
    "SmolVLMImageProcessor": (_splits, ("SmolVLMProcessor", "Idefics3Processor")),
    "CLIPImageProcessor": (_one_unit, ("LlavaProcessor", "CLIPProcessor")),
    "SiglipImageProcessor": (_one_unit, ("PaliGemmaProcessor", "SiglipProcessor", "LlavaProcessor",
                                         "Gemma3nProcessor")),
    "Gemma3ImageProcessor": (_gemma, ("Gemma3Processor", "ShieldGemma2Processor")),
    "LlavaNextImageProcessor": (_llava_next, ("LlavaNextProcessor",)),
    "LlavaOnevisionImageProcessor": (_one_vision, ("LlavaOnevisionProcessor",)),
    "Llama4ImageProcessor": (_llama4, ("Llama4Processor",)),
    "KimiVLImageProcessor": (_kimi, ("KimiVLProcessor",)),
    "Kimi_K25ImageProcessor": (_kimi_k25, ("Kimi_K25Processor",)),
}


def image_rule(name: str, source: Source) -> ImageRule:
    """Raises MediaError with the known classes, or with the fault of a setting."""
    if name not in _CLASSES:
        raise MediaError(f'"image_processor_type" is "{name}", which is not known; accepted: {", ".join(_CLASSES)}')
    make, owners = _CLASSES[name]
    if source.owner and source.owner not in owners:
        raise MediaError(f'"processor_class" is "{source.owner}", whose marks around images of {name} are not known; '
                         f'accepted: {", ".join(owners)}')
    return make(source)
