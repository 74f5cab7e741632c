"""Reads lengths of samples with images, videos and recordings, by a checkpoint's processor.

Samples come from any of these sources, which are recognised by their content:
- a folder of images, videos and recordings, also in folders below: each file is a sample;
- a JSON array or JSON Lines, one record a sample: "text_tokens", and "images", "videos", "audios" (or "image", "video",
  "audio"): paths from the file's folder, or sizes: [width, height] of an image, {"width": 1280, "height": 720,
  "frames": 240, "fps": 24} of a video, seconds of a recording;
- Parquet, Arrow (IPC file or stream), or a folder of Hugging Face `save_to_disk`: the same as columns; media are bytes,
  or {"bytes", "path"} (extra "parquet");
- a WebDataset tar: files with the same name up to the first dot are a sample, and its .json may hold the keys above.

Only headers of media are read (extras "images" and "audio"). "text_tokens" are the tokens of a sample's text,
without those that stand for the media. If the data do not have them, the caller must give them.
"""
from __future__ import annotations

import dataclasses
import json
import os
import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any

import numpy as np

from . import media_headers as headers
from .lengths import LengthFileError, Path, SampleLengths, _arrow, from_columns
from .processor import Audio, MediaError, MediaLengths, Processor
from .video_rules import Video

_KINDS = {"images": ("images", "image"), "videos": ("videos", "video"), "audios": ("audios", "audio")}
_ROOT, _FAULTS = "\0root", "\0faults"  # of a record: the folder of its paths, and members that cannot be read
_BATCH = 64  # rows of a table whose media are in memory at a time
_Sample = tuple[str, dict[str, Any]]  # place, and a record


@dataclasses.dataclass(frozen=True, eq=False)
class MediaSampleLengths(SampleLengths):
    """Samples in the order of their files. units: (N, 2) of a processor of images and audio, in this order."""
    bad: tuple[tuple[str, str], ...] = ()  # samples that were left out: where, and why


def read_media_lengths(paths: Path | Sequence[Path], processor: Processor | Path, *, text_tokens: int | None = None,
                       skip_bad: bool = False) -> MediaSampleLengths:
    """Reads files and folders, one after the other.

    text_tokens: tokens of text of samples without such a count.
    skip_bad: leave out samples with a medium that cannot be read, and list them in `bad`, instead of raising.
    """
    given: Sequence[Path] = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    if not given:
        raise LengthFileError("no files")
    if text_tokens is not None and text_tokens < 0:
        raise LengthFileError(f"text_tokens must be at least 0, not {text_tokens}")
    known = processor if isinstance(processor, Processor) else Processor(processor)
    tokens: list[int] = []
    units: list[tuple[int, int]] = []
    loss: list[int] = []
    bad: list[tuple[str, str]] = []
    parts = []
    names = [os.fspath(path) for path in given]
    for name in names:
        before = len(tokens), len(bad)
        for place, record in _samples(name):
            try:
                one, text = _lengths_of(known, record, text_tokens)
            except MediaError as error:
                if not skip_bad:
                    raise LengthFileError(f"{place}: {error}") from error
                bad.append((place, str(error)))
                continue
            tokens.append(text + one.tokens)
            units.append((one.vision_units, one.audio_units))
            if record.get("loss_tokens") is not None:
                loss.append(record["loss_tokens"])
            if loss and len(loss) != len(tokens):
                raise LengthFileError(f'{place}: "loss_tokens" must be given for all samples or for none')
        if (len(tokens), len(bad)) == before:
            raise LengthFileError(f"{name} holds no samples")
        parts.append((name, len(tokens) - before[0]))
    if not tokens:
        raise LengthFileError(f"all {len(bad)} samples are bad; the first, {bad[0][0]}: {bad[0][1]}")
    columns = np.array(units, np.int64)
    checked = from_columns(np.array(tokens, np.int64), columns if known.two_encoders else columns.sum(axis=1),
                           np.array(loss, np.int64) if loss else None, name=", ".join(names))
    return MediaSampleLengths(checked.tokens, checked.units, checked.loss_tokens, tuple(parts), tuple(bad))


def _lengths_of(processor: Processor, record: dict[str, Any], text_tokens: int | None) -> tuple[MediaLengths, int]:
    text = record.get("text_tokens", text_tokens)
    if text is None:
        raise LengthFileError('no "text_tokens": a sample needs the tokens of its text, without those of its media: '
                              "in the data, or one number for all by text_tokens (--text-tokens)")
    if type(text) is not int or text < 0:
        raise LengthFileError(f'"text_tokens" is {text!r}: an integer of at least 0 is needed')
    if record.get(_FAULTS):
        raise MediaError(record[_FAULTS][0])
    root = record.get(_ROOT, "")
    return processor.lengths(
        images=[_image(item, root) for item in _items(record, "images")],
        videos=[_video(item, root) for item in _items(record, "videos")],
        audios=[_audio(item, root) for item in _items(record, "audios")]), text


def _items(record: dict[str, Any], kind: str) -> list[Any]:
    for key in _KINDS[kind]:
        value = record.get(key)
        if value is None:
            continue
        single_size = kind == "images" and isinstance(value, (list, tuple)) and len(value) == 2 and all(
            type(side) is int for side in value)
        return list(value) if isinstance(value, (list, tuple)) and not single_size else [value]
    return []


def _opened(item: Any, root: str) -> IO[bytes] | None:
    """The file or the bytes of a medium, or None if it is told by its sizes."""
    if isinstance(item, dict) and ("bytes" in item or "path" in item):
        item = item["bytes"] if item.get("bytes") is not None else item.get("path")
    if isinstance(item, bytes):
        return headers.from_bytes(item)
    if isinstance(item, str):
        try:
            return open(os.path.join(root, item), "rb")
        except OSError as error:
            raise MediaError(f"{item}: {error.strerror or error}") from error
    return item if hasattr(item, "read") else None


def _measured(file: IO[bytes], item: Any, measure: Callable[[IO[bytes]], Any]) -> Any:
    with file:
        try:
            return measure(file)
        except MediaError as error:
            path = item.get("path") if isinstance(item, dict) else item
            raise MediaError(f"{path}: {error}" if isinstance(path, str) else str(error)) from error


def _image(item: Any, root: str) -> tuple[int, int]:
    file = _opened(item, root)
    if file is not None:
        width, height = _measured(file, item, headers.image_size)
        return width, height
    sides = [item.get("width"), item.get("height")] if isinstance(item, dict) else item
    if not isinstance(sides, (list, tuple)) or len(sides) != 2 or any(type(side) is not int for side in sides):
        raise MediaError(f"{item!r} is no image: a path, bytes, or [width, height] in pixels are accepted")
    return sides[0], sides[1]


def _number(item: dict[str, Any], key: str, whole: bool) -> Any:
    value = item.get(key)
    if value is not None and (type(value) not in ((int,) if whole else (int, float)) or not 0 < value <= 10 ** 12):
        raise MediaError(f'"{key}" is {value!r}: {"an integer" if whole else "a number"} above 0 is needed')
    return value


def _video(item: Any, root: str) -> Video:
    file = _opened(item, root)
    if file is not None:
        video = _measured(file, item, headers.video_length)
        assert isinstance(video, Video)
        return video
    if not isinstance(item, dict):
        raise MediaError(f"{item!r} is no video: a path, bytes, or an object of its sizes are accepted")
    width, height, frames = (_number(item, key, True) for key in ("width", "height", "frames"))
    fps, seconds = _number(item, "fps", False), _number(item, "seconds", False)
    if frames is None and fps and seconds:
        frames = round(fps * seconds)
    if width is None or height is None or frames is None:
        raise MediaError('a video needs "width", "height", and two of "frames", "fps" and "seconds"')
    return Video(width, height, frames, fps, seconds)


def _audio(item: Any, root: str) -> Audio | float:
    file = _opened(item, root)
    if file is not None:
        audio = _measured(file, item, headers.audio_length)
        assert isinstance(audio, Audio)
        return audio
    told = item if isinstance(item, dict) else {"seconds": item}
    samples, rate = _number(told, "samples", True), _number(told, "rate", True)
    seconds = _number(told, "seconds", False)
    if samples and rate and not seconds:
        return Audio(samples, rate)
    if not seconds or samples or rate:
        raise MediaError(f'{item!r} is no recording: a path, bytes, seconds, or "samples" and "rate" are accepted')
    return float(seconds)


def _samples(name: str) -> Iterator[_Sample]:
    if os.path.isdir(name):
        state = os.path.join(name, "state.json")
        return _saved_to_disk(name, state) if os.path.exists(state) else _folder(name)
    with open(name, "rb") as file:
        head = file.read(512)
    if not head:
        raise LengthFileError(f"{name} is empty")
    if head[:4] == b"PAR1":
        return _parquet(name)
    if head[:6] == b"ARROW1":
        return _arrow_batches(name, "open_file")
    if head[:4] == b"\xff\xff\xff\xff":
        return _arrow_batches(name, "open_stream")
    if head[257:262] == b"ustar" or name.endswith((".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.xz")):
        return _tar(name, compressed=head[257:262] != b"ustar")
    if head.lstrip()[:1] in (b"[", b"{"):
        return _json(name, head.lstrip()[:1] == b"[")
    raise LengthFileError(f"{name} holds no samples with media: a folder, JSON, JSON Lines, Parquet, Arrow or a tar is "
                          "needed")


def _kind_of(path: str) -> str | None:
    suffix = headers.suffix(path)
    if suffix in headers.IMAGE_SUFFIXES:
        return "images"
    if suffix in headers.VIDEO_SUFFIXES:
        return "videos"
    if suffix in headers.AUDIO_SUFFIXES:
        return "audios"
    if suffix in headers.OTHER_MEDIA_SUFFIXES:
        raise MediaError(f"{suffix} files cannot be read: give sizes in a JSON file")
    return None


def _folder(name: str) -> Iterator[_Sample]:
    for folder, inner, files in os.walk(name):
        inner.sort()
        for file in sorted(files):
            path = os.path.join(folder, file)
            try:
                kind = _kind_of(file)
            except MediaError:
                kind = "videos"  # to be refused where it is read, by its name
            if kind is not None:
                yield path, {kind: [path]}


def _json(name: str, is_array: bool) -> Iterator[_Sample]:
    root = os.path.dirname(name)
    with open(name, encoding="utf-8") as file:
        try:
            lines: Iterable[Any] = json.load(file) if is_array else file
        except ValueError as error:
            raise LengthFileError(f"{name}: not JSON: {error}") from error
        for number, line in enumerate(lines, 0 if is_array else 1):
            place = f"{name}: record {number}" if is_array else f"{name}:{number}"
            record = line
            if not is_array:
                if not line.strip():
                    continue
                try:
                    record = json.loads(line)
                except ValueError as error:
                    raise LengthFileError(f"{place}: not JSON: {error}") from error
            if not isinstance(record, dict):
                raise LengthFileError(f"{place}: a record must be an object")
            yield place, {**record, _ROOT: root}


_COLUMNS = [*(key for keys in _KINDS.values() for key in keys), "text_tokens", "loss_tokens"]


def _rows(name: str, first: int, batch: Any) -> Iterator[_Sample]:
    names = [key for key in batch.schema.names if key in _COLUMNS]
    if not any(key in names for keys in _KINDS.values() for key in keys):
        raise LengthFileError(f"{name} has no column of media ({', '.join(_COLUMNS[:-2])}); its columns: "
                              f"{', '.join(batch.schema.names)}")
    for number, row in enumerate(batch.select(names).to_pylist(), first):
        yield f"{name}: row {number}", {**row, _ROOT: os.path.dirname(name)}


def _parquet(name: str) -> Iterator[_Sample]:
    """Reads a few rows at a time: media are bytes of the table, and all of them pass through."""
    try:
        file = _arrow("parquet").ParquetFile(name)
        first = 0
        columns = [key for key in file.schema_arrow.names if key in _COLUMNS]
        for batch in file.iter_batches(batch_size=_BATCH, columns=columns or None):
            yield from _rows(name, first, batch)
            first += batch.num_rows
    except (ValueError, OSError) as error:  # pyarrow's errors are of these classes
        raise error if isinstance(error, LengthFileError) else LengthFileError(f"{name}: {error}") from error


def _arrow_batches(name: str, opener: str) -> Iterator[_Sample]:
    """Maps the file: rows of large batches are sliced, so that only a few are copied at a time."""
    try:
        with _arrow("lib").memory_map(name) as source:
            table = getattr(_arrow("ipc"), opener)(source).read_all()
            first = 0
            for batch in table.to_batches(max_chunksize=_BATCH):
                yield from _rows(name, first, batch)
                first += batch.num_rows
    except (ValueError, OSError) as error:
        raise error if isinstance(error, LengthFileError) else LengthFileError(f"{name}: {error}") from error


def _saved_to_disk(name: str, state_path: str) -> Iterator[_Sample]:
    try:
        with open(state_path, encoding="utf-8") as file:
            state = json.load(file)
        paths = [os.path.join(name, entry["filename"]) for entry in state["_data_files"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LengthFileError(f"{name} is no folder of Hugging Face's save_to_disk: {error}") from error
    if state.get("_indices_files"):
        raise LengthFileError(f"{name} has an order of its own: save dataset.flatten_indices()")
    for path in paths:
        yield from _arrow_batches(path, "open_stream")


def _tar(name: str, compressed: bool) -> Iterator[_Sample]:
    """Reads members in order. In a tar that is not compressed only headers of media are read."""
    record: dict[str, Any] = {}
    key = None
    try:
        with tarfile.open(name, "r|*" if compressed else "r:") as tar:
            for member in tar:
                if not member.isfile():
                    continue
                folder, base = os.path.split(member.name)
                of = os.path.join(folder, base.split(".", 1)[0])
                if of != key and record:
                    yield f"{name}: {key}", record
                    record = {}
                key = of
                _take_member(name, tar, member, record, compressed)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise LengthFileError(f"{name}: {error}") from error
    if record:
        yield f"{name}: {key}", record


def _take_member(name: str, tar: tarfile.TarFile, member: tarfile.TarInfo, record: dict[str, Any],
                 compressed: bool) -> None:
    """Adds a member to its sample. Media are measured at once, since a stream does not come back."""
    file = tar.extractfile(member)
    assert file is not None
    if member.name.endswith(".json"):
        try:
            told = json.load(file)
        except ValueError as error:
            raise LengthFileError(f"{name}: {member.name}: not JSON: {error}") from error
        if isinstance(told, dict):
            record.update({k: v for k, v in told.items() if k in ("text_tokens", "loss_tokens")})
        return
    try:
        kind = _kind_of(member.name)
        if kind is None:
            return
        source = headers.from_bytes(file.read()) if compressed else file
        measure: Any = {"images": headers.image_size, "videos": headers.video_length, "audios": headers.audio_length}
        found = measure[kind](source)
        record.setdefault(kind, []).append(found._asdict() if isinstance(found, (Video, Audio)) else found)
    except MediaError as error:
        record.setdefault(_FAULTS, []).append(f"{member.name}: {error}")
