"""How many encoder units and tokens videos and recordings become: transformers' processors (5.23), without pixels.

The same in C++: client/cli/media/{frames,video_rules,audio_rules}.cc.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from .image_rules import Lengths, Source, navit_cells, smart_resize, smart_resize_frames
from .media_settings import MOST_PIXELS, MOST_SIDE, MOST_TOKENS, MediaError, Settings

MOST_FRAMES = 10 ** 6  # of a video
_MOST_STEP = 64


class Video(NamedTuple):
    """Sides in pixels, frames of the file and, where known, its rate and duration."""
    width: int
    height: int
    frames: int
    fps: float | None = None
    seconds: float | None = None


class Frames(NamedTuple):
    taken: int
    seconds: list[float]  # when each is, of samplers that say it


VideoRule = Callable[[Video], Lengths]
AudioRule = Callable[[int], Lengths]  # samples
Sampler = Callable[[Video], Frames]


def _rate(video: Video) -> float:
    if video.fps:
        return video.fps
    if video.seconds:
        return video.frames / video.seconds
    raise MediaError('a video needs "fps" or "seconds" in addition to "frames"')


class _Pace(NamedTuple):
    """The settings that most samplers read."""
    sampled: bool
    frames: int
    fps: float


def _pace(settings: Settings, sampled: bool, fps: float) -> _Pace:
    is_sampled, frames = settings.flag("do_sample_frames", sampled), settings.number("num_frames", 0, MOST_FRAMES)
    pace = _Pace(is_sampled, frames, settings.real("fps", 0 if frames else fps))
    if is_sampled and frames and pace.fps:
        raise MediaError('"num_frames" and "fps" exclude each other')
    return pace


def _require_one(pace: _Pace) -> None:
    if pace.sampled and not pace.frames and not pace.fps:
        raise MediaError('"do_sample_frames" needs "fps" or "num_frames"')


def _require_frames(wanted: int, video: Video) -> None:
    if not 1 <= wanted <= video.frames:
        raise MediaError(f"{wanted} of {video.frames} frames would be sampled: 1 to all are possible")


def _all_seconds(video: Video) -> list[float]:
    return [i / _rate(video) for i in range(video.frames)]


def _stepped(first: float, video: Video, wanted: int) -> int:
    """Frames from `first` on, in equal steps of which `wanted` make all: PyTorch's arange."""
    return math.ceil((video.frames - first) / (video.frames / wanted))


def _paced(settings: Settings, step: int) -> Sampler:
    """Qwen2-VL's frames: whole steps."""
    pace = _pace(settings, False, 0)
    _require_one(pace)
    least, most = (settings.number(*of) for of in (("min_frames", 4, MOST_FRAMES), ("max_frames", 768, MOST_FRAMES)))

    def sample(video: Video) -> Frames:
        if not pace.sampled:
            return Frames(video.frames, [])
        wanted = round(pace.frames / step) * step
        if not pace.frames:
            longest = min(most, video.frames) // step * step
            wanted = int(min(max(video.frames / _rate(video) * pace.fps, least), longest) / step) * step
        _require_frames(wanted, video)
        return Frames(_stepped(0, video, wanted), [])
    return sample


def _even(settings: Settings) -> Sampler:
    """Qwen3-VL's frames."""
    pace = _pace(settings, True, 2)
    least, most = (settings.number(*of) for of in (("min_frames", 4, MOST_FRAMES), ("max_frames", 768, MOST_FRAMES)))
    settings.number("max_duration", 1, MOST_FRAMES)  # read by none
    settings.edge("max_image_size", "longest_edge", 1, MOST_PIXELS)

    def sample(video: Video) -> Frames:
        if not pace.sampled:
            return Frames(video.frames, _all_seconds(video))
        wanted = pace.frames or min(max(int(video.frames / _rate(video) * pace.fps), least), most, video.frames)
        _require_frames(wanted, video)
        last = video.frames - 1
        step = last / (wanted - 1) if wanted > 1 else 0.0
        at = [last if 0 < i == wanted - 1 else i * step for i in range(wanted)]
        return Frames(wanted, [round(frame) / _rate(video) for frame in at])
    return sample


def _of_each_second(settings: Settings) -> Sampler:
    """GLM-4V's frames, an even number."""
    is_sampled, fps = settings.flag("do_sample_frames", True), settings.real("fps", 2)
    settings.number("num_frames", 16, MOST_FRAMES)  # read by none
    longest = settings.number("max_duration", 300, MOST_FRAMES)

    def sample(video: Video) -> Frames:
        if not is_sampled:
            return Frames(video.frames, _all_seconds(video))
        rate, last = _rate(video), video.frames - 1
        duration = video.seconds or video.frames / rate
        count = int(longest * fps)
        if duration <= longest:
            at = [i * rate / fps for i in range(max(1, min(int(duration * fps), video.frames * 64)))]
        elif count >= video.frames:
            at = [float(i) for i in range(video.frames)]
        else:
            step = duration / (count - 1) if count > 1 else 0.0
            at = [(duration if 0 < i == count - 1 else i * step) * rate for i in range(count)]
        seconds = [frame / rate for frame in dict.fromkeys(min(last, math.ceil(frame)) for frame in at)]
        seconds += seconds[-1:] * (len(seconds) % 2)
        return Frames(len(seconds), seconds)
    return sample


def _linspace(first: int, last: int, count: int) -> list[int]:
    """`count` frames from `first` to `last`, evenly spaced and rounded down: NumPy's."""
    step = (last - first) / (count - 1) if count > 1 else 0.0
    return [last if 0 < i == count - 1 else int(i * step + first) for i in range(count)]


def _first_of_each(video: Video, per_second: float, last_second: int) -> list[int]:
    """The first frame of each part of a second, up to the last whole second."""
    frames: list[int] = []
    second, of_frame = 0.0, 1 / _rate(video)
    for frame in range(video.frames):
        if frame * of_frame >= second:
            second += 1 / per_second
            frames.append(frame)
            if second >= last_second:
                break
    return frames


def _by_duration(settings: Settings, step: int) -> Sampler:
    """GLM-4.6V's frames, an even number."""
    is_sampled = settings.flag("do_sample_frames", True)
    settings.real("fps", 2)  # these three are read by none
    settings.number("num_frames", 16, MOST_FRAMES)
    settings.number("max_duration", 300, MOST_FRAMES)

    def sample(video: Video) -> Frames:
        if not is_sampled:
            return Frames(video.frames, _all_seconds(video))
        rate, last = _rate(video), video.frames - 1
        duration = video.seconds or video.frames / rate
        counted = min(duration, 2400)
        fps = 3 if counted <= 30 else 1 if counted <= 300 else 0.5
        wanted = min(int(counted * fps * step), 640)
        frames = _linspace(0, last, wanted) if video.frames < wanted else _first_of_each(
            video, step * fps, int(duration))
        if len(frames) < wanted:
            frames = _linspace(frames[0], frames[-1], wanted)
        elif len(frames) > wanted:
            frames = _linspace(0, last, wanted)
        frames = list(dict.fromkeys(frames))
        _require_frames(len(frames), video)
        frames += frames[-1:] * (len(frames) % 2)
        return Frames(len(frames), [frame / rate for frame in frames])
    return sample


def _shifted(settings: Settings) -> Sampler:
    """InternVL's frames: from the middle of the first step."""
    pace = _pace(settings, False, 0)
    _require_one(pace)
    settings.require("initial_shift", True)

    def sample(video: Video) -> Frames:
        if not pace.sampled:
            return Frames(video.frames, [])
        wanted = pace.frames or int(video.frames / _rate(video) * pace.fps)
        _require_frames(wanted, video)
        return Frames(_stepped(video.frames / wanted / 2, video, wanted), [])
    return sample


def _spread(settings: Settings, sampled: bool = False, fps: float = 0) -> Sampler:
    """Frames of most processors, LLaVA-OneVision's and Kimi-K2.5's among them."""
    pace = _pace(settings, sampled, fps)

    def sample(video: Video) -> Frames:
        if not pace.sampled or not (pace.frames or pace.fps):
            return Frames(video.frames, [])
        wanted = pace.frames or max(1, int(video.frames / _rate(video) * pace.fps))
        _require_frames(wanted, video)
        return Frames(wanted, [])
    return sample


def _skipping(settings: Settings) -> Sampler:
    """SmolVLM's frames: not those of the first and last second."""
    is_sampled = settings.flag("do_sample_frames", False)
    # The checkpoint's "video_sampling" goes before the usual keys.
    most = settings.edge("video_sampling", "max_frames", settings.number("num_frames", 0, MOST_FRAMES), MOST_FRAMES)
    fps = settings.edge("video_sampling", "fps", 0, MOST_FRAMES) + settings.real("fps", 0)
    if is_sampled and not (most and fps):
        raise MediaError('"do_sample_frames" needs "num_frames" and "fps", or "video_sampling"')

    def sample(video: Video) -> Frames:
        if not is_sampled:
            return Frames(video.frames, _all_seconds(video))
        rate = _rate(video)
        duration = video.seconds or video.frames / rate
        first, last = 0, video.frames - 1
        if duration - 2 > most * fps:
            skipped = int(rate), min(int(video.frames - rate), last)
            first, last = skipped if skipped[0] < skipped[1] else (first, last)
        frames = list(dict.fromkeys(_linspace(first, last, max(1, min(round(fps * duration), most)))))
        return Frames(len(frames), [frame / rate for frame in frames])
    return sample


class _Budget(NamedTuple):
    side: int  # of a token, in pixels
    step: int  # frames that become one
    least: int
    most: int
    capped: bool
    capped_tokens: int


def _is_omni(owner: str) -> bool:
    """Returns whether the processor of the whole sets the sizes of videos itself and ignores files."""
    return owner in ("Qwen2_5OmniProcessor", "Qwen3OmniMoeProcessor")


def _budget(source: Source, patch: int, default_most: int, default_capped_tokens: int) -> _Budget:
    s = source.media
    s.require("do_resize", True)
    side, step = s.side("patch_size", patch) * s.number("merge_size", 2, _MOST_STEP), s.number(
        "temporal_patch_size", 2, _MOST_STEP)
    least = s.number("min_pixels", s.edge("size", "shortest_edge", 128 * 4 * patch ** 2, MOST_PIXELS), MOST_PIXELS)
    most = s.number("max_pixels", s.edge("size", "longest_edge", default_most, MOST_PIXELS), MOST_PIXELS)
    if _is_omni(source.owner):
        own = 28 ** 2 if source.owner == "Qwen2_5OmniProcessor" else 32 ** 2
        least, most = 128 * own, 768 * own
    return _Budget(side, step, least, most, s.flag("cap_pixels_per_frame", False),
                   s.number("max_video_tokens", default_capped_tokens, MOST_PIXELS))


def _qwen2(source: Source) -> VideoRule:
    b = _budget(source, 14, 28 * 28 * 768, 128000)
    sample = _paced(source.media, b.step)

    def rule(video: Video) -> Lengths:
        frames, most = sample(video).taken, b.most
        if b.capped:
            share = int(b.capped_tokens * b.side * b.side * 0.9) * b.step // frames
            most = max(min(most, share), int(b.least * 1.05))
        grid = smart_resize(video.width, video.height, b.side, b.least, most)
        tokens = -(-frames // b.step) * math.prod(grid)
        return Lengths(tokens, tokens)
    return rule


def _time_tokens(seconds: list[float], step: int) -> int:
    """Tokens of "<12.5 seconds>" before each pair of frames, in Qwen's vocabulary, where each digit is one, and so are
    "<", ".", " seconds" and ">"."""
    return sum(len(f"{(seconds[i] + seconds[min(i + step, len(seconds)) - 1]) / 2:.1f}") + 3
               for i in range(0, len(seconds), step))


def _qwen3(source: Source) -> VideoRule:
    b = _budget(source, 16, 32 * 32 * 768, 768)
    sample, marked = _even(source.media), not _is_omni(source.owner)

    def rule(video: Video) -> Lengths:
        frames = sample(video)
        most = b.most
        if b.capped:
            share = min(b.capped_tokens * b.side ** 2, b.most // frames.taken)
            most = frames.taken * max(share, int(b.least * 1.05))
        grid = smart_resize_frames(frames.taken, video.width, video.height, b.step, b.side, b.least, most)
        pairs = -(-frames.taken // b.step)
        units = pairs * math.prod(grid)
        return Lengths(units, units + (2 * pairs + _time_tokens(frames.seconds, b.step) if marked else 0))
    return rule


def _glm(source: Source, by_duration: bool = False) -> VideoRule:
    """Marks around each pair of frames, and after it its second. Up to 3 digits are a token.

    GLM-4V writes "12", GLM-4.6V "12.5 seconds".
    """
    s = source.media
    s.require("do_resize", True)
    s.edge("max_image_size", "longest_edge", 1, MOST_PIXELS)  # read by none
    side = s.side("patch_size", 14) * s.number("merge_size", 2, _MOST_STEP)
    if s.number("temporal_patch_size", 2, _MOST_STEP) != 2:
        raise MediaError('"temporal_patch_size" must be 2')
    least = s.edge("size", "shortest_edge", 112 * 112, MOST_PIXELS)
    most = s.edge("size", "longest_edge", 28 * 28 * 2 * 30000, MOST_PIXELS)
    sample = _by_duration(s, 2) if by_duration else _of_each_second(s)

    def time_tokens(second: float) -> int:
        if by_duration:
            return -(-len(f"{second:.1f}".split(".")[0]) // 3) + 3
        return -(-len(str(int(second))) // 3)

    def rule(video: Video) -> Lengths:
        frames = sample(video)
        grid = smart_resize_frames(frames.taken, video.width, video.height, 2, side, least, most)
        pairs = -(-frames.taken // 2)
        marks = 2 * pairs + sum(time_tokens(second) for second in frames.seconds[::2])
        return Lengths(pairs * math.prod(grid), pairs * math.prod(grid) + marks)
    return rule


def _glm46(source: Source) -> VideoRule:
    return _glm(source, True)


def _kimi(source: Source) -> VideoRule:
    """A chunk of frames goes through the encoder frame by frame, and becomes as many tokens as one of them.

    Before it stands its time, "00:00:12.500" (7 tokens), and around it are 3 marks and the word "video".
    """
    s = source.media
    s.require("do_resize", True)
    patch, merge = s.side("patch_size", 14), s.number("merge_size", 2, _MOST_STEP)
    chunk, most = s.number("temporal_patch_size", 4, _MOST_STEP), s.number("max_patches", 4096, MOST_PIXELS)
    rows = s.edge("size", "max_height", 512, MOST_SIDE)
    if s.edge("size", "max_width", 512, MOST_SIDE) != rows:
        raise MediaError('"size" must be as high as wide')
    sample = _spread(s, True, 2)

    def rule(video: Video) -> Lengths:
        frames = sample(video).taken
        cells = navit_cells(video.width, video.height, patch, merge, most, rows)
        return Lengths(frames * cells, -(-frames // chunk) * (cells + 7 + 4))
    return rule


def _intern(source: Source) -> VideoRule:
    """Each frame is a tile, after "Frame1: " (each digit is a token), and on a line of its own."""
    s = source.media
    s.require("do_resize", True)
    s.side("size", 384)
    tokens = source.processor.number("image_seq_length", 256, MOST_TOKENS)
    sample = _shifted(s)

    def rule(video: Video) -> Lengths:
        frames = sample(video).taken
        digits = sum(frames - 10 ** power + 1 for power in range(len(str(frames))))
        return Lengths(frames, frames * (tokens + 2 + 3) + frames - 1 + digits)
    return rule


def _one_vision(source: Source) -> VideoRule:
    s = source.media
    s.require("do_resize", True)
    s.require("do_center_crop", False)
    s.side("size", 384)
    tokens = source.processor.number("num_image_tokens", 0, MOST_TOKENS)
    if not tokens:
        raise MediaError('"num_image_tokens" is needed in processor_config.json')
    row, sample = -(-int(math.sqrt(tokens)) // 2), _spread(s)

    def rule(video: Video) -> Lengths:
        frames = sample(video).taken
        return Lengths(frames, frames * row ** 2 + 1)
    return rule


def _words(n: int) -> int:
    """Tokens of a number below a million in words, hyphens and commas included."""
    if n >= 1000:
        return _words(n // 1000) + 1 + (1 + _words(n % 1000) if n % 1000 else 0)
    if n >= 100:
        return 2 + (1 + _words(n % 100) if n % 100 else 0)
    return 1 if n < 20 or n % 10 == 0 else 3


def _smol(source: Source) -> VideoRule:
    """"You are provided the following series of four frames from a 0:00:12 [H:MM:SS] video.", then "Frame from 00:05:"
    before each frame, which is a tile between marks. Each digit is a token."""
    s = source.media
    s.require("do_resize", True)
    s.edge("size", "longest_edge", 4 * 364, MOST_SIDE)  # frames become squares of max_image_size
    s.edge("max_image_size", "longest_edge", 364, MOST_SIDE)
    tokens = source.processor.number("image_seq_len", 169, MOST_TOKENS)
    sample = _skipping(s)

    def rule(video: Video) -> Lengths:
        frames = sample(video)
        seconds = int(video.seconds or video.frames / _rate(video))
        if seconds >= 24 * 3600:
            raise MediaError("a video is longer than a day")
        marks = 22 + _words(frames.taken) + len(str(seconds // 3600)) + 6 + 2
        marks += sum(3 + 4 + max(2, len(str(int(at) // 60))) + 2 + 2 for at in frames.seconds)
        return Lengths(frames.taken, frames.taken * tokens + marks)
    return rule


VIDEO_CLASSES: dict[str, Callable[[Source], VideoRule]] = {
    "Qwen2VLVideoProcessor": _qwen2, "Qwen3VLVideoProcessor": _qwen3, "Glm4vVideoProcessor": _glm,
    "Glm46VVideoProcessor": _glm46, "Kimi_K25VideoProcessor": _kimi,
    "InternVLVideoProcessor": _intern, "LlavaOnevisionVideoProcessor": _one_vision,
    "SmolVLMVideoProcessor": _smol}


def video_rule(name: str, source: Source) -> VideoRule:
    if name not in VIDEO_CLASSES:
        raise MediaError(f'"video_processor_type" is "{name}", which is not known; accepted: '
                         f'{", ".join(VIDEO_CLASSES)}')
    return VIDEO_CLASSES[name](source)


def _voxtral(samples: int) -> Lengths:
    """Padded to whole stretches of 30 seconds, each 375 tokens, after one mark."""
    stretches = -(-samples // 480000)
    return Lengths(stretches, 1 + stretches * 375)


_AUDIO_OWNERS = ("WhisperProcessor", "Qwen2AudioProcessor", "Qwen2_5OmniProcessor", "Qwen3OmniMoeProcessor",
                 "VoxtralProcessor")


def audio_rule(name: str, source: Source) -> AudioRule:
    """Recordings, as Whisper's feature extractor cuts and pads them. Samples are at its rate."""
    if name != "WhisperFeatureExtractor":
        raise MediaError(f'"feature_extractor_type" is "{name}", which is not known; accepted: WhisperFeatureExtractor')
    s, owner = source.media, source.owner
    rate, hop = s.number("sampling_rate", 16000, 10 ** 6), s.number("hop_length", 160, 10 ** 6)
    longest = s.number("chunk_length", 30, 10 ** 6) * rate
    s.number("n_samples", 1, 10 ** 12)  # follow from these
    s.number("nb_max_frames", 1, 10 ** 12)
    if longest < hop:
        raise MediaError('"hop_length" must be at most a chunk')
    if owner == "VoxtralProcessor" and (rate, hop) != (16000, 160):
        raise MediaError('"sampling_rate" and "hop_length" of VoxtralProcessor must be 16000 and 160')
    if owner not in _AUDIO_OWNERS:
        raise MediaError(f'"processor_class" is "{owner}", and tells what becomes of recordings; accepted: '
                         f'{", ".join(_AUDIO_OWNERS)}')

    def padded(samples: int) -> int:
        frames = min(-(-min(samples, longest) // hop), longest // hop)
        return ((frames - 1) // 2 + 1 - 2) // 2 + 1

    def omni3(samples: int) -> Lengths:  # chunks of 100 frames become 13 tokens
        chunks, rest = divmod(samples // hop, 100)
        for _ in range(3):
            rest = (rest - 1) // 2 + 1
        return Lengths(rest + 13 * chunks, rest + 13 * chunks)
    rules: dict[str, AudioRule] = {
        "WhisperProcessor": lambda _: Lengths(1, 0),  # tokens are those of the text
        "Qwen2AudioProcessor": lambda samples: Lengths(1, padded(samples)),
        "Qwen2_5OmniProcessor": lambda samples: Lengths(padded(samples), padded(samples)),
        "Qwen3OmniMoeProcessor": omni3, "VoxtralProcessor": _voxtral}
    return rules[owner]
