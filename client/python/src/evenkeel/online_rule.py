"""The settings of online packing, given as caps or read from a rule."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Union

# Caps by column, such as {"units": 9, "tokens": 4096}; or an argument of Client.pack_dataset: a rule or a plan.
CapsLike = Union[Mapping[str, int], Any]

# Treatment of a sample over a cap: an error, a pack of its own, or a call of the function, which then owns it.
Oversize = Union[str, Callable[[Any, "tuple[int, ...]"], None]]

MAX_CAP, MAX_WINDOW, MAX_COLUMNS = 1 << 32, 1 << 20, 16
DEFAULT_ORDER_WINDOW = 32  # a window of samples is a random part of the stream already
_RULE_KEYS = {"unit_cap", "token_cap", "unitCap", "tokenCap", "plan", "plan_id", "planId", "batch_rule", "batchRule"}


@dataclasses.dataclass(frozen=True)
class OnlineSettings:
    """Checked settings."""
    columns: tuple[str, ...]
    caps: tuple[int, ...]
    window: int
    ranks: int
    packs_per_rank: int
    seed: int
    order_window: int
    max_wait: int
    oversize: Oversize
    unit_scales: tuple[int, ...] = ()  # of a rule for several encoders: what a unit of each counts for

    def identity(self) -> dict[str, Any]:
        """Returns, as plain values, all that packs depend on."""
        values = dataclasses.asdict(dataclasses.replace(
            self, oversize=self.oversize if isinstance(self.oversize, str) else "function"))
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def integer(name: str, value: Any, least: int, most: int) -> int:
    """Returns `value` as an int. NumPy's integers are taken, bools and floats are not."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is {value!r}: an integer is needed")
    number = value.__index__()
    if not least <= number <= most:
        raise ValueError(f"{name} is {number}: must be {least} to {most}")
    return int(number)


def settings_of(caps: CapsLike, *, window: int, ranks: int | None, packs_per_rank: int | None, seed: int | None,
                order_window: int | None, max_wait: int, oversize: Oversize | None) -> OnlineSettings:
    columns: dict[str, Any]
    scales: tuple[int, ...] = ()
    if isinstance(caps, Mapping) and not _RULE_KEYS & set(caps):
        columns = dict(caps)
    else:
        found = _of_rule(caps)
        columns, scales = found["columns"], found["unit_scales"]
        ranks = ranks if ranks is not None else found["ranks"]
        packs_per_rank = packs_per_rank if packs_per_rank is not None else found["packs_per_rank"]
        seed = seed if seed is not None else found["seed"]
        order_window = order_window if order_window is not None else found["order_window"]
        oversize = oversize if oversize is not None else found["oversize"]
    if not 1 <= len(columns) <= MAX_COLUMNS:
        raise ValueError(f"caps has {len(columns)} columns: 1 to {MAX_COLUMNS} are needed, such as "
                         '{"units": 9, "tokens": 4096}')
    for name in columns:
        if not isinstance(name, str) or not name:
            raise TypeError(f"caps has a column {name!r}: names are strings")
    if oversize is not None and not callable(oversize) and oversize not in ("refuse", "alone"):
        raise ValueError(f'oversize is {oversize!r}: must be "refuse", "alone" or a function that takes the sample')
    return OnlineSettings(
        columns=tuple(columns), caps=tuple(integer(f"caps[{n!r}]", c, 1, MAX_CAP) for n, c in columns.items()),
        window=integer("window", window, 1, MAX_WINDOW),
        ranks=integer("ranks", 1 if ranks is None else ranks, 1, 1 << 20),
        packs_per_rank=integer("packs_per_rank", 1 if packs_per_rank is None else packs_per_rank, 1, 1 << 20),
        seed=integer("seed", 0 if seed is None else seed, -(1 << 63), (1 << 63) - 1),
        order_window=integer("order_window", DEFAULT_ORDER_WINDOW if order_window is None else order_window,
                             1, 10 ** 9),
        max_wait=integer("max_wait", max_wait, 1, 10 ** 6), oversize="refuse" if oversize is None else oversize,
        unit_scales=scales)


def _of_rule(rule: Any) -> dict[str, Any]:
    from . import packing  # loads the messages, which packing by caps does not need
    from .v1 import batching_pb2
    settings = packing.settings_of(rule)
    if settings.groups:
        raise ValueError("the plan has packing groups, which need the lengths of all samples: pass plan.batch_rule, or "
                         "pack them with Client.pack_dataset")
    read = settings.rule
    if read.packer not in (batching_pb2.PACKER_UNSPECIFIED, batching_pb2.PACKER_BALANCED):
        raise ValueError(f"the rule's packer is {batching_pb2.Packer.Name(read.packer)}: online there is only "
                         "PACKER_BALANCED")
    if read.level == batching_pb2.PACK_LEVEL_TIME:
        raise ValueError("the rule's level is PACK_LEVEL_TIME, which needs the lengths of all samples: clear it, or "
                         "pack them with Client.pack_dataset")
    if not read.token_cap:
        raise ValueError("the rule has no token_cap, and a stream has no lengths to derive it from: set it, or take "
                         "the rule of a plan")
    if read.oversize_policy == batching_pb2.OVERSIZE_POLICY_REJECT:
        oversize = None  # who takes the sample is not in the rule
    else:
        oversize = "alone"
    columns = {"units": read.unit_cap, "tokens": read.token_cap} if read.unit_cap else {"tokens": read.token_cap}
    return {"columns": columns, "unit_scales": tuple(read.unit_scales), "ranks": settings.data_parallel or None,
            "packs_per_rank": settings.packs_per_rank or None, "seed": read.seed,
            "order_window": read.order_window or None, "oversize": oversize}
