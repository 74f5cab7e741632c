"""Presets for XTuner v1: the folder that its PresetPackDataset and PresetSampler read.

`evenkeelctl pack --xtuner` writes the same files. Rules, from XTuner's xtuner/v1/datasets/preset_pack.py and
preset_sampler.py:
- boundaries.npy: int64, packs + 1: pack p holds the rows boundaries[p] to boundaries[p + 1] of
- samples.npy: int64, N x 6: path_id, sample_idx, char_start, char_end, token_start, token_end; -1 for both char
  columns: a whole sample, no slice of a long text;
- paths.json: the name of each path_id, as the datasets of the run are called;
- order.npy: packs in the order of training; cut to a multiple of the global batch, and rank r of R takes order[r::R].
"""
from __future__ import annotations

import json
import os
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .packing import Packing, step_shape


def global_order(packing: Packing) -> npt.NDArray[np.int64]:
    """Returns the packs in an order in which order[r::R] is what rank r runs. Within a step, it goes micro-batch by
    micro-batch, with the ranks side by side. XTuner does not know missing packs, so the packs of the last, incomplete
    step are together at the end."""
    if packing.start.groups:
        raise ValueError("a packing of groups is no XTuner preset, which has one pack_max_length")
    if packing.step_count == 0:
        return np.empty(0, np.int64)
    ranks, packs = step_shape(packing.start, packing.step_group, 0)
    order = packing.order.reshape(-1, ranks, packs).transpose(0, 2, 1).reshape(-1)
    kept: npt.NDArray[np.int64] = np.ascontiguousarray(order[order >= 0])
    return kept


def write_preset(folder: str | os.PathLike[str], packing: Packing, tokens: npt.ArrayLike,
                 parts: Sequence[tuple[str, int]]) -> None:
    """Writes the four files into `folder`, and makes the folder if necessary.

    tokens: as they were packed. parts: (path of the dataset in XTuner's configuration, its samples), in the order in
    which the samples were packed.
    """
    lengths = np.asarray(tokens, np.int64)
    ends = np.cumsum([count for _, count in parts])
    if not parts or ends[-1] != lengths.size:
        raise ValueError(f"parts sum to {ends[-1] if parts else 0} samples, tokens has {lengths.size}")
    order = global_order(packing)
    index = packing.sample_index
    part = np.searchsorted(ends, index, side="right")
    minus = np.full(index.size, -1, np.int64)
    rows = np.stack([part, index - np.concatenate([[0], ends])[part], minus, minus, np.zeros_like(minus),
                     lengths[index]], axis=1)
    os.makedirs(folder, exist_ok=True)
    np.save(os.path.join(folder, "samples.npy"), rows)
    np.save(os.path.join(folder, "order.npy"), order)
    with open(os.path.join(folder, "paths.json"), "w", encoding="utf-8") as file:
        json.dump([path for path, _ in parts], file)
        file.write("\n")
    np.save(os.path.join(folder, "boundaries.npy"), packing.pack_offsets)  # last: it completes the preset
