"""One JSON object of a checkpoint's processor files. It remembers which keys were read.

The same in C++: client/cli/media/settings.cc.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MOST_SIDE, MOST_PIXELS, MOST_TOKENS = 65536, 10 ** 12, 65536

# Keys that change no length: colours, how pixels are interpolated, names of tokens and classes.
_HARMLESS = frozenset("""
_valid_processor_keys audio_bos_token audio_eos_token audio_token auto_map chat_template data_format default_to_square
device disable_grouping dither do_convert_rgb do_normalize do_rescale end_of_image_token fake_image_token
feature_extractor feature_extractor_type feature_size image_break_token image_end_token image_mean image_processor
image_processor_type image_std image_token input_data_format mel_filters n_fft offset padding_side padding_value
patch_token processor_class resample rescale_factor return_attention_mask return_metadata return_row_col_info
return_tensors start_of_image_token tile_x_separator_token tile_y_separator_token tokenizer_class transformers_version
video_metadata video_processor video_processor_type video_token""".split())


class MediaError(ValueError):
    """A setting or a medium that the processor, or this reading of it, does not take."""


class Settings:
    """A member that is null counts as none. All readers raise MediaError that names the key."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self._read: set[str] = set()

    def _find(self, key: str) -> Any:
        self._read.add(key)
        return self._values.get(key)

    def has(self, key: str) -> bool:
        return self._values.get(key) is not None

    def number(self, key: str, otherwise: int, most: int, least: int = 1) -> int:
        value = self._find(key)
        if value is None:
            return otherwise
        if type(value) is not int or not least <= value <= most:
            raise MediaError(f'"{key}" must be an integer of {least} to {most}')
        return value

    def real(self, key: str, otherwise: float) -> float:
        value = self._find(key)
        if value is None:
            return otherwise
        if type(value) not in (int, float) or not 0 < value <= 1e6:
            raise MediaError(f'"{key}" must be a number above 0, at most 1e+06')
        return float(value)

    def flag(self, key: str, otherwise: bool) -> bool:
        value = self._find(key)
        if value is None:
            return otherwise
        if not isinstance(value, bool):
            raise MediaError(f'"{key}" must be true or false')
        return value

    def require(self, key: str, only: bool) -> None:
        if self.flag(key, only) != only:
            raise MediaError(f'"{key}" is not supported yet: give {str(only).lower()}')

    def text(self, key: str) -> str:
        value = self._find(key)
        return value if isinstance(value, str) else ""

    def edge(self, key: str, name: str, otherwise: int, most: int) -> int:
        """The member `name` of the object of sizes `key`."""
        value = self._find(key)
        if value is None:
            return otherwise
        if not isinstance(value, dict) or name not in value:
            raise MediaError(f'"{key}" must be an object with "{name}"')
        return Settings(value).number(name, otherwise, most)

    def side(self, key: str, otherwise: int) -> int:
        """A side that is a number, or the equal height and width of an object, or its shortest edge."""
        value = self._find(key)
        if not isinstance(value, dict):
            return self.number(key, otherwise, MOST_SIDE)
        sides = Settings(value)
        if sides.has("shortest_edge"):
            return sides.number("shortest_edge", otherwise, MOST_SIDE)
        height = sides.number("height", otherwise, MOST_SIDE)
        if sides.number("width", otherwise, MOST_SIDE) != height:
            raise MediaError(f'"{key}" must be as high as wide')
        return height

    def equal_pair(self, key: str, otherwise: int) -> int:
        value = self._find(key)
        if value is None:
            return otherwise
        if not isinstance(value, list) or len(value) != 2 or value[0] != value[1]:
            raise MediaError(f'"{key}" must be an array of two equal integers')
        return Settings({key: value[0]}).number(key, otherwise, MOST_SIDE)

    def pairs(self, key: str, otherwise: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        value = self._find(key)
        if value is None:
            return list(otherwise)
        good = isinstance(value, list) and 0 < len(value) <= 1024 and all(
            isinstance(pair, list) and len(pair) == 2 and
            all(type(side) is int and 1 <= side <= MOST_SIDE for side in pair) for pair in value)
        if not good:
            raise MediaError(f'"{key}" must be an array of [height, width], 1 to {MOST_SIDE} each')
        return [(pair[0], pair[1]) for pair in value]

    def unread(self) -> list[str]:
        """Keys that were not read and may change lengths."""
        return sorted(key for key, value in self._values.items()
                      if value is not None and key not in self._read and key not in _HARMLESS)
