"""Decides when a failed call is tried again."""
from __future__ import annotations

import dataclasses
import numbers
import random
import time
from typing import Any

import grpc

from .errors import EvenkeelError


@dataclasses.dataclass(frozen=True)
class RetryPolicy:
    """Retries within the deadline of a call.

    RESOURCE_EXHAUSTED with a retry delay waits for that delay and tries again while the deadline lasts. UNAVAILABLE is
    tried `max_attempts` times: unary calls by gRPC itself (service config), uploads by this policy. Other errors are
    not tried again. Nor is RollBackProfile, because another caller's record may come in between.
    """
    max_attempts: int = 4
    initial_backoff: float = 0.1  # seconds
    max_backoff: float = 1.0  # seconds
    multiplier: float = 2.0
    jitter: float = 0.2  # a delay grows by up to this share, so that callers do not all return at once
    honour_retry_info: bool = True

    def __post_init__(self) -> None:
        if self.max_attempts < 1:
            raise ValueError(f"max_attempts is {self.max_attempts}: must be 1 or more")
        if self.initial_backoff <= 0 or self.max_backoff < self.initial_backoff or self.multiplier < 1:
            raise ValueError("initial_backoff must be above 0, max_backoff no less, multiplier 1 or more")


NO_RETRIES = RetryPolicy(max_attempts=1, honour_retry_info=False)


def check_timeout(name: str, timeout: Any) -> None:
    """Checks a timeout, because gRPC would treat infinity as a deadline that has passed."""
    if not isinstance(timeout, numbers.Real) or not 0 < float(timeout) < float("inf"):
        raise ValueError(f"{name} is {timeout}: must be a number of seconds, above 0 and finite")


class Attempts:
    """The tries of one call."""

    def __init__(self, policy: RetryPolicy, timeout: float, retry_unavailable: bool) -> None:
        check_timeout("timeout", timeout)
        self._policy = policy
        self._deadline = time.monotonic() + timeout
        self._retry_unavailable = retry_unavailable
        self._backoffs = 0

    def remaining(self) -> float:
        """Returns the seconds that the next try may take."""
        return max(0.001, self._deadline - time.monotonic())

    def delay(self, error: EvenkeelError) -> float | None:
        """Returns the seconds to wait before the next try, or None if there is none."""
        policy = self._policy
        if error.code == grpc.StatusCode.RESOURCE_EXHAUSTED and error.retry_after is not None:
            if not policy.honour_retry_info:
                return None
            delay = error.retry_after
        elif error.code == grpc.StatusCode.UNAVAILABLE and self._retry_unavailable:
            if self._backoffs + 1 >= policy.max_attempts:
                return None
            delay = min(policy.max_backoff, policy.initial_backoff * policy.multiplier ** self._backoffs)
            self._backoffs += 1
        else:
            return None
        delay *= 1 + random.random() * policy.jitter
        return delay if delay < self._deadline - time.monotonic() else None
