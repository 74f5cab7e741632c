"""StepReporter in trainers: a callback, or a hook that is set before training begins.

    trainer.add_callback(evenkeel.reporting.hf_callback("127.0.0.1:50051", plan=plan, job=job))    # Hugging Face
    Trainer(callbacks=[evenkeel.reporting.lightning_callback("127.0.0.1:50051", plan=plan)])       # Lightning
    evenkeel.reporting.torchtitan_hook(trainer, "127.0.0.1:50051", plan=plan)                      # torchtitan
    evenkeel.reporting.megatron_hook("127.0.0.1:50051", plan=plan)                                 # Megatron-LM

All arguments are those of StepReporter. The trainers are imported when they are needed.
"""
from __future__ import annotations

import functools
import importlib
import logging
from collections.abc import Callable
from typing import Any

from .reporter import StepReporter

_LOG = logging.getLogger("evenkeel.reporter")


class _Begun:
    """A reporter that begins with the training, on each rank. If it cannot, training goes on without it."""

    def __init__(self, target: str, settings: dict[str, Any]) -> None:
        StepReporter(target, **settings)  # wrong arguments fail here, where the caller sees it
        self._target, self._settings = target, settings
        self.reporter: StepReporter | None = None

    def begin(self, model: Any = None, **more: Any) -> None:
        if self.reporter is not None:
            self.reporter.close()
        try:
            self.reporter = StepReporter(self._target, **{**more, **self._settings})
            if model is not None:
                self.reporter.watch(model)
        except Exception as error:  # noqa: BLE001
            _LOG.warning("evenkeel: steps are not reported, training goes on: %s", error)

    def step_end(self) -> None:
        if self.reporter is not None:
            self.reporter.step_end()

    def pause(self) -> None:
        if self.reporter is not None:
            self.reporter.pause()

    def close(self) -> None:
        if self.reporter is not None:
            self.reporter.close()


def hf_callback(target: str = "127.0.0.1:50051", **settings: Any) -> Any:
    """Returns a transformers.TrainerCallback. Its `begun.reporter` is the StepReporter, once training began."""
    base: Any = importlib.import_module("transformers").TrainerCallback

    class EvenkeelCallback(base):  # type: ignore[misc]
        def __init__(self) -> None:
            self.begun = _Begun(target, settings)

        def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
            self.begun.begin(model)

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.begun.step_end()

        def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.begun.pause()

        def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.begun.pause()

        def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.begun.close()

    return EvenkeelCallback()


def lightning_callback(target: str = "127.0.0.1:50051", **settings: Any) -> Any:
    """Returns a Callback of Lightning, of the package `lightning` or, without it, `pytorch_lightning`."""
    try:
        package: Any = importlib.import_module("lightning.pytorch")
    except ImportError:
        package = importlib.import_module("pytorch_lightning")

    class EvenkeelCallback(package.Callback):  # type: ignore[misc]
        def __init__(self) -> None:
            self.begun = _Begun(target, settings)
            self._step = 0

        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            self._step = trainer.global_step
            self.begun.begin(pl_module)

        def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
            if trainer.global_step != self._step:  # not while gradients are accumulated
                self._step = trainer.global_step
                self.begun.step_end()

        def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
            self.begun.pause()

        def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
            self.begun.pause()

        def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: Any) -> None:
            self.begun.pause()

        def on_train_end(self, trainer: Any, pl_module: Any) -> None:
            self.begun.close()

        def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
            self.begun.close()

    return EvenkeelCallback()


def torchtitan_hook(trainer: Any, target: str = "127.0.0.1:50051", **settings: Any) -> _Begun:
    """Reports the steps of a torchtitan Trainer. Call it between `config.build()` and `trainer.train()`."""
    begun = _Begun(target, settings)
    begun.begin(list(trainer.model_parts), stage=_torchtitan_stage(trainer))
    _after(trainer, "train_step", begun.step_end)
    _after(trainer, "close", begun.close)
    validator = getattr(trainer, "validator", None)
    if validator is not None:
        _after(validator, "validate", begun.pause)
    return begun


def megatron_hook(target: str = "127.0.0.1:50051", *, training: Any = None, **settings: Any) -> _Begun:
    """Reports the steps of Megatron-LM. Call it before `pretrain`. `training` is the module whose `train` runs, by
    default megatron.training.training; its train_step is wrapped."""
    module: Any = training if training is not None else importlib.import_module("megatron.training.training")
    begun = _Begun(target, settings)
    original = module.train_step

    @functools.wraps(original)
    def train_step(forward_step_func: Any, data_iterator: Any, model: Any, *arguments: Any, **named: Any) -> Any:
        if begun.reporter is None:
            begun.begin(model, stage=_megatron_stage())
        result = original(forward_step_func, data_iterator, model, *arguments, **named)
        begun.step_end()
        return result

    module.train_step = train_step
    for name in ("evaluate_and_print_results", "save_checkpoint_and_time"):
        if hasattr(module, name):
            _after(module, name, begun.pause)
    return begun


def _after(owner: Any, name: str, then: Callable[[], None]) -> None:
    """Makes `owner.name` call `then` when it has returned, or raised."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapped(*arguments: Any, **named: Any) -> Any:
        try:
            return original(*arguments, **named)
        finally:
            then()

    setattr(owner, name, wrapped)


def _torchtitan_stage(trainer: Any) -> int:
    dims = getattr(trainer, "parallel_dims", None)
    if dims is None or not getattr(dims, "pp_enabled", False):
        return 0
    return int(dims.get_mesh("pp").get_local_rank())


def _megatron_stage() -> int:
    state: Any = importlib.import_module("megatron.core.parallel_state")
    return int(state.get_pipeline_model_parallel_rank()) if state.model_parallel_is_initialized() else 0
