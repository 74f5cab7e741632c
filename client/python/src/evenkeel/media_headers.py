"""Sizes of images, videos and recordings from their headers. Pixels and samples are not decoded.

Images: Pillow (extra "images"), whose Image.open reads headers only. Recordings: soundfile (extra "audio": WAV, FLAC,
Ogg, MP3). MP4 and QuickTime are read here: libraries that know their frames (PyAV, MediaInfo) bring codecs of tens of
megabytes, and light ones (tinytag, mutagen) tell neither frames nor sizes.
"""
from __future__ import annotations

import importlib
import io
import os
import struct
from collections.abc import Iterator
from typing import IO, Any

from .media_settings import MediaError
from .processor import Audio
from .video_rules import Video

IMAGE_SUFFIXES = frozenset((".avif", ".bmp", ".gif", ".jpeg", ".jpg", ".jfif", ".jp2", ".png", ".ppm", ".tif", ".tiff",
                            ".webp"))
VIDEO_SUFFIXES = frozenset((".mp4", ".m4v", ".mov"))
AUDIO_SUFFIXES = frozenset((".wav", ".flac", ".ogg", ".opus", ".mp3", ".aiff", ".aif"))
OTHER_MEDIA_SUFFIXES = frozenset((".mkv", ".webm", ".avi", ".m4a", ".aac", ".heic", ".wmv", ".flv"))

_ORIENTATION = 0x0112  # of EXIF; from 5 on width and height change places


def suffix(name: str) -> str:
    return os.path.splitext(name)[1].lower()


def _module(name: str, needed: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{needed} need {name.split('.')[0]}: pip install 'evenkeel[{extra}]'") from error


def image_size(file: IO[bytes]) -> tuple[int, int]:
    """Width and height as transformers and datasets load the image: turned as EXIF says."""
    pillow = _module("PIL.Image", "images", "images")
    try:
        with pillow.open(file) as image:
            width, height = image.size
            # Pillow would decode a PNG to look for EXIF after its pixels.
            turned = "exif" in image.info and image.getexif().get(_ORIENTATION, 1) in (5, 6, 7, 8)
    except pillow.DecompressionBombError as error:
        raise MediaError(f"{error}") from error
    except (OSError, ValueError, SyntaxError, struct.error) as error:
        raise MediaError(f"no image that Pillow can read: {error}") from error
    return (height, width) if turned else (width, height)


def audio_length(file: IO[bytes]) -> Audio:
    soundfile = _module("soundfile", "recordings", "audio")
    try:
        with soundfile.SoundFile(file) as recording:
            return Audio(int(recording.frames), int(recording.samplerate))
    except (RuntimeError, OSError, ValueError, TypeError) as error:  # soundfile's errors are RuntimeErrors
        raise MediaError(f"no recording that soundfile can read: {error}") from error


def _boxes(file: IO[bytes], end: int) -> Iterator[tuple[bytes, int]]:
    """The type of each box up to `end`, and where it ends. The file is at the content of the box."""
    at = file.tell()
    while at + 8 <= end:
        file.seek(at)
        size, kind = struct.unpack(">I4s", file.read(8))
        if size == 1:
            size = struct.unpack(">Q", file.read(8))[0]
        box_end = end if size == 0 else at + size
        if box_end < file.tell() or box_end > end:
            raise MediaError(f"box {kind!r} of {size} bytes reaches beyond the file: it is cut off or damaged")
        yield kind, box_end
        at = box_end


def _track(file: IO[bytes], end: int) -> dict[str, Any]:
    """Handler, duration in seconds, frames and sides of a track."""
    told: dict[str, Any] = {}
    containers = (b"mdia", b"minf", b"stbl")
    for kind, box_end in _boxes(file, end):
        if kind in containers:  # QuickTime's minf has a handler of its own, of the data: the track's goes before it
            told = {**_track(file, box_end), **told} if kind == b"minf" else {**told, **_track(file, box_end)}
            continue
        if kind not in (b"hdlr", b"mdhd", b"stsz", b"tkhd", b"stsd"):
            continue
        body = file.read(min(box_end - file.tell(), 256))
        if kind == b"hdlr":
            told["handler"] = body[8:12]
        elif kind == b"mdhd":
            scale, duration = struct.unpack(">IQ", body[20:32]) if body[0] == 1 else struct.unpack(">II", body[12:20])
            told["seconds"] = duration / scale if scale else 0.0
        elif kind == b"stsz":
            told["frames"] = struct.unpack(">I", body[8:12])[0]
        elif kind == b"stsd" and len(body) >= 44:  # the first entry's visual sizes
            told["width"], told["height"] = struct.unpack(">HH", body[40:44])
    return told


def video_length(file: IO[bytes]) -> Video:
    """Of MP4 and QuickTime. Sides are those of the stored frames: a rotation is not applied."""
    end = file.seek(0, os.SEEK_END)
    file.seek(0)
    try:
        for kind, box_end in _boxes(file, end):
            if kind != b"moov":
                continue
            for inner, inner_end in _boxes(file, box_end):
                track = _track(file, inner_end) if inner == b"trak" else {}
                if track.get("handler") != b"vide":
                    continue
                frames, seconds = track.get("frames", 0), track.get("seconds", 0.0)
                if not frames or not seconds or not track.get("width") or not track.get("height"):
                    raise MediaError("the header tells no frames, duration or sides (a fragmented MP4?): give sizes in "
                                     "a JSON file")
                return Video(track["width"], track["height"], frames, frames / seconds, seconds)
    except (struct.error, IndexError) as error:
        raise MediaError(f"a damaged MP4 or QuickTime header: {error}") from error
    raise MediaError("no MP4 or QuickTime file with a video track")


def from_bytes(data: bytes) -> IO[bytes]:
    return io.BytesIO(data)
