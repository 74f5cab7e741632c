"""Reads sample lengths, from the files that `evenkeelctl stats` and `pack` read and from columns, too.

The content of a file decides, not its name:
- a JSON array of records, as OmniBal ships them: {"vit_num": 5, "token_num": 1341, "image_flags": 5};
- JSON Lines: one record a line;
- NumPy .npy of integers: (N,) tokens, (N, 2) units and tokens, or (N, 1 + encoders) with a column of units for each;
- Parquet, Arrow (IPC file or stream), or a folder of Hugging Face `save_to_disk`: columns (extra "parquet").

Tokens, visual ones included: "token_num", "llm_tokens" or "length" ("lengths" too in columns). Units (tiles): "vit_num"
or "units", in JSON also an array with one for each encoder of the model. "loss_tokens": how many of the tokens have a
loss. Other keys are ignored. A negative length is LLaVA's mark of a sample without image: its tokens are the absolute
value, and it has no units.
"""
from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, Union

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]
Path = Union[str, "os.PathLike[str]"]

TOKEN_KEYS = ("token_num", "llm_tokens", "length")
UNIT_KEYS = ("vit_num", "units")
LOSS_KEY = "loss_tokens"
MAX_TOKENS, MAX_UNITS, MAX_ENCODERS = 1 << 24, 10 ** 6, 4  # per sample, limits of the contract


class LengthFileError(ValueError):
    """A file that cannot be read. The message names file, line and record of the first fault."""


@dataclasses.dataclass(frozen=True, eq=False)
class SampleLengths:
    """Samples one by one, in the order of their files."""
    tokens: Int64s
    units: Int64s  # (N, encoders) where there are several
    loss_tokens: Int64s | None  # None if all tokens have a loss
    parts: tuple[tuple[str, int], ...] = ()  # file and number of samples

    def __len__(self) -> int:
        return self.tokens.size


def from_columns(tokens: npt.ArrayLike, units: npt.ArrayLike | None = None, loss_tokens: npt.ArrayLike | None = None, *,
                 image_units: int | None = None, name: str = "samples") -> SampleLengths:
    """Checks columns, such as `dataset["length"]` of a Hugging Face dataset, and reads LLaVA's sign.

    image_units: units of a sample that has an image according to LLaVA's sign, if there is no column of units.
    """
    token_values = _column(name, "tokens", tokens)
    marked = token_values < 0
    unit_values = np.zeros(token_values.size, np.int64) if units is None else _unit_columns(name, units)
    if len(unit_values) != token_values.size:
        raise LengthFileError(f"{name}: {len(unit_values)} units for {token_values.size} samples")
    if image_units is not None:
        if units is not None:
            raise LengthFileError(f"{name}: image_units does not go with a column of units")
        unit_values = np.where(marked, 0, image_units).astype(np.int64)
    some_units = unit_values > 0 if unit_values.ndim == 1 else (unit_values > 0).any(axis=1)
    _refuse(name, marked & some_units, token_values, "negative tokens say that there is no image, but units do")
    token_values = np.abs(token_values)
    _refuse(name, (token_values < 1) | (token_values > MAX_TOKENS), token_values,
            f"tokens must be 1 to {MAX_TOKENS}")
    for column in unit_values.reshape(token_values.size, -1).T:
        _refuse(name, (column < 0) | (column > MAX_UNITS), column, f"units must be 0 to {MAX_UNITS}")
    loss_values = None
    if loss_tokens is not None:
        loss_values = _column(name, LOSS_KEY, loss_tokens)
        if loss_values.size != token_values.size:
            raise LengthFileError(f"{name}: {loss_values.size} loss_tokens for {token_values.size} samples")
        _refuse(name, (loss_values < 0) | (loss_values > token_values), loss_values,
                "loss_tokens must be 0 to the sample's tokens")
    return SampleLengths(token_values, unit_values, loss_values)


def whole_column(values: Any) -> Any:
    """Reads, in one go, a column that reads its items from storage one by one, such as one of a Hugging Face
    dataset."""
    if isinstance(values, Sequence) and not isinstance(values, (list, tuple, range, str)):
        return values[:]
    return values


def _column(name: str, what: str, values: npt.ArrayLike) -> Int64s:
    try:
        array = np.asarray(whole_column(values))
    except (TypeError, ValueError) as error:
        raise LengthFileError(f"{name}: {what} are no integers: {error}") from error
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise LengthFileError(f"{name}: {what} have dtype {array.dtype} and shape {array.shape}: one integer per "
                              "sample is needed")
    return array.astype(np.int64)


def _unit_columns(name: str, values: npt.ArrayLike) -> Int64s:
    """Reads units of one encoder, or a column for each of several."""
    array = np.asarray(whole_column(values))
    if array.ndim != 2 or not 1 <= array.shape[1] <= MAX_ENCODERS:
        return _column(name, "units", array)
    flat = _column(name, "units", array.reshape(-1))
    return flat if array.shape[1] == 1 else flat.reshape(array.shape)


def _join_units(parts: Sequence[SampleLengths], names: Sequence[str]) -> Int64s:
    """Joins units of files. One without units goes with any number of encoders."""
    widths = {name: part.units.shape[1] if part.units.ndim == 2 else 1
              for name, part in zip(names, parts) if part.units.ndim == 2 or part.units.any()}
    width = max(widths.values(), default=1)
    for name, other in widths.items():
        if other != width:
            raise LengthFileError(f"{name}: units of {other} encoder{'' if other == 1 else 's'}, but another file has "
                                  f"those of {width}")
    if width == 1:
        return np.concatenate([part.units for part in parts])
    return np.concatenate([part.units if part.units.ndim == 2 else np.zeros((len(part), width), np.int64)
                           for part in parts])


def _refuse(name: str, bad: npt.NDArray[np.bool_], values: Int64s, what: str) -> None:
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise LengthFileError(f"{name}: record {at}: {what}, not {values[at]}")


def read_lengths(paths: Path | Sequence[Path], *, column: str | None = None, units_column: str | None = None,
                 image_units: int | None = None) -> SampleLengths:
    """Reads files, one after the other. column, units_column: names of columns (or keys) other than the usual ones."""
    given: Sequence[Path] = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    names = [os.fspath(path) for path in given]
    if not names:
        raise LengthFileError("no files")
    parts = [_read_one(name, column, units_column, image_units) for name in names]
    with_loss = [p.loss_tokens is not None for p in parts]
    if any(with_loss) and not all(with_loss):
        raise LengthFileError(f"{names[with_loss.index(False)]}: loss_tokens must be given for all samples or for none")
    return SampleLengths(
        np.concatenate([p.tokens for p in parts]), _join_units(parts, names),
        np.concatenate([p.loss_tokens for p in parts if p.loss_tokens is not None]) if all(with_loss) else None,
        tuple((name, len(part)) for name, part in zip(names, parts)))


def _read_one(name: str, column: str | None, units_column: str | None, image_units: int | None) -> SampleLengths:
    if os.path.isdir(name):
        columns = _hugging_face_folder(name, column, units_column)
    else:
        with open(name, "rb") as file:
            head = file.read(4096)
            file.seek(0)
            columns = _read_file(name, head, file, column, units_column)
    tokens, units, loss = columns
    if len(tokens) == 0:
        raise LengthFileError(f"{name} holds no samples")
    return from_columns(tokens, units, loss, image_units=image_units, name=name)


_Columns = tuple[Any, Any, Any]  # tokens, units or None, loss tokens or None


def _read_file(name: str, head: bytes, file: IO[bytes], column: str | None, units_column: str | None) -> _Columns:
    if not head:
        raise LengthFileError(f"{name} is empty")
    if head[:2] == b"\x1f\x8b":
        raise LengthFileError(f"{name} is compressed: decompress it first")
    if head[:6] == b"\x93NUMPY":
        return _npy(name, file)
    if head[:4] == b"PAR1":
        return _parquet(name, column, units_column)
    if head[:6] == b"ARROW1":
        return _arrow_table(name, "open_file", column, units_column)
    if head[:4] == b"\xff\xff\xff\xff":
        return _arrow_table(name, "open_stream", column, units_column)
    first = head.lstrip()[:1]
    if first == b"[":
        return _records(name, _json_array(name, file), column, units_column)
    if first == b"{":
        return _records(name, _json_lines(name, file), column, units_column)
    raise LengthFileError(f"{name} is not a length file: neither JSON array, JSON Lines, .npy, Parquet nor Arrow")


def _npy(name: str, file: IO[bytes]) -> _Columns:
    try:
        array = np.load(file, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise LengthFileError(f"{name}: {error}") from error
    if not np.issubdtype(array.dtype, np.integer):
        raise LengthFileError(f"{name}: dtype {array.dtype}: integers are needed, convert with .astype('<i8')")
    if array.ndim == 1:
        return array, None, None
    if array.ndim == 2 and 2 <= array.shape[1] <= 1 + MAX_ENCODERS:
        return array[:, -1], array[:, :-1], None
    raise LengthFileError(f"{name}: shape {array.shape}: (N,) tokens, (N, 2) units and tokens, or a column of units "
                          f"for each of up to {MAX_ENCODERS} encoders are needed")


_Record = tuple[int, Any]  # line (0 if there is none) and record


def _json_array(name: str, file: IO[bytes]) -> Iterator[_Record]:
    try:
        values = json.load(file)
    except ValueError as error:
        raise LengthFileError(f"{name}: not JSON: {error}") from error
    return ((0, value) for value in values)


def _json_lines(name: str, file: IO[bytes]) -> Iterator[_Record]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except ValueError as error:
            raise LengthFileError(f"{name}:{number}: not JSON: {error}") from error


def _records(name: str, records: Iterable[_Record], column: str | None, units_column: str | None) -> _Columns:
    token_keys = (column,) if column else TOKEN_KEYS
    unit_keys = (units_column,) if units_column else UNIT_KEYS
    tokens: list[int] = []
    units: list[list[int]] = []
    loss: list[int] = []
    any_units, width = False, 0
    for line, record in records:
        place = f"{name}:{line}: record {len(tokens)}" if line else f"{name}: record {len(tokens)}"
        if not isinstance(record, dict):
            raise LengthFileError(f"{place}: a record must be an object")
        tokens.append(_value(place, record, token_keys, None))
        row = _units(place, record, unit_keys)
        units.append(row)
        if len(row) > 1 or row[0] != 0:  # a number of 0 says nothing about the encoders
            if width not in (0, len(row)):
                raise LengthFileError(f"{place}: units of {len(row)} encoder{'' if len(row) == 1 else 's'}, but "
                                      f"samples before it have those of {width}")
            width = len(row)
        any_units = any_units or any(key in record for key in unit_keys)
        if LOSS_KEY in record:
            loss.append(_value(place, record, (LOSS_KEY,), None))
        if loss and len(loss) != len(tokens):
            raise LengthFileError(f'{place}: "{LOSS_KEY}" must be given for all samples or for none')
    rows = [row if len(row) >= width else [0] * width for row in units]
    return np.array(tokens, np.int64), np.array(rows, np.int64) if any_units else None, (
        np.array(loss, np.int64) if loss else None)


def _units(place: str, record: dict[str, Any], keys: Sequence[str]) -> list[int]:
    given = [key for key in keys if isinstance(record.get(key), list)]
    if not given:
        return [_value(place, record, keys, 0)]
    values = record[given[0]]
    if not 1 <= len(values) <= MAX_ENCODERS:
        raise LengthFileError(f'{place}: "{given[0]}" must be an integer, or an array of 1 to {MAX_ENCODERS}: one for '
                              "each encoder")
    return [_value(place, {**record, given[0]: value}, keys, 0) for value in values]


def _value(place: str, record: dict[str, Any], keys: Sequence[str], default: int | None) -> int:
    found = [key for key in keys if key in record]
    if len(found) > 1:
        raise LengthFileError(f'{place}: "{found[1]}" says again what "{found[0]}" said')
    if not found:
        if default is None:
            names = " or ".join(f'"{key}"' for key in keys)
            raise LengthFileError(f"{place}: no tokens: {names} is needed")
        return default
    value = record[found[0]]
    if type(value) is not int or not -(1 << 62) < value < 1 << 62:
        raise LengthFileError(f'{place}: "{found[0]}" is {value!r}: an integer is needed')
    return value


def _arrow(module: str) -> Any:
    try:
        import importlib
        return importlib.import_module("pyarrow." + module)
    except ImportError as error:
        raise LengthFileError("Parquet and Arrow need pyarrow: pip install 'evenkeel[parquet]'") from error


def _hugging_face_folder(name: str, column: str | None, units_column: str | None) -> _Columns:
    """Reads a dataset of `save_to_disk`. Its state.json lists the Arrow streams."""
    try:
        with open(os.path.join(name, "state.json"), encoding="utf-8") as file:
            state = json.load(file)
        files = [os.path.join(name, entry["filename"]) for entry in state["_data_files"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        if os.path.exists(os.path.join(name, "dataset_dict.json")):
            raise LengthFileError(f"{name} holds several splits: name one, such as {os.path.join(name, 'train')}"
                                  ) from error
        raise LengthFileError(f"{name} is no folder of Hugging Face's save_to_disk: {error}") from error
    if state.get("_indices_files"):
        raise LengthFileError(f"{name} has an order of its own: save dataset.flatten_indices()")
    tables = [_arrow_table(path, "open_stream", column, units_column) for path in files]
    return tuple(None if any(t[i] is None for t in tables) else  # type: ignore[return-value]
                 np.concatenate([t[i] for t in tables]) for i in range(3))


def _parquet(name: str, column: str | None, units_column: str | None) -> _Columns:
    """Reads only the columns of lengths, because other columns may hold terabytes."""
    parquet = _arrow("parquet")
    try:
        file = parquet.ParquetFile(name)
        wanted = {column, units_column, *TOKEN_KEYS, "lengths", *UNIT_KEYS, LOSS_KEY}
        columns = [at for at in file.schema_arrow.names if at in wanted]
        table = file.read(columns=columns)
    except (ValueError, OSError) as error:  # pyarrow's errors are of these classes
        raise LengthFileError(f"{name}: {error}") from error
    return _table_columns(name, table, column, units_column, file.schema_arrow.names)


def _arrow_table(name: str, opener: str, column: str | None, units_column: str | None) -> _Columns:
    """Maps the file, so that nothing of the other columns is read."""
    ipc = _arrow("ipc")
    try:
        with _arrow("lib").memory_map(name) as source:
            table = getattr(ipc, opener)(source).read_all()
            return _table_columns(name, table, column, units_column, table.column_names)
    except LengthFileError:
        raise
    except (ValueError, OSError) as error:
        raise LengthFileError(f"{name}: {error}") from error


def _table_columns(name: str, table: Any, column: str | None, units_column: str | None,
                   all_names: Sequence[str]) -> _Columns:
    def values(keys: Sequence[str], needed: bool) -> Any:
        found = [key for key in keys if key in table.column_names]
        if len(found) > 1:
            raise LengthFileError(f'{name}: columns "{found[0]}" and "{found[1]}" say the same: name one')
        if not found:
            if needed:
                raise LengthFileError(f"{name} has no column of lengths ({', '.join(keys)}); its columns: "
                                      f"{', '.join(all_names)}")
            return None
        data = table.column(found[0])
        if data.null_count:
            raise LengthFileError(f'{name}: column "{found[0]}" has {data.null_count} nulls')
        if not str(data.type).startswith(("int", "uint")):
            raise LengthFileError(f'{name}: column "{found[0]}" has type {data.type}: one integer per sample is needed')
        return data.to_numpy()
    return (values((column,) if column else (*TOKEN_KEYS, "lengths"), True),
            values((units_column,) if units_column else UNIT_KEYS, bool(units_column)), values((LOSS_KEY,), False))
