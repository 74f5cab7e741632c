#!/usr/bin/env python3
"""Tests the runtime image. run.sh passes its root file system and the output of `buildah inspect`."""
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

ROOT, CONFIG = sys.argv[1], sys.argv[2]
HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(SOURCE, "tests", "integration"))
import harness  # noqa: E402  pylint: disable=wrong-import-position

MOST_BYTES = 40_000_000
USER = 65532
# There are no cgroups: not every machine lets a container have its own, and nothing here tests limits of memory or CPU.
CRUN = ["crun", "--cgroup-manager=disabled"]
JOB = os.path.join(harness.EXAMPLES, "llama3-8b-text.json")


def image_config():
    with open(CONFIG, encoding="utf-8") as file:
        return json.load(file)["Docker"]["config"]


def regular_files():
    for at, _, names in os.walk(ROOT):
        for name in names:
            path = os.path.join(at, name)
            if stat.S_ISREG(os.lstat(path).st_mode):
                yield path


class Container:
    """Runs the image's entrypoint and arguments under crun; `arguments` replace the image's."""

    def __init__(self, arguments, folder):
        config = image_config()
        self.name = f"evenkeel-test-{os.getpid()}-{time.monotonic_ns()}"
        self.bundle = tempfile.TemporaryDirectory(prefix="evenkeel-bundle-")
        self.folder = folder  # a host folder, writable inside as /run/evenkeel
        self.environment = config["Env"]
        user, group = (int(part) for part in config["User"].split(":"))
        self.user = {"uid": user, "gid": group}
        with open(os.path.join(self.bundle.name, "config.json"), "w", encoding="utf-8") as file:
            json.dump(self.specification([*config["Entrypoint"], *arguments]), file)
        self.log = os.path.join(self.bundle.name, "log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([*CRUN, "run", "--bundle", self.bundle.name, self.name],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def process_part(self, command):
        return {"terminal": False, "user": self.user, "args": command, "env": self.environment, "cwd": "/",
                "capabilities": {kind: [] for kind in ("bounding", "effective", "inheritable", "permitted", "ambient")},
                "noNewPrivileges": True}

    def specification(self, command):
        mounts = [{"destination": "/proc", "type": "proc", "source": "proc"},
                  {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
                  {"destination": "/run/evenkeel", "type": "bind", "source": self.folder, "options": ["bind", "rw"]}]
        return {"ociVersion": "1.0.2", "process": self.process_part(command), "root": {"path": ROOT, "readonly": True},
                "mounts": mounts, "linux": {"namespaces": [{"type": kind} for kind in ("mount", "pid", "ipc", "uts")],
                                            "maskedPaths": ["/proc/kcore", "/proc/keys"],
                                            "readonlyPaths": ["/proc/sys"]}}

    def run(self, *command):
        """Runs a command inside, as the same user."""
        path = os.path.join(self.bundle.name, f"exec-{time.monotonic_ns()}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.process_part(list(command)), file)
        return harness.run([*CRUN, "exec", "--process", path, self.name])

    def state(self):
        return json.loads(harness.run([*CRUN, "state", self.name]).stdout)

    def output(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def stop(self, number=signal.SIGTERM):
        """Signals the first process inside. Returns its exit status."""
        harness.run([*CRUN, "kill", self.name, signal.Signals(number).name])
        return self.process.wait(30)

    def remove(self):
        harness.run([*CRUN, "delete", "--force", self.name])
        self.process.wait(10)
        self.bundle.cleanup()


class ContentTest(unittest.TestCase):
    def test_is_small(self):
        size = sum(os.path.getsize(path) for path in regular_files())
        self.assertLessEqual(size, MOST_BYTES)

    def test_holds_the_programs_and_no_shell(self):
        found = []
        for path in regular_files():
            with open(path, "rb") as file:
                start = file.read(4)
            if start[:2] == b"#!":
                found.append(path)
            if start == b"\x7fELF" and ".so" not in os.path.basename(path):
                found.append(path)
        self.assertEqual(sorted(os.path.relpath(path, ROOT) for path in found),
                         [f"usr/local/bin/{name}" for name in ("evenkeel-server", "evenkeel-store", "evenkeelctl")])

    def test_nothing_is_set_uid_or_writable_by_others(self):
        for path in regular_files():
            self.assertEqual(os.lstat(path).st_mode & 0o6022, 0, path)

    def test_the_bill_of_materials_is_what_is_in_it(self):
        with open(os.path.join(ROOT, "usr/share/doc/evenkeel/sbom.json"), encoding="utf-8") as file:
            bill = json.load(file)
        import test_sbom
        self.assertEqual(test_sbom.faults(bill), [])
        inside = {"/" + os.path.relpath(path, ROOT) for path in regular_files() if ".so" in os.path.basename(path)}
        self.assertEqual(inside, test_sbom.files(bill))
        for component in bill["components"]:
            if component["type"] == "application":
                self.assertEqual(component["hashes"][0]["content"],
                                 test_sbom.sbom.digest(os.path.join(ROOT, "usr/local/bin", component["name"])))
            else:
                self.assertTrue(os.path.exists(os.path.join(ROOT, "usr/share/doc", component["name"], "copyright")))
        self.assertTrue(os.path.exists(os.path.join(ROOT, "usr/share/doc/evenkeel/LICENSE")))

    def test_is_configured_to_be_safe(self):
        config = image_config()
        self.assertEqual(config["User"], f"{USER}:{USER}")
        self.assertEqual(config["Entrypoint"], ["evenkeel-server"])
        self.assertEqual(config["Healthcheck"]["Test"][:3], ["CMD", "evenkeelctl", "healthcheck"])


class RunTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="evenkeel-image-")
        os.chown(self.folder.name, USER, USER)
        self.port = harness.free_port()
        self.address = f"127.0.0.1:{self.port}"
        listen = f"{self.address},unix:/run/evenkeel/s.sock"
        self.container = Container(["--listen", listen, "--metrics-address", f"127.0.0.1:{harness.free_port()}"],
                                   self.folder.name)
        self.addCleanup(self.folder.cleanup)
        self.addCleanup(self.container.remove)
        deadline = time.monotonic() + 30
        while '"SERVING"' not in self.container.output():
            self.assertIsNone(self.container.process.poll(), self.container.output())
            self.assertLess(time.monotonic(), deadline, self.container.output())
            time.sleep(0.05)

    def test_plans_inside_and_from_outside(self):
        inside = self.container.run("evenkeelctl", "plan", "--server", self.address, "--model", "llama3-8b", "--gpu",
                                    "h100-sxm-80gb", "--gpus", "8")
        self.assertEqual(inside.returncode, 0, inside.stdout + inside.stderr)
        self.assertRegex(inside.stdout, "(?m)^Fits")
        outside = [harness.run([harness.CTL, "plan", "--server", address, "--job", JOB, "--output", "json"])
                   for address in (self.address, f"unix:{self.folder.name}/s.sock")]
        for done in outside:
            self.assertEqual(done.returncode, 0, done.stderr)
        plans = [json.loads(done.stdout)["plan"] for done in outside]
        self.assertEqual(plans[0], plans[1])

    def test_health_answers(self):
        check = image_config()["Healthcheck"]["Test"][1:]
        check[check.index("--server") + 1] = self.address
        self.assertEqual(self.container.run(*check).returncode, 0)
        check[check.index("--server") + 1] = f"127.0.0.1:{harness.free_port()}"
        self.assertEqual(self.container.run(*check).returncode, 1)

    def test_runs_without_rights(self):
        with open(f"/proc/{self.container.state()['pid']}/status", encoding="ascii") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        self.assertEqual(status["Uid"].split(), [str(USER)] * 4)
        self.assertEqual(status["Gid"].split(), [str(USER)] * 4)
        self.assertEqual({status[name] for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb")}, {"0" * 16})
        self.assertEqual(status["NoNewPrivs"], "1")

    def test_the_root_is_read_only(self):
        plan = "evenkeelctl plan --local --model llama3-8b --gpu h100-sxm-80gb --gpus 8 --force --save".split()
        for path in ("/plan.json", "/run/plan.json", "/usr/local/bin/evenkeelctl"):
            done = self.container.run(*plan, path)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertRegex(done.stderr, "Read-only file system|Permission denied")
        # This holds even for users who may write there.
        with open(f"/proc/{self.container.state()['pid']}/mountinfo", encoding="utf-8") as file:
            root = next(line.split() for line in file if line.split()[4] == "/")
        self.assertIn("ro", root[5].split(","))
        # A write succeeds in a folder where writing is allowed, so the file system refuses the one above.
        done = self.container.run(*plan, "/run/evenkeel/plan.json")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_has_no_shell(self):
        for shell in ("sh", "/bin/sh", "bash", "ls", "apt-get", "dpkg"):
            self.assertNotEqual(self.container.run(shell).returncode, 0, shell)

    def test_sigterm_ends_it_with_0(self):
        self.assertEqual(self.container.stop(), 0, self.container.output())
        self.assertIn('"stopped"', self.container.output())


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False, verbosity=2).result
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad} passed, {bad} failed")
    sys.exit(0 if bad == 0 and result.testsRun else 1)
