"""Runs containers of a pod template like a kubelet, without a container engine: their command, settings, user, groups,
volumes and read-only root, in a separate network with only a loopback. Needs root.

This machine's /usr stands in for the image, with the built programs in /usr/local/bin.
"""
import fcntl
import json
import os
import shlex
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import harness

ENTRYPOINTS = {"evenkeel": ["evenkeel-server"]}  # as in the Dockerfile
PATH = "/usr/local/bin:/opt/bin:/usr/bin:/bin"
_SIOCSIFFLAGS = 0x8914
_SIOCSIFADDR = 0x8916
_IFF_UP = 1
# The address of every pod in its network. It is not a loopback address, because programs treat those more leniently
# (Redis' protected mode).
ADDRESS = "10.0.0.1"


def possible():
    """Returns whether namespaces and mounts can be made. A container without rights or an ordinary user cannot."""
    return harness.run(["unshare", "--net", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).returncode == 0


def loopback_up():
    """Gives a new network, which has only lo, the ADDRESS as well."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", _IFF_UP))
        address = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(ADDRESS))
        fcntl.ioctl(control, _SIOCSIFADDR, struct.pack("16s16s8x", b"lo:1", address))


def hold_network():
    """Starts a process that holds a separate network, and returns it when the network is up. It is a separate program,
    because code between fork and exec can hang in a process that has gRPC's threads."""
    holder = subprocess.Popen(["unshare", "--net", sys.executable, os.path.abspath(__file__)], stdout=subprocess.PIPE)
    if holder.stdout.readline() != b"up\n":
        raise OSError("no network of its own")
    return holder


class Container:
    """A running container of the pod. `pod` has the volumes and the network."""

    def __init__(self, pod, spec):
        self.pod, self.spec = pod, spec
        context = {**pod.context, **spec.get("securityContext", {})}
        self.user, self.group = context["runAsUser"], context["runAsGroup"]
        self.read_only = context.get("readOnlyRootFilesystem", False)
        self.environment = {"PATH": PATH, "LANG": "C.UTF-8", **pod.environment(spec)}
        self.log_path = os.path.join(pod.folder, spec["name"] + ".log")
        image = spec["image"].split(":")[0].rsplit("/", 1)[-1]
        command = [*(spec.get("command") or ENTRYPOINTS[image]), *spec.get("args", [])]
        script = self._script(tempfile.mkdtemp(prefix="root-", dir=pod.folder))
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                ["nsenter", f"--net=/proc/{pod.holder.pid}/ns/net", "unshare", "--mount", "--propagation", "private",
                 "sh", "-euc", script, "sh", *self._unprivileged(), *command],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)

    def _unprivileged(self, user=None, group=None):
        groups = [str(group) for group in self.pod.context.get("supplementalGroups", [])]
        groups += [str(self.pod.context["fsGroup"])] if "fsGroup" in self.pod.context else []
        return ["setpriv", "--reuid", str(self.user if user is None else user),
                "--regid", str(self.group if group is None else group),
                *(["--groups", ",".join(groups)] if groups else ["--clear-groups"]),
                "--bounding-set", "-all", "--inh-caps", "-all", "--no-new-privs",
                "env", "-i", *(f"{key}={value}" for key, value in self.environment.items())]

    def _script(self, root):
        """Makes a root file system from this machine's /usr and the pod's volumes, and runs the command in it."""
        lines = ["root=" + shlex.quote(root), "mount -t tmpfs tmpfs $root",
                 "for at in usr proc dev etc opt/bin; do mkdir -p $root/$at; done",
                 "for at in bin lib lib64 sbin; do ln -s usr/$at $root/$at; done",
                 "mount --bind /usr $root/usr", "mount -o remount,bind,ro $root/usr", "mount --bind /proc $root/proc",
                 "for at in null urandom random; do : >$root/dev/$at; mount --bind /dev/$at $root/dev/$at; done",
                 "cp -a /etc/ld.so.cache /etc/alternatives $root/etc/",
                 f"cp {shlex.quote(self.pod.hosts)} $root/etc/hosts", "echo 'hosts: files' >$root/etc/nsswitch.conf",
                 f"mount --bind {shlex.quote(os.path.join(harness.BUILD, 'bin'))} $root/usr/local/bin",
                 f"ln -s {shlex.quote(os.path.realpath(os.path.join(harness.TOOLS, 'redis-server')))} "
                 "$root/opt/bin/redis-server"]
        for mount in self.spec.get("volumeMounts", []):
            at = "$root" + shlex.quote(mount["mountPath"])
            lines += [f"mkdir -p {at}", f"mount --bind {shlex.quote(self.pod.volume(mount['name']))} {at}"]
            if mount.get("readOnly"):
                lines.append(f"mount -o remount,bind,ro {at}")
        if self.read_only:
            lines.append("mount -o remount,ro $root")
        return "\n".join([*lines, 'exec chroot $root "$@"'])

    def run(self, *command, user=None, group=None):
        """Runs a command inside, as this container's user unless another is given. Its groups are the pod's."""
        return harness.run(["nsenter", "--target", str(self.process.pid), "--mount", "--net", "--root", "--wd",
                            *self._unprivileged(user, group), *command])

    def probe(self, name):
        """Runs a probe of the manifest."""
        probe = self.spec[name]
        if "exec" in probe:
            return self.run(*probe["exec"]["command"])
        if "grpc" in probe:
            return self.run("evenkeelctl", "healthcheck", "--server", f"127.0.0.1:{probe['grpc']['port']}",
                            "--service", probe["grpc"].get("service", ""), "--timeout", "2")
        port = next(port["containerPort"] for port in self.spec["ports"] if port["name"] == probe["tcpSocket"]["port"])
        return self.run("/usr/bin/python3", "-c", f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)")

    def wait_until(self, name, seconds=20):
        """Waits until the probe succeeds."""
        end = time.monotonic() + seconds
        while (done := self.probe(name)).returncode:
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"{self.spec['name']}: {done.stderr}{self.log()}")
            time.sleep(0.05)
        return self

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Pod:
    """`template` is a pod template. `objects` are the ConfigMaps and Secrets that it names, {(kind, name): {key:
    text}}. `hosts` are names of ADDRESS. `network` is a pod whose network this one shares, as if each could reach the
    other. Use it in a with statement."""

    def __init__(self, template, objects=None, hosts=(), network=None):
        self.spec = template["spec"]
        self.context = self.spec.get("securityContext", {})
        self.objects = objects or {}
        self._owner = tempfile.TemporaryDirectory(prefix="evenkeel-pod-")
        self.folder = self._owner.name
        os.chmod(self.folder, 0o755)
        self.volumes = {}
        self.containers = {}
        self.hosts = os.path.join(self.folder, "hosts")
        with open(self.hosts, "w", encoding="ascii") as file:
            file.write("127.0.0.1 localhost\n" + "".join(f"{ADDRESS} {name}\n" for name in hosts))
        self.own_network = network is None
        self.holder = network.holder if network else hold_network()

    def container(self, name):
        """Returns the specification of a container."""
        return next(spec for spec in [*self.spec.get("initContainers", []), *self.spec["containers"]]
                    if spec["name"] == name)

    def start(self, name):
        self.containers[name] = Container(self, self.container(name))
        return self.containers[name]

    def environment(self, spec):
        found = {}
        for source in spec.get("envFrom", []):
            found.update(self.objects["ConfigMap", source["configMapRef"]["name"]])
        for entry in spec.get("env", []):
            if "value" in entry:
                found[entry["name"]] = entry["value"]
            else:
                field = entry["valueFrom"]["resourceFieldRef"]
                kind, resource = field["resource"].split(".")
                found[entry["name"]] = self.container(field["containerName"])["resources"][kind][resource]
        return found

    def volume(self, name):
        """Returns the folder of a volume, made like a kubelet makes it."""
        if name in self.volumes:
            return self.volumes[name]
        source = next((volume for volume in self.spec.get("volumes", []) if volume["name"] == name), {})
        self.volumes[name] = path = os.path.join(self.folder, name)
        os.mkdir(path)
        group = self.context.get("fsGroup")
        for kind, key in (("secret", "secretName"), ("configMap", "name")):
            if kind in source:
                for file, text in self.objects[kind[0].upper() + kind[1:], source[kind][key]].items():
                    self._write(os.path.join(path, file), text, source[kind].get("defaultMode", 0o644), group)
        os.chown(path, 0, group or 0)
        os.chmod(path, 0o2777 if group else 0o777)
        return path

    @staticmethod
    def _write(path, text, mode, group):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode | (0o440 if group else 0))
        os.chown(path, 0, group or 0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for container in reversed(list(self.containers.values())):
            container.process.kill()  # tests that check how they end have called stop()
            container.process.wait()
        if self.own_network:
            self.holder.kill()
            self.holder.wait()
            self.holder.stdout.close()
        self._owner.cleanup()


def plan(container, **options):
    """Asks for the plan of a small job inside a container; `options` are those of Container.run."""
    done = container.run("evenkeelctl", "plan", "--model", "llama3-8b", "--gpu", "h100-sxm-80gb", "--gpus", "8",
                         "--output", "json", **options)
    return json.loads(done.stdout)["plan"] if done.returncode == 0 else done


if __name__ == "__main__":
    loopback_up()
    print("up", flush=True)
    time.sleep(3600)
