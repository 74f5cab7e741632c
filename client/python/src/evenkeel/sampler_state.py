"""The content of a sampler's state, and the conditions for resuming it."""
from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from typing import Any

from .packing import PackSettings, Samples
from .resume import ResumeError
from .v1 import batching_pb2, packing_pb2

FORMAT = 2

# Leading part of an epoch that ran on other ranks: (world_size, packs_per_rank, steps, digest of its packing).
Segment = tuple[int, int, int, str]

# The fields of a BatchRule that belong to the rule and are not figures (proto/evenkeel/v1/batching.proto).
_RULE_FIELDS = ("unit_cap", "token_cap", "keep_units", "keep_tokens", "packer", "order_window", "iterations", "seed",
                "oversize_policy", "unit_scales", "level")
_GROUP_FIELDS = ("length_tokens", "sequence_parallel", "data_parallel", "packs_per_rank", "longest_sample_tokens",
                 "unit_cap")


def _only(message: Any, fields: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(message, name) for name in fields}


def rule_digest(settings: PackSettings, sequence_parallel_group: int) -> str:
    """Returns a digest of everything that determines packs and order, except samples, ranks and epoch."""
    rule = batching_pb2.BatchRule(**_only(settings.rule, _RULE_FIELDS))
    if settings.rule.HasField("pack_times"):
        rule.pack_times.CopyFrom(settings.rule.pack_times)
    start = packing_pb2.PackDatasetStart(
        rule=rule, groups=[batching_pb2.PackingGroup(**_only(g, _GROUP_FIELDS)) for g in settings.groups],
        curriculum_steps=settings.curriculum_steps, sequence_parallel_group=sequence_parallel_group)
    return hashlib.sha256(start.SerializeToString(deterministic=True)).hexdigest()[:32]


def samples_digest(samples: Samples) -> str:
    digest = hashlib.sha256()
    for array in (samples.tokens, samples.units, samples.loss_tokens):
        digest.update(b"none" if array is None else array.astype("<i8").tobytes())
    return digest.hexdigest()[:32]


@dataclasses.dataclass(frozen=True)
class Identity:
    """The properties that a state must share with the sampler that resumes it."""
    plan_id: str  # empty if a rule without a plan is used
    rule: str
    samples: str
    sample_count: int
    seed: int


@dataclasses.dataclass(frozen=True)
class SamplerState:
    """A place in the stream. It is the same on every rank."""
    identity: Identity
    world_size: int
    packs_per_rank: int
    epoch: int = 0
    batch: int = 0  # batches of this rank that are done in this epoch, after `segments`
    step: int = 0  # whole steps of these batches
    segments: tuple[Segment, ...] = ()  # parts of the epoch that ran on other ranks before
    packing: str = ""  # digest of packs and order, because another release of the server may make others

    def to_dict(self) -> dict[str, Any]:
        """Returns plain values only, because the state goes through JSON, torch.save and
        torch.load(weights_only=True)."""
        return {"format": FORMAT, **dataclasses.asdict(self.identity),
                "world_size": self.world_size, "packs_per_rank": self.packs_per_rank, "epoch": self.epoch,
                "batch": self.batch, "step": self.step, "segments": [list(s) for s in self.segments],
                "packing": self.packing}

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> SamplerState:
        try:
            if values["format"] != FORMAT:
                raise ResumeError(f"the state has format {values['format']}, this release reads {FORMAT}")
            return SamplerState(
                Identity(**{field.name: values[field.name] for field in dataclasses.fields(Identity)}),
                world_size=values["world_size"], packs_per_rank=values["packs_per_rank"], epoch=values["epoch"],
                batch=values["batch"], step=values["step"],
                segments=tuple((int(w), int(p), int(s), str(d)) for w, p, s, d in values["segments"]),
                packing=values["packing"])
        except ResumeError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise ResumeError(f"this is no state of an EvenkeelBatchSampler: {error!r}") from error


def check(state: SamplerState, mine: Identity) -> None:
    """Raises a ResumeError that names the difference."""
    saved = state.identity
    if saved.plan_id != mine.plan_id:
        def name(plan_id: str) -> str:
            return plan_id or "a rule without a plan"
        raise ResumeError(f"the state is of {name(saved.plan_id)}, this sampler runs {name(mine.plan_id)}: resume "
                          "with the plan that the run began with (client.get_plan), or begin a new epoch without it")
    if saved.seed != mine.seed:
        raise ResumeError(f"the state is of seed {saved.seed}, this sampler has seed {mine.seed}")
    if saved.sample_count != mine.sample_count:
        raise ResumeError(f"the state is of {saved.sample_count} samples, this sampler has {mine.sample_count}")
    if saved.samples != mine.samples:
        raise ResumeError("the state is of samples with other lengths (or in another order)")
    if saved.rule != mine.rule:
        raise ResumeError("the state is of another batch rule")


def check_packing(saved: str, mine: str, epoch: int) -> None:
    """Raises ResumeError if the server packs in another way than when the state was taken."""
    if saved != mine:
        raise ResumeError(f"the state is of other packs of epoch {epoch} than the server makes now (another release?): "
                          "resume with the release that the run began with, or begin an epoch")
