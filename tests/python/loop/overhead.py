#!/usr/bin/env python3
"""Measures what StepReporter costs the training thread: microseconds per step, and their share of a step of 100 ms.

    overhead.py [SERVER]      SERVER: an address; without it, only an address where nothing listens, and one that
                              never answers

Each line: the time of step_end and of the hooks of one forward pass, measured on the training thread in a tight loop;
and the CPU time of the whole process per step of a loop that sleeps 10 ms, beyond the same loop without a reporter,
which includes the background thread.
"""
import logging
import socket
import statistics
import sys
import time

import evenkeel

CALLS = 20000
STEPS = 300
STEP_SECONDS = .01
SHARE_OF = .1


class Module:
    """The part of a module that `watch` needs: its hooks are called as PyTorch does."""
    training = True

    def __init__(self):
        self.hooks = []

    def register_forward_pre_hook(self, hook):
        self.hooks.append(hook)
        return self

    register_forward_hook = register_forward_pre_hook

    def remove(self):
        pass


def reporter(target, plan_id, module):
    made = evenkeel.StepReporter(target, plan_id=plan_id, warmup_steps=0, window_steps=100, window_seconds=1, timeout=1,
                                 exit_seconds=2, record=False)
    if module is not None:
        made.watch(module)
    return made


def tight(target, plan_id):
    """Returns the seconds of a step_end with one watched forward pass: the median of 20 loops."""
    module = Module()
    made = reporter(target, plan_id, module)
    before, after = module.hooks
    loops = []
    for _ in range(20):
        begun = time.perf_counter()
        for _ in range(CALLS // 20):
            before(module, ())
            after(module, (), None)
            made.step_end()
        loops.append((time.perf_counter() - begun) / (CALLS // 20))
    made.close()
    return statistics.median(loops)


def whole(target, plan_id):
    """Returns the CPU seconds per step of a process that sleeps."""
    made = reporter(target, plan_id, None) if target else None
    begun = time.process_time()
    for _ in range(STEPS):
        time.sleep(STEP_SECONDS)
        if made is not None:
            made.step_end()
    used = (time.process_time() - begun) / STEPS
    if made is not None:
        made.close()
    return used


def main():
    logging.disable(logging.WARNING)
    sys.modules.setdefault("torch", type(sys)("torch"))  # hooks look for it; without a GPU it is not used
    sys.modules["torch"].cuda = type("cuda", (), {"is_available": staticmethod(lambda: False)})
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        targets = {"no server there": "unix:/nothing/there", "never answers": "127.0.0.1:%d" % deaf.getsockname()[1]}
        plan_id = "plan-" + 32 * "0"
        if len(sys.argv) > 1:
            targets["server"] = sys.argv[1]
            job = {"model": {"name": "llama3-8b"},
                   "cluster": {"pools": [{"gpu_type": "h100-sxm-80gb", "gpu_count": 8}]},
                   "training": {"global_batch_samples": 64}}
            with evenkeel.Client(sys.argv[1]) as client:
                plan_id = client.plan_job(job).plan_id
        bare = whole(None, plan_id)
        worst = 0.0
        for name, target in targets.items():
            thread, process = tight(target, plan_id), whole(target, plan_id) - bare
            worst = max(worst, thread)
            print(f"{name:16}  training thread {1e6 * thread:6.2f} us per step, {thread / SHARE_OF:.5%} of 100 ms;  "
                  f"all threads {1e6 * process:7.1f} us, {process / SHARE_OF:.4%}")
    return 0 if worst / SHARE_OF <= .001 else 1


if __name__ == "__main__":
    sys.exit(main())
