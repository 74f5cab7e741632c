"""Lengths that a checkpoint's processor gives images, videos and recordings: units of its encoders and tokens.

    processor = evenkeel.Processor("path/to/checkpoint")
    processor.lengths(images=[(1280, 720)])   # MediaLengths(vision_units=1196, audio_units=0, tokens=1196)

Reads preprocessor_config.json, video_preprocessor_config.json and processor_config.json: any of them, or the folder.
The arithmetic is that of transformers 5.23, without transformers. The same in C++: client/cli/media/media_processor.cc.
"""
from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .image_rules import ImageRule, Source, image_rule
from .media_settings import MediaError, Settings
from .video_rules import MOST_FRAMES, VIDEO_CLASSES, AudioRule, Video, VideoRule, audio_rule, video_rule

__all__ = ["Audio", "MediaError", "MediaLengths", "Processor", "Video"]

_PREPROCESSOR, _VIDEO, _PROCESSOR = ("preprocessor_config.json", "video_preprocessor_config.json",
                                     "processor_config.json")
_IMAGE_TYPE, _VIDEO_TYPE, _AUDIO_TYPE = "image_processor_type", "video_processor_type", "feature_extractor_type"
_MOST_SIDE = 10 ** 6


class Audio(NamedTuple):
    """A recording: samples of one channel, at `rate` a second."""
    samples: int
    rate: int


class MediaLengths(NamedTuple):
    """The sums over the media of a sample. tokens: those of the language model, without those of text."""
    vision_units: int
    audio_units: int
    tokens: int


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            values = json.load(file)
    except ValueError as error:
        raise MediaError(f"{path} is not JSON: {error}") from error
    if not isinstance(values, dict):
        raise MediaError(f"{path} is not a JSON object")
    return values


def _part(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    part = values.get(name)
    return part if isinstance(part, dict) else {}


class _Files:
    def __init__(self, path: str) -> None:
        folder = path if os.path.isdir(path) else os.path.dirname(path)

        def beside(name: str) -> dict[str, Any]:
            at = os.path.join(folder, name)
            return _read(at) if os.path.exists(at) else {}
        self.preprocessor, self.video, self.processor = beside(_PREPROCESSOR), beside(_VIDEO), beside(_PROCESSOR)
        if folder == path:
            return
        values = _read(path)
        typed = any(values.get(key) is not None for key in (_IMAGE_TYPE, _AUDIO_TYPE))
        if not typed and values.get(_VIDEO_TYPE) is not None:
            self.video = values
        elif not typed and (os.path.basename(path) == _PROCESSOR or "image_processor" in values or
                            "feature_extractor" in values):
            self.processor = values
        else:
            self.preprocessor = values

    def owner(self) -> str:
        for values in (self.preprocessor, self.processor, self.video):
            if isinstance(values.get("processor_class"), str):
                return str(values["processor_class"])
        return ""

    def having(self, key: str, part: str) -> dict[str, Any]:
        """The settings of images or audio, from whichever file has them."""
        if self.preprocessor.get(key) is not None:
            return self.preprocessor
        return _part(self.preprocessor, part) or _part(self.processor, part)


def _type(settings: Settings, key: str) -> str:
    return settings.text(key).removesuffix("Fast").removesuffix("Pil")


class Processor:
    """Counts units and tokens of media as the processor of a checkpoint does.

    Raises MediaError, a ValueError, which says what is wrong or not supported, and what is accepted."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._image: ImageRule | None = None
        self._video: VideoRule | None = None
        self._audio: AudioRule | None = None
        self._rate = 16000
        files = _Files(self.path)
        try:
            self.unread = self._take(files)
        except MediaError as error:
            raise MediaError(f"{self.path}: {error}") from error

    def _take(self, files: _Files) -> tuple[str, ...]:
        owner, processor = files.owner(), Settings(files.processor)
        of_images = files.having(_IMAGE_TYPE, "image_processor")
        of_audio = files.having(_AUDIO_TYPE, "feature_extractor")
        of_videos = files.video or _part(files.processor, "video_processor")
        images, videos = Settings(of_images), Settings(of_videos)
        audio = images if of_images is of_audio else Settings(of_audio)  # one file may be that of both
        if of_images:
            self._image = image_rule(_type(images, _IMAGE_TYPE), Source(images, processor, owner))
            name = _type(images, _IMAGE_TYPE).replace("Image", "Video", 1)
            if not of_videos and name in VIDEO_CLASSES:  # as transformers does
                self._video = video_rule(name, Source(Settings(of_images), processor, owner))
        if of_videos:
            self._video = video_rule(_type(videos, _VIDEO_TYPE), Source(videos, processor, owner))
        if of_audio:
            self._audio = audio_rule(_type(audio, _AUDIO_TYPE), Source(audio, processor, owner))
            self._rate = audio.number("sampling_rate", 16000, 10 ** 6)
        if not (self._image or self._video or self._audio):
            raise MediaError(f'no "{_IMAGE_TYPE}", "{_VIDEO_TYPE}" or "{_AUDIO_TYPE}" says what processor this is')
        named = [(_PREPROCESSOR, images), (_VIDEO, videos), (_PROCESSOR, processor)]
        named += [(_PREPROCESSOR, audio)] if audio is not images else []
        return tuple(f"{file}: {key}" for file, settings in named for key in settings.unread())

    @property
    def two_encoders(self) -> bool:
        """Returns whether there are units of two encoders: images first, then audio."""
        return bool((self._image or self._video) and self._audio)

    @property
    def sampling_rate(self) -> int:
        """Samples a second that recordings are brought to."""
        return self._rate

    def lengths(self, images: Iterable[tuple[int, int]] = (), videos: Iterable[Video] = (),
                audios: Iterable[Audio | float] = ()) -> MediaLengths:
        """images: width and height in pixels; audios: recordings, or their seconds."""
        vision = heard = tokens = 0
        sizes = list(images)
        for width, height in sizes:
            _check(width, height)
            one = _known(self._image, "images")(width, height, len(sizes))
            vision, tokens = vision + one.units, tokens + one.tokens
        for video in videos:
            _check(video.width, video.height)
            if not 1 <= video.frames <= MOST_FRAMES:
                raise MediaError(f"{video.frames} frames of a video: must be 1 to {MOST_FRAMES}")
            one = _known(self._video, "videos")(video)
            vision, tokens = vision + one.units, tokens + one.tokens
        for audio in audios:
            samples = (-(-audio.samples * self._rate // audio.rate) if isinstance(audio, Audio)
                       else round(audio * self._rate))
            if samples < 1:
                raise MediaError("a recording of no samples")
            one = _known(self._audio, "recordings")(samples)
            heard, tokens = heard + one.units, tokens + one.tokens
        return MediaLengths(vision, heard, tokens)


def _check(width: int, height: int) -> None:
    if not (1 <= width <= _MOST_SIDE and 1 <= height <= _MOST_SIDE):
        raise MediaError(f"{width} x {height} pixels: sides must be 1 to {_MOST_SIDE}")


def _known(rule: Any, kind: str) -> Any:
    if rule is None:
        raise MediaError(f"the processor takes no {kind}")
    return rule
