"""The next epoch, asked for while this one trains, without harm to processes that fork meanwhile."""
from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .packing import Packing

# A fork waits this long for a call under way; then the call is given up, and made again when its answer is needed.
FORK_WAIT_SECONDS = 5.0
END_WAIT_SECONDS = 5.0  # until a call that was given up has ended


class Ahead:
    """One computation in a thread of its own, by key."""

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
        """Returns the result, if this was begun and succeeded."""
        if self._thread is None:
            return None
        self._thread.join()
        self._thread = None
        return self._result if self._key == key else None

    def settle(self, wait_seconds: float) -> None:
        """Waits for the computation, and ends it then."""
        thread = self._thread
        if thread is None or thread is threading.current_thread():
            return
        thread.join(wait_seconds)
        if thread.is_alive():
            self._cancel()
            thread.join(END_WAIT_SECONDS)


_ALL: weakref.WeakSet[Ahead] = weakref.WeakSet()


def _before_fork() -> None:
    """Waits for calls under way before a fork. A child frees what the parent's other threads had at hand, gRPC's
    calls among it, and may crash there: workers of a DataLoader have been seen to."""
    for each in list(_ALL):
        each.settle(FORK_WAIT_SECONDS)


def _at_exit() -> None:
    """Waits for the threads before the interpreter exits: it ends daemon threads wherever they are, which must not
    be in gRPC."""
    for each in list(_ALL):
        each.settle(0)


os.register_at_fork(before=_before_fork)
atexit.register(_at_exit)


def wait_for_grpc(before: set[threading.Thread]) -> None:
    """Waits for gRPC's own threads of a call, which were not there `before` and end a moment after it, for the same
    reason."""
    for thread in set(threading.enumerate()) - before:
        if thread.name.endswith(("(_run)", "(channel_spin)", "(consume_request_iterator)")):  # as gRPC calls them
            thread.join(1)
