"""PackedStream as a dataset of PyTorch. Loaded by evenkeel.streams if PyTorch is installed."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch.utils.data

from .streams import PackedStream

if TYPE_CHECKING:
    class _IterableDataset:
        pass
else:
    _IterableDataset = torch.utils.data.IterableDataset


class TorchPackedStream(PackedStream, _IterableDataset):
    """Give it to DataLoader(stream, batch_size=None): its items are batches already."""

    def __getitem__(self, index: Any) -> Any:
        raise TypeError("a stream of packs has no items by index")
