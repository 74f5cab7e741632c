"""Real processes for the integration tests: servers on their own sockets, evenkeelctl, grpcurl, and a Python client.

The programs come from build/bin (EVENKEEL_BUILD names another build folder), and the tools from build/tools/bin.
"""
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("EVENKEEL_BUILD", "build"))
SERVER = os.path.join(BUILD, "bin", "evenkeel-server")
CTL = os.path.join(BUILD, "bin", "evenkeelctl")
TOOLS = os.path.join(ROOT, os.environ.get("EVENKEEL_TOOLS", "build/tools"), "bin")
EXAMPLES = os.path.join(ROOT, "deploy", "examples")
JOB = os.path.join(EXAMPLES, "internvl-6b-20b.json")
SERVICE = "evenkeel.v1.PlannerService"
TIMEOUT_SECONDS = 60
PROTOS_VARIABLE = "EVENKEEL_TEST_PROTOS"


class ProtosOfParent:
    """The folder that the parent process generated, in the form of its TemporaryDirectory."""

    def __init__(self, name):
        self.name = name


def generate_protos():
    """Generates the Python package with the messages of the contract, and messages of google.rpc and health, in a
    separate folder. Returns its TemporaryDirectory."""
    folder = tempfile.TemporaryDirectory(prefix="evenkeel-protos-")
    package = os.path.join(folder.name, "evenkeel")
    shutil.copytree(os.path.join(ROOT, "client", "python", "src", "evenkeel"), package)
    subprocess.run([sys.executable, os.path.join(ROOT, "client", "python", "generate.py"), package], check=True)
    protos = []
    for at, _, names in os.walk(os.path.join(ROOT, "proto", "google")):
        protos += [os.path.join(at, name) for name in names if name.endswith(".proto")]
    health = "/usr/share/grpc-proto"
    subprocess.run(["protoc", "-I", os.path.join(ROOT, "proto"), "-I", health, "--python_out", folder.name,
                    *protos, os.path.join(health, "grpc/health/v1/health.proto")], check=True)
    return folder


def import_protos():
    """Puts the generated messages on sys.path, those of the parent process if it has any. Returns their folder."""
    parents = os.environ.get(PROTOS_VARIABLE)
    folder = ProtosOfParent(parents) if parents else generate_protos()
    sys.path.insert(0, folder.name)
    # The packages google and grpc exist already, so ours must add to them.
    import google
    import grpc
    google.__path__.append(os.path.join(folder.name, "google"))
    grpc.__path__.append(os.path.join(folder.name, "grpc"))
    return folder


PROTOS = import_protos()

# This must come after import_protos, which generates these modules.
import grpc  # noqa: E402  pylint: disable=wrong-import-position
from evenkeel.v1 import planner_service_pb2  # noqa: E402  pylint: disable=wrong-import-position
from google.protobuf import json_format  # noqa: E402  pylint: disable=wrong-import-position
from google.rpc import error_details_pb2, status_pb2  # noqa: E402  pylint: disable=wrong-import-position
from grpc.health.v1 import health_pb2  # noqa: E402  pylint: disable=wrong-import-position


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def libfiu():
    """Returns the value of LD_PRELOAD that makes system calls fail (packages libfiu-dev, fiu-utils)."""
    libraries = [os.path.join(at, name) for at in ("/usr/lib/fiu", "/usr/lib/x86_64-linux-gnu/fiu")
                 for name in ("fiu_run_preload.so", "fiu_posix_preload.so")]
    found = [path for path in libraries if os.path.exists(path)]
    assert len(found) == 2, "install fiu-utils"
    return ":".join(found)


def run(command, text=None, timeout=TIMEOUT_SECONDS, environment=None):
    """Runs a program to the end. Never raises because of its exit status."""
    return subprocess.run(command, input=text, stdin=None if text is not None else subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, check=False, cwd=ROOT,
                          env={**os.environ, **(environment or {})})


def job_request(path=JOB, **overrides):
    """Makes a PlanJobRequest from a shipped example; `overrides` are fields of Training."""
    with open(path, encoding="utf-8") as file:
        request = json_format.Parse(file.read(), planner_service_pb2.PlanJobRequest())
    for name, value in overrides.items():
        setattr(request.job.training, name, value)
    return request


class Client:
    """Calls methods by name: client.call("PlanJob", request) -> response."""

    def __init__(self, address, **options):
        self.channel = grpc.insecure_channel(address, **options)

    def method(self, name, serializer=None):
        descriptor = planner_service_pb2.DESCRIPTOR.services_by_name["PlannerService"].methods_by_name[name]
        from evenkeel.v1 import catalog_pb2, curve_pb2, profile_pb2
        response = next(getattr(module, descriptor.output_type.name)
                        for module in (planner_service_pb2, profile_pb2, catalog_pb2, curve_pb2)
                        if hasattr(module, descriptor.output_type.name))
        return self.channel.unary_unary(f"/{SERVICE}/{name}",
                                        request_serializer=serializer or (lambda m: m.SerializeToString()),
                                        response_deserializer=response.FromString)

    def call(self, name, request, timeout=TIMEOUT_SECONDS, **options):
        return self.method(name)(request, timeout=timeout, **options)

    def health(self, service="", timeout=5):
        check = self.channel.unary_unary("/grpc.health.v1.Health/Check",
                                         request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
                                         response_deserializer=health_pb2.HealthCheckResponse.FromString)
        return check(health_pb2.HealthCheckRequest(service=service), timeout=timeout).status

    def close(self):
        self.channel.close()


def error_details(error):
    """Returns the google.rpc details of a failed call, by message name."""
    found = {}
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            for any_message in status_pb2.Status.FromString(value).details:
                name = any_message.type_url.rsplit(".", 1)[1]
                message = getattr(error_details_pb2, name)()
                any_message.Unpack(message)
                found[name] = message
    return found


def wait_for(condition, seconds=20):
    """Waits until the condition holds. Returns the seconds."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > seconds:
            raise AssertionError(f"not within {seconds} s")
        time.sleep(0.003)
    return time.monotonic() - began


class Server:
    """A running evenkeel-server on its own unix socket. Use it in a with statement."""

    def __init__(self, *arguments, listen=(), max_files=None, wait=True, environment=None, program=None):
        self.folder = tempfile.TemporaryDirectory(prefix="evenkeel-")
        self.address = "unix:" + os.path.join(self.folder.name, "s.sock")
        self.metrics_port = free_port()
        self.log_path = os.path.join(self.folder.name, "log")
        stores = [text for flag in ("--plan-store", "--profile-store") if flag not in arguments
                  for text in (flag, "off")]
        limit = ["prlimit", f"--nofile={max_files}"] if max_files else []
        command = [*limit, program or SERVER, *stores, "--metrics-address", f"127.0.0.1:{self.metrics_port}",
                   "--listen", ",".join([self.address, *listen])]
        with open(self.log_path, "wb") as log:
            self.started = time.monotonic()
            self.process = subprocess.Popen([*command, *arguments], stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=subprocess.STDOUT, cwd=ROOT,
                                            env={**os.environ, **(environment or {})})
        self.start_seconds = self.wait_until_serving() if wait else None

    def wait_until_serving(self, seconds=20):
        """Returns the seconds from exec to the first SERVING."""
        path = self.address[len("unix:"):]
        while time.monotonic() - self.started < seconds:
            if self.process.poll() is not None:
                raise AssertionError(f"server ended with {self.process.returncode}: {self.log()}")
            if os.path.exists(path):
                client = Client(self.address)
                try:
                    if client.health(timeout=2) == health_pb2.HealthCheckResponse.SERVING:
                        return time.monotonic() - self.started
                except grpc.RpcError:
                    pass
                finally:
                    client.close()
            time.sleep(0.002)
        raise AssertionError(f"server not SERVING after {seconds} s: {self.log()}")

    def log(self, *parts):
        """Returns the log so far. Lines come in batches, so this waits some seconds for each of `parts`."""
        deadline = time.monotonic() + (10 if parts else 0)
        while True:
            with open(self.log_path, encoding="utf-8", errors="replace") as file:
                text = file.read()
            if all(part in text for part in parts) or time.monotonic() > deadline:
                return text
            time.sleep(0.02)

    def client(self, **options):
        return Client(self.address, **options)

    def ctl(self, command, *arguments, **options):
        return run([CTL, command, "--server", self.address, *arguments], **options)

    def grpcurl(self, *verb, data=None, flags=()):
        """Runs grpcurl FLAGS ADDRESS VERB...; `data` is the request as JSON."""
        given = ["-d", "@"] if data is not None else []
        return run([os.path.join(TOOLS, "grpcurl"), "-plaintext", "-unix", "-max-time", "60", *flags, *given,
                    self.address[len("unix:"):], *verb], text=data)

    def metrics_text(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=10) as reply:
            return reply.read().decode()

    def metric(self, name, **labels):
        """Returns the sum of the samples with this name whose labels include these."""
        total = 0.0
        for line in self.metrics_text().splitlines():
            if line.startswith((name + "{", name + " ")) and all(f'{k}="{v}"' in line for k, v in labels.items()):
                total += float(line.rsplit(" ", 1)[1])
        return total

    def metric_at_rest(self, name, **labels):
        """Returns `metric` once no call is running. A caller has its answer slightly before the server counts it."""
        wait_for(lambda: self.metric("grpc_server_started_total") == self.metric("grpc_server_handled_total"))
        return self.metric(name, **labels)

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS"))

    def alive(self):
        return self.process.poll() is None

    def terminate(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def wait(self, seconds=30):
        return self.process.wait(seconds)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.alive():
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.folder.cleanup()
