"""The error of states that do not fit. It is apart so that online packing loads no messages."""
from __future__ import annotations


class ResumeError(ValueError):
    """The state is of another stream of batches."""
