"""Reports the steps of a training run to a server, which compares them with the plan that the run follows.

    reporter = evenkeel.StepReporter("127.0.0.1:50051", job=job, plan=plan)
    for batch in loader:
        ...
        reporter.step_end()
    reporter.close()

The training thread reads a clock and appends to a queue, nothing else. A background thread does the rest. Reporting
adds no synchronisation with the GPU or between ranks, and a failure costs only one warning.
"""
from __future__ import annotations

import atexit
import collections
import contextlib
import dataclasses
import logging
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from . import rank_gather
from .ahead import wait_for_grpc
from .forward_times import ForwardTimes
from .step_times import RankWindow, Total

_LOG = logging.getLogger("evenkeel.reporter")
_QUEUE = 65536  # step times that wait for the background; the oldest are dropped beyond
_NEWS_RATIO = 0.1  # by which a step ratio differs from the one that the log told, before it tells another
_FORK_WAIT_SECONDS = 1.0  # time that a fork waits for a call in progress, before it is given up


@dataclasses.dataclass
class Report:
    """Figures of a run so far. They change while the run goes on."""
    steps: int = 0  # counted steps of this rank, without the first ones
    windows: int = 0  # windows that the server compared with the plan
    step_ratio: float = 0.0  # measured over predicted step time, of the last window; 0: not known
    advice: str = ""  # the server's, about the last window; empty: as planned
    drift: Any = None  # the server's StepDrift of the last window
    revision: int = 0  # of the recorded outcome in the history of profiles; 0: not recorded
    new_plan_id: str = ""  # the job planned again with what was recorded
    new_step_seconds: float = 0.0
    dropped: int = 0  # windows that did not reach the server
    fault: str = ""  # why the last of them did not


class StepReporter:
    """Measures the steps of one rank. Every rank makes one; rank 0 talks to the server."""

    def __init__(self, target: str = "127.0.0.1:50051", *, plan: Any = None, plan_id: str = "", job: Any = None,
                 stage: int = 0, rank: int | None = None, world_size: int | None = None, warmup_steps: int = 5,
                 window_steps: int = 100, window_seconds: float = 60.0, record: bool = True,
                 gather: rank_gather.Gather | None = None, gather_seconds: float = 5.0, timeout: float = 5.0,
                 exit_seconds: float = 10.0, forward_every: int = 10, client: Callable[[], Any] | None = None,
                 on_report: Callable[[Report], None] | None = None) -> None:
        """`plan`: an answer of plan_job, or only a `plan_id`. `job`: the job that was planned; needed if it describes
        its model or GPU type, if the server may not have the plan, and to plan again in the end. `stage`: the pipeline
        stage of this rank. The first `warmup_steps` do not count. A window ends after `window_steps` or
        `window_seconds`. `record`: whether the outcome of the run is recorded when it ends, so that later plans use
        it. `gather`: how windows come to rank 0; None is torch.distributed's store, if that is initialised when the
        first window ends. `exit_seconds`: maximum time that close takes. `forward_every`: which steps `watch`
        measures. `client`: makes the client, for TLS. `on_report` is called in the background, after each window."""
        from .connection import check_target
        self._plan_id = plan_id or getattr(plan, "plan_id", "")
        if not self._plan_id:
            raise ValueError("plan or plan_id is required: the answer of plan_job, or the id in it")
        for name, value, least in (("stage", stage, 0), ("warmup_steps", warmup_steps, 0),
                                   ("window_steps", window_steps, 1), ("forward_every", forward_every, 1)):
            if not isinstance(value, int) or value < least:
                raise ValueError(f"{name} is {value!r}: must be a whole number from {least}")
        for name, seconds in (("window_seconds", window_seconds), ("gather_seconds", gather_seconds),
                              ("timeout", timeout), ("exit_seconds", exit_seconds)):
            if not 0 < seconds <= 86400:
                raise ValueError(f"{name} is {seconds!r}: must be above 0 and at most 86400")
        self._target = check_target(target)
        self._subject = _subject(plan, job)
        self._job = job
        self._stage, self._rank, self._world = stage, rank, world_size
        self._window_steps, self._window_seconds = window_steps, window_seconds
        self._record, self._gather, self._gather_seconds = record, gather, gather_seconds
        self._timeout, self._exit_seconds = timeout, exit_seconds
        self._make_client = client
        self._on_report = on_report
        self.report = Report()
        self._to_skip = warmup_steps
        self._device: int | None = None  # the GPU of the training thread; -1: none
        self._fork_holds = False
        self._last: float | None = None
        self._times: collections.deque[float] = collections.deque(maxlen=_QUEUE)
        self._forward = ForwardTimes(forward_every)
        self._total = Total()
        self._stop = threading.Event()
        self._deadline = 0.0
        self._pid = os.getpid()
        self._call_lock = threading.Lock()
        self._client: Any = None
        self._warned = False
        self._asked_for_plan = False
        self._told: Any = None  # the StepDrift that the log told last
        self._last_window: RankWindow | None = None
        self._thread: threading.Thread | None = None  # begins with the first step that counts

    # The hot path.

    def step_end(self) -> None:
        """Ends an optimizer step. A step lasts from the end of the one before, so it includes waiting for data."""
        now = time.perf_counter()
        last, self._last = self._last, now
        if last is not None:
            self._add(now - last)
        elif self._to_skip > 0:
            self._to_skip -= 1  # the first step, whose begin is not known

    @contextlib.contextmanager
    def step(self) -> Iterator[None]:
        """Measures the body as one step, for loops that do other things between steps."""
        begun = time.perf_counter()
        yield
        self._add(time.perf_counter() - begun)

    def pause(self) -> None:
        """Begins something that is no training step, such as an evaluation or a checkpoint. The next `step_end` begins
        to measure again."""
        self._last = None

    def _add(self, seconds: float) -> None:
        if self._to_skip > 0:
            self._to_skip -= 1
            self._forward.skip()
            return
        if self._thread is None:
            self._begin()
        self._times.append(seconds)
        self._forward.step_end()

    def _begin(self) -> None:
        self._device = _device()
        self._thread = threading.Thread(target=self._run, name="evenkeel-steps", daemon=True)
        self._thread.start()
        _ALL.add(self)

    def watch(self, module: Any) -> None:
        """Measures the forward passes of the rank's part of the model (a torch.nn.Module, or a list of them), without
        which slow stages and ranks cannot be told apart. On a GPU, by events that are read later."""
        for each in module if isinstance(module, (list, tuple)) else [module]:
            self._forward.watch(each)

    # The end.

    def close(self) -> None:
        """Sends the last window and records the outcome, within `exit_seconds`. Can be called again."""
        if self._stop.is_set() or os.getpid() != self._pid:
            return
        self._deadline = time.monotonic() + self._exit_seconds
        self._stop.set()
        self._forward.unwatch()
        if self._thread is None:
            return
        self._thread.join(self._exit_seconds)
        if self._thread.is_alive():
            self._warn(f"the last window did not reach {self._target} within {self._exit_seconds:g} s")

    def __enter__(self) -> StepReporter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # The background.

    def _run(self) -> None:
        times: list[float] = []
        begun = time.monotonic()
        while not self._stop.wait(min(1.0, self._window_seconds)):
            self._drain(times)
            over = time.monotonic() - begun >= self._window_seconds
            if len(times) >= self._window_steps or (over and times):
                self._guarded(self._end_window, times, False)
                times, begun = [], time.monotonic()
        self._drain(times)
        self._guarded(self._end_window, times, True)
        with self._call_lock:
            if self._client is not None:
                self._client.close()

    def _drain(self, times: list[float]) -> None:
        while self._times:
            times.append(self._times.popleft())

    def _guarded(self, work: Callable[..., None], *arguments: Any) -> None:
        try:
            work(*arguments)
        except Exception as error:  # noqa: BLE001  Nothing here may reach the training.
            self.report.dropped += 1
            self.report.fault = str(error) or type(error).__name__
            self._warn(self.report.fault)

    def _warn(self, fault: str) -> None:
        if not self._warned:
            self._warned = True
            _LOG.warning("evenkeel: steps are not reported, training goes on: %s", fault)

    def _end_window(self, times: list[float], last: bool) -> None:
        begun = time.monotonic()
        if self._rank is None or self._world is None:
            found = rank_gather.own_rank()
            self._rank = found[0] if self._rank is None else self._rank
            self._world = found[1] if self._world is None else self._world
        if times:
            self._total.add(times)
            self.report.steps = self._total.steps
            self._last_window = RankWindow.of(self._rank, self._stage, times, self._forward.take(),
                                              *_peaks(self._device))
        if self._last_window is None:
            return
        if self._gather is None and self._world > 1:
            self._gather = rank_gather.default_gather()
        if self._rank != 0:
            if self._gather is not None and times:
                self._gather.put(self._rank, self._last_window.to_bytes())
            return
        wait = self._gather_seconds
        if last:
            wait = min(wait, max(0.0, self._deadline - begun) / 3)
        others = ({} if self._gather is None or self._world == 1 else
                  rank_gather.collect(self._gather, self._world, 0, begun, wait,
                                      None if last else self._stop.is_set))
        windows = [self._last_window, *(RankWindow.from_bytes(data) for data in others.values())]
        if last and self._record and self._total.steps > 0:
            windows[0] = self._total.window(self._last_window)
            self._send(windows, dry_run=False)
            self._plan_again()
        elif times:
            self._send(windows, dry_run=True)
        if self._on_report is not None:
            self._on_report(self.report)

    def _send(self, windows: list[RankWindow], dry_run: bool) -> None:
        request = self._request(windows, dry_run)
        answer = self._call("record_profile", request)
        if self._plan_is_unknown(answer.refused) and self._makes_plan_known():
            answer = self._call("record_profile", request)
        report = self.report
        report.windows += 1
        for refused in answer.refused:
            self._warn(f"the server refused the outcome: {refused.detail}")
            report.fault = refused.detail
        for drift in answer.drifts:
            report.drift, report.step_ratio = drift, drift.step_ratio
            report.advice = drift.advice
            if drift.advice and _is_news(drift, self._told):
                _LOG.warning("evenkeel: %s", drift.advice)
                self._told = drift
        report.revision = answer.revision

    @staticmethod
    def _plan_is_unknown(refused: Any) -> bool:
        from .v1 import profile_pb2
        return any(each.reason == profile_pb2.REFUSAL_REASON_PLAN_UNKNOWN for each in refused)

    def _makes_plan_known(self) -> bool:
        """Has the server plan the job whose plan it lacks, because this process made it or the server is new. Returns
        whether it is the same plan."""
        if self._job is None or self._asked_for_plan:
            return False
        self._asked_for_plan = True
        answer = self._call("plan_job", self._job)
        return any(plan.plan_id == self._plan_id for plan in (answer, answer.plan, *answer.offers))

    def _request(self, windows: list[RankWindow], dry_run: bool) -> Any:
        from .v1 import profile_pb2
        if not self._subject:
            self._subject = _subject(self._call("get_plan", self._plan_id), None)
        own = windows[0]
        # Ranks that train together have the same step time, so rank 0's is the job's.
        outcome = profile_pb2.StepOutcome(plan_id=self._plan_id, step_seconds=own.mean, step_count=own.steps,
                                          p50_seconds=own.p50, p90_seconds=own.p90, p99_seconds=own.p99)
        most: dict[int, int] = {}
        for window in sorted(windows, key=lambda w: w.rank):
            outcome.ranks.add(rank=window.rank, stage_index=window.stage, p50_seconds=window.p50,
                              p99_seconds=window.p99, forward_seconds=window.forward,
                              peak_allocated_bytes=window.allocated, peak_reserved_bytes=window.reserved)
            most[window.stage] = max(most.get(window.stage, 0), window.allocated)
        if sorted(most) == list(range(len(most))) and all(most.values()) and len(windows) == self._world:
            outcome.stage_allocated_bytes.extend(most[stage] for stage in range(len(most)))
        return profile_pb2.RecordProfileRequest(step_outcomes=[outcome], dry_run=dry_run, framework=_framework(),
                                                **self._subject)

    def _plan_again(self) -> None:
        report = self.report
        if self._job is None or report.revision == 0 or report.drift is None:
            return
        answer = self._call("plan_job", self._job, min_calibration_revision=report.revision)
        report.new_plan_id = answer.plan_id
        report.new_step_seconds = answer.plan.predictions.step.total_seconds
        if report.advice:
            _LOG.warning("evenkeel: planned again with this outcome: %s, %.4g s per step", report.new_plan_id,
                         report.new_step_seconds)

    def _call(self, method: str, *arguments: Any, **fields: Any) -> Any:
        with self._call_lock:
            if self._client is None:
                self._client = self._new_client()
            timeout = self._timeout
            if self._stop.is_set():
                timeout = max(0.1, min(timeout, self._deadline - time.monotonic()))
            before = set(threading.enumerate())
            try:
                return getattr(self._client, method)(*arguments, timeout=timeout, **fields)
            finally:
                wait_for_grpc(before)

    def _new_client(self) -> Any:
        if self._make_client is not None:
            return self._make_client()
        from .client import Client
        from .retry import RetryPolicy
        return Client(self._target, timeout=self._timeout, retry=RetryPolicy(max_attempts=1))

    # Forks.

    def _before_fork(self) -> None:
        """Waits until no call is in progress: a child frees what gRPC's threads held, and may crash there."""
        self._fork_holds = self._call_lock.acquire(timeout=_FORK_WAIT_SECONDS)
        if self._fork_holds:
            return
        client = self._client
        if client is not None:
            with contextlib.suppress(Exception):
                client.close()  # ends the call
        self._client = None
        self._fork_holds = self._call_lock.acquire(timeout=self._timeout)

    def _after_fork_in_parent(self) -> None:
        if self._fork_holds:
            self._fork_holds = False
            self._call_lock.release()


def _is_news(drift: Any, told: Any) -> bool:
    """Returns whether to log a drift again: not if its ratio has changed only slightly."""
    if told is None:
        return True
    kinds = [(d.step, d.memory, d.part, sorted(slow.rank for slow in d.slow_ranks)) for d in (drift, told)]
    return kinds[0] != kinds[1] or abs(drift.step_ratio - told.step_ratio) > _NEWS_RATIO * told.step_ratio


def _subject(plan: Any, job: Any) -> dict[str, Any]:
    """Returns the fields of a request about the model and the GPU type. Empty: not known yet."""
    if job is not None:
        from . import requests
        request = requests.plan_job_request(job).job
        model, pool = request.model, _pool(request.cluster.pools, getattr(plan, "plan", plan))
        named = [field.name for field, _ in model.ListFields()] == ["name"]
        return {**({"model": model.name} if named else {"described_model": model}),
                **({"described_gpu": pool.gpu} if pool.HasField("gpu") else {"gpu_type": pool.gpu_type})}
    answer = getattr(plan, "plan", plan)
    subject = getattr(answer, "subject", None)
    if subject is None or not subject.gpu_type:
        return {}
    return {"model": "+".join(filter(None, (subject.encoder, subject.language_model))), "gpu_type": subject.gpu_type}


def _pool(pools: Any, plan: Any) -> Any:
    """Returns the pool that the plan is for: the first, unless the job offers several."""
    gpu_type = plan.subject.gpu_type if hasattr(plan, "subject") else ""
    return next((pool for pool in pools if gpu_type and gpu_type in (pool.gpu.name, pool.gpu_type)), pools[0])


def _device() -> int:
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return -1
    return int(torch.cuda.current_device())


def _peaks(device: int | None) -> tuple[int, int]:
    """Returns the peaks of the GPU's memory: allocated and reserved."""
    if device is None or device < 0:
        return 0, 0
    cuda: Any = sys.modules["torch"].cuda
    return int(cuda.max_memory_allocated(device)), int(cuda.max_memory_reserved(device))


def _framework() -> str:
    torch: Any = sys.modules.get("torch")
    return f"PyTorch {torch.__version__}" if torch is not None and hasattr(torch, "__version__") else ""


_ALL: weakref.WeakSet[StepReporter] = weakref.WeakSet()


def _each(method: str) -> Callable[[], None]:
    def run() -> None:
        for reporter in list(_ALL):
            getattr(reporter, method)()
    return run


os.register_at_fork(before=_each("_before_fork"), after_in_parent=_each("_after_fork_in_parent"),
                    after_in_child=_ALL.clear)
atexit.register(_each("close"))
