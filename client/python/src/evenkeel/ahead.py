"""Asks for the next epoch while this one trains, without harm to processes that fork meanwhile."""
from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .packing import Packing

# Time that a fork waits for a call in progress. Then the call is given up, and made again when its answer is needed.
FORK_WAIT_SECONDS = 5.0
END_WAIT_SECONDS = 5.0  # time until a call that was given up has ended


class Ahead:
    """One computation in a separate thread, by key."""

    def __init__(self) -> None:
        self._key: Any = None
        self._thread: threading.Thread | None = None
        self._result: Packing | None = None
        self._cancel: Callable[[], None] = lambda: None
        _ALL.add(self)

    def begin(self, key: Any, work: Callable[[], Packing], cancel: Callable[[], None] = lambda: None) -> None:
        if self._thread is not None:
            return

        def run() -> None:
            try:
                self._result = work()
            except Exception:  # noqa: BLE001  Asked for again when it is needed, and the error raised there.
                self._result = None
        self._key, self._result, self._cancel = key, None, cancel
        self._thread = threading.Thread(target=run, name="evenkeel-next-epoch", daemon=True)
        self._thread.start()

    def take(self, key: Any) -> Packing | None:
        """Returns the result, if the computation was begun and succeeded."""
        if self._thread is None:
            return None
        self._thread.join()
        self._thread = None
        return self._result if self._key == key else None

    def settle(self, wait_seconds: float) -> None:
        """Waits for the computation, then ends it."""
        thread = self._thread
        if thread is None or thread is threading.current_thread():
            return
        thread.join(wait_seconds)
        if thread.is_alive():
            self._cancel()
            thread.join(END_WAIT_SECONDS)


_ALL: weakref.WeakSet[Ahead] = weakref.WeakSet()


def _before_fork() -> None:
    """Waits for calls in progress before a fork. A child frees what the parent's other threads held, including gRPC's
    calls, and may crash there. This was seen with the workers of a DataLoader."""
    for each in list(_ALL):
        each.settle(FORK_WAIT_SECONDS)


def _at_exit() -> None:
    """Waits for the threads before the interpreter exits. The exit ends daemon threads wherever they are, and they must
    not be in gRPC at that time."""
    for each in list(_ALL):
        each.settle(0)


os.register_at_fork(before=_before_fork)
atexit.register(_at_exit)


def wait_for_grpc(before: set[threading.Thread]) -> None:
    """Waits for gRPC's own threads of a call, for the same reason. They are those that are not in `before`, and they
    end a moment after the call."""
    for thread in set(threading.enumerate()) - before:
        if thread.name.endswith(("(_run)", "(channel_spin)", "(consume_request_iterator)")):  # gRPC's names for them
            thread.join(1)
