"""A real redis-server for integration tests, in a separate folder."""
import os
import signal
import subprocess
import tempfile
import time

import harness

SERVER = os.path.join(harness.TOOLS, "redis-server")
CLI = "redis-cli"
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")


class Redis:
    """A server on a port of the loopback. Use it in a with statement."""

    def __init__(self, *settings, config=None):
        self.folder = tempfile.TemporaryDirectory(prefix="evenkeel-redis-")
        self.port = harness.free_port()
        self.settings = settings
        self.config = [config] if config else []
        self.process = None
        self.start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def url(self):
        return f"redis://{self.address}"

    def start(self, seconds=20):
        with open(os.path.join(self.folder.name, "log"), "ab") as log:
            command = [SERVER, *self.config, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                       "--dir", self.folder.name, *self.settings]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        end = time.monotonic() + seconds
        while self.do("PING") not in ("PONG", "NOAUTH Authentication required."):
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError("redis-server does not start")
            time.sleep(0.01)

    def do(self, *words):
        """Returns the output of redis-cli."""
        return harness.run([CLI, "-p", str(self.port), *words]).stdout.strip()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.resume()
        self.kill()
        self.folder.cleanup()
