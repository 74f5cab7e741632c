"""A real evenkeel-server on a separate socket, for tests that do not use the integration harness."""
import os
import subprocess
import tempfile

import evenkeel

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = os.path.join(ROOT, os.environ.get("EVENKEEL_BUILD", "build"), "bin")


class Server:
    def __init__(self, listen=None):
        self._folder = tempfile.TemporaryDirectory(prefix="evenkeel-python-")
        self.address = listen or "unix:" + os.path.join(self._folder.name, "s.sock")
        self._log = open(os.path.join(self._folder.name, "log"), "wb")  # pylint: disable=consider-using-with
        self._process = subprocess.Popen(
            [os.path.join(PROGRAMS, "evenkeel-server"), "--listen", self.address, "--metrics-address", "127.0.0.1:0",
             "--plan-store", "off", "--profile-store", "off"], stdout=self._log, stderr=self._log)
        with evenkeel.Client(self.address, wait_for_ready=True, timeout=30) as client:
            client.list_models()

    def stop(self):
        self._process.terminate()
        self._process.wait(30)
        self._log.close()
        self._folder.cleanup()
