"""Online packing in Megatron-Energon: a mix-in for task encoders.

    class Encoder(EnergonPacking, megatron.energon.DefaultTaskEncoder):
        pack_caps = {"units": 9, "tokens": 4096}

        def pack_lengths(self, sample):
            return sample.tiles, len(sample.tokens)

        @megatron.energon.stateless
        def pack_selected_samples(self, samples):
            ...  # laid end to end, as the model wants them

    megatron.energon.get_train_dataset(..., task_encoder=Encoder(), packing_buffer_size=4096)

Energon calls select_samples_to_pack with a full buffer of packing_buffer_size samples, drops samples that are in no
group, and keeps buffer and groups in its own state
(megatron/energon/wrappers/packing_dataset.py). So each buffer is packed to the end, and nothing waits for the next one.
"""
from __future__ import annotations

from typing import Any

from .online import Lengths, OnlinePacker
from .online_rule import CapsLike, Oversize


class EnergonPacking:
    """select_samples_to_pack for a task encoder; pack_selected_samples is the model's."""

    pack_caps: CapsLike = None
    pack_oversize: Oversize | None = None
    pack_seed: int = 0

    def pack_lengths(self, sample: Any) -> Lengths:
        """Returns the lengths of an encoded sample, in the order of pack_caps or by column."""
        raise NotImplementedError("pack_lengths is needed: the lengths of a sample, in the order of pack_caps")

    def pack_selected_samples(self, samples: list[Any]) -> Any:
        """Makes one sample of a pack."""
        raise NotImplementedError("pack_selected_samples is needed: how samples are laid end to end")

    def select_samples_to_pack(self, samples: list[Any]) -> list[list[Any]]:
        """Packs a buffer. The packs are in random order, a function of the seed and the lengths."""
        if self.pack_caps is None:
            raise ValueError('pack_caps is needed: the most that a pack holds, such as {"units": 9, "tokens": 4096}')
        packer: OnlinePacker[Any] = OnlinePacker(
            self.pack_caps, ranks=1, packs_per_rank=1, window=len(samples) + 1, seed=self.pack_seed,
            oversize=self.pack_oversize, max_wait=1, order_window=1)
        steps = packer.pack((sample, self.pack_lengths(sample)) for sample in samples)
        return [pack.samples for step in steps for pack in step.of_rank(0)]
