"""Measures the bytes that PyTorch's cross entropy holds per logit (Execution::loss_bytes_per_logit): resident memory of
a process that computes it on the CPU, whose kernels hold the same tensors as those of a GPU."""
import resource
import threading
import time
import unittest

import torch
from torch.nn import functional

ROWS, VOCABULARY, HIDDEN = 2048, 32768, 8


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as pages:
        return int(pages.read().split()[1]) * resource.getpagesize()


class Peak:
    """The highest resident memory above that at the start, in bytes per logit."""

    def __enter__(self):
        self.start = self.high = resident_bytes()
        self.running = True
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self):
        while self.running:
            self.high = max(self.high, resident_bytes())
            time.sleep(0.001)

    def __exit__(self, *_):
        self.running = False
        self.thread.join()
        self.bytes_per_logit = (self.high - self.start) / (ROWS * VOCABULARY)


def logits():
    rows = torch.randn(ROWS, HIDDEN, dtype=torch.bfloat16, requires_grad=True)
    head = torch.randn(VOCABULARY, HIDDEN, dtype=torch.bfloat16, requires_grad=True)
    return rows @ head.T


def loss_of(values, labels):
    return functional.cross_entropy(values.float(), labels)


class LossMemory(unittest.TestCase):
    def setUp(self):
        self.labels = torch.randint(0, VOCABULARY, (ROWS,))
        functional.cross_entropy(torch.randn(8, 8, requires_grad=True), self.labels[:8] % 8).backward()

    def test_eager_loss_holds_twelve_bytes(self):
        with Peak() as peak:
            loss_of(logits(), self.labels).backward()
        self.assertAlmostEqual(peak.bytes_per_logit, 12, delta=0.5)

    def test_logits_that_the_caller_holds_add_two(self):
        with Peak() as peak:
            held = logits()
            loss_of(held, self.labels).backward()
        self.assertAlmostEqual(peak.bytes_per_logit, 14, delta=0.5)
