"""Tests deploy/kubernetes without a cluster: files and settings agree, and the sidecar's own settings run a server that
containers of other users can reach. tests/deploy/run.sh renders every overlay and checks it against schemas."""
import glob
import json
import os
import re
import subprocess
import sys
import unittest

import harness
import numpy as np
import yaml
from pod import Pod, plan, possible

import evenkeel

DEPLOY = os.path.join(harness.ROOT, "deploy")
KUBERNETES = os.path.join(DEPLOY, "kubernetes")
SIDECAR = os.path.join(KUBERNETES, "components", "sidecar", "pod.yaml")
EXAMPLE = os.path.join(KUBERNETES, "overlays", "training-job")


def documents(path):
    with open(path, encoding="utf-8") as file:
        return list(yaml.safe_load_all(file))


def kustomizations():
    return sorted(glob.glob(os.path.join(DEPLOY, "**", "kustomization.yaml"), recursive=True))


def referenced(path):
    """Returns files and folders that a kustomization names, as absolute paths."""
    (content,) = documents(path)
    names = [*content.get("resources", []), *content.get("components", [])]
    names += [patch["path"] for patch in content.get("patches", [])]
    for generator in content.get("configMapGenerator", []):
        names += [*generator.get("envs", []), *generator.get("files", [])]
    return [os.path.normpath(os.path.join(os.path.dirname(path), name)) for name in names]


def settings():
    """Returns {environment name: flag} of the server."""
    text = harness.run([harness.SERVER, "--help"]).stdout
    return {name: flag for flag, name in re.findall(r"^  (--[a-z-]+)=VALUE\s+\((EVENKEEL_[A-Z_]+),", text, re.M)}


def environment_file(path):
    with open(path, encoding="utf-8") as file:
        return dict(line.strip().split("=", 1) for line in file if line.strip() and not line.startswith("#"))


def example_pod():
    """Returns the pod template of the training job with its sidecar, as kustomize merges them."""
    (patch,), (job,) = documents(SIDECAR), documents(os.path.join(EXAMPLE, "job.yaml"))
    template, sidecar = job["spec"]["template"], patch["spec"]["template"]["spec"]
    spec = template["spec"]
    spec["initContainers"] = sidecar["initContainers"] + spec["initContainers"]
    spec["volumes"] = sidecar["volumes"] + spec["volumes"]
    spec["securityContext"].update(sidecar["securityContext"])
    return template


def example_files():
    """Returns its ConfigMap."""
    found = {}
    for name in ("job.json", "train.py"):
        with open(os.path.join(EXAMPLE, name), encoding="utf-8") as file:
            found[name] = file.read()
    return {("ConfigMap", "train"): found}


class FilesTest(unittest.TestCase):
    def test_every_file_is_named_by_a_kustomization_and_is_there(self):
        named = {path for at in kustomizations() for path in referenced(at)}
        self.assertEqual([path for path in named if not os.path.exists(path)], [])
        found = {os.path.join(at, name) for at, _, names in os.walk(KUBERNETES) for name in names}
        self.assertEqual(sorted(found - named - set(kustomizations())), [])

    def test_every_component_is_part_of_an_overlay(self):
        named = {path for at in kustomizations() for path in referenced(at)}
        components = set(glob.glob(os.path.join(KUBERNETES, "components", "*")))
        self.assertEqual(sorted(components - named), [])

    def test_settings_are_those_of_the_server(self):
        known = settings()
        self.assertGreater(len(known), 40)
        for path in glob.glob(os.path.join(KUBERNETES, "**", "settings.env"), recursive=True):
            self.assertEqual([name for name in environment_file(path) if name not in known], [], path)
        sidecar = example_pod()["spec"]["initContainers"][0]
        flags = [argument.split("=")[0] for argument in sidecar["args"]]
        self.assertEqual([flag for flag in flags if flag not in known.values()], [])

    def test_ports_and_limits_agree(self):
        (deployment,) = documents(os.path.join(KUBERNETES, "base", "deployment.yaml"))
        spec = deployment["spec"]["template"]["spec"]
        container = spec["containers"][0]
        values = environment_file(os.path.join(KUBERNETES, "base", "settings.env"))
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        self.assertEqual(values["EVENKEEL_LISTEN"], f"0.0.0.0:{ports['grpc']}")
        self.assertEqual(values["EVENKEEL_METRICS_ADDRESS"], f"0.0.0.0:{ports['metrics']}")
        for name in ("startupProbe", "readinessProbe", "livenessProbe"):
            self.assertEqual(container[name]["grpc"]["port"], ports["grpc"])
        drain = int(values["EVENKEEL_DRAIN_DELAY"]) + int(values["EVENKEEL_DRAIN_TIMEOUT"])
        self.assertGreater(spec["terminationGracePeriodSeconds"], drain)
        liveness = container["livenessProbe"]
        self.assertGreater(liveness["periodSeconds"] * liveness["failureThreshold"], drain)
        # An upload of the most samples must fit into the memory for uploads; otherwise it is always refused.
        for largest, memory in ((values["EVENKEEL_PACK_MAX_SAMPLES"], values["EVENKEEL_PACK_MEMORY_BYTES"]),
                                [next(text.split("=")[1] for text in example_pod()["spec"]["initContainers"][0]["args"]
                                      if text.startswith(flag + "="))
                                 for flag in ("--pack-max-samples", "--pack-memory-bytes")]):
            self.assertLessEqual(int(largest) * 256 + (2 << 20), int(memory))

    def test_generated_rules_are_those_of_prometheus(self):
        sys.path.insert(0, os.path.join(DEPLOY, "prometheus"))
        import make_rules
        for name in make_rules.NAMES:
            with open(make_rules.path(name), encoding="utf-8") as file:
                self.assertEqual(file.read(), make_rules.made(name), f"run {make_rules.__file__}")
            (rule,), (source,) = documents(make_rules.path(name)), documents(
                os.path.join(DEPLOY, "prometheus", name + ".yaml"))
            self.assertEqual(rule["spec"], source)


@unittest.skipUnless(possible(), "needs root, and the right to make namespaces")
class SidecarTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pod = Pod(example_pod(), example_files())
        cls.addClassCleanup(cls.pod.__exit__)
        cls.sidecar = cls.pod.start("evenkeel").wait_until("startupProbe")

    def test_all_probes_pass(self):
        for name in ("startupProbe", "readinessProbe", "livenessProbe"):
            self.assertEqual(self.sidecar.probe(name).returncode, 0, name)

    def test_runs_without_rights_on_a_read_only_root(self):
        with open(f"/proc/{self.sidecar.process.pid}/status", encoding="ascii") as file:
            status = dict(line.rstrip().split(":\t", 1) for line in file if ":\t" in line)
        self.assertEqual(status["Uid"].split(), ["65532"] * 4)
        self.assertEqual(int(status["CapBnd"], 16), 0)
        self.assertEqual(int(status["CapEff"], 16), 0)
        self.assertEqual(status["NoNewPrivs"], "1")
        for path in ("/here", "/usr/here", "/etc/here"):
            self.assertIn("Read-only", self.sidecar.run("sh", "-c", f": >{path}").stderr)

    def test_plans_for_another_user_of_the_pods_group(self):
        self.assertIn("plan_id", plan(self.sidecar))
        self.assertIn("plan_id", plan(self.sidecar, user=1000, group=1000))

    def test_nobody_else_connects(self):
        path = os.path.join(self.pod.volume("evenkeel"), "evenkeel.sock")
        connect = f"import socket; socket.socket(socket.AF_UNIX).connect({path!r})"
        for groups, returncode in ((["--groups", "65532"], 0), (["--clear-groups"], 1)):
            done = subprocess.run(["setpriv", "--reuid", "1001", "--regid", "1001", *groups, "/usr/bin/python3", "-c",
                                   connect], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, returncode, done.stderr)
        self.assertIn("PermissionError", done.stderr)

    def test_a_group_of_the_pods_own_for_its_volumes(self):
        """The socket then has the group that all its containers have."""
        template = example_pod()
        template["spec"]["securityContext"]["fsGroup"] = 2000
        with Pod(template) as pod:
            sidecar = pod.start("evenkeel").wait_until("startupProbe")
            self.assertEqual(os.stat(os.path.join(pod.volume("evenkeel"), "evenkeel.sock")).st_gid, 2000)
            self.assertIn("plan_id", plan(sidecar, user=1000, group=1000))

    def test_the_example_is_planned_and_fed(self):
        """Runs the example as far as possible without PyTorch. tests/deploy/run.sh trains."""
        lengths = np.arange(20000) % 2000 + 2
        np.save(os.path.join(self.pod.volume("data"), "lengths.npy"), lengths)
        for name in ("plan", "launch"):
            done = self.pod.start(name)
            self.assertEqual(done.process.wait(60), 0, done.log())
        folder = self.pod.volume("plan")
        self.assertEqual(sorted(os.listdir(folder)), ["evenkeel_fsdp.py", "launch.sh", "plan.json"])
        with open(os.path.join(folder, "launch.sh"), encoding="utf-8") as file:
            self.assertIn("--nproc-per-node 8 \\\n    /train/train.py\n", file.read())
        with open(os.path.join(folder, "plan.json"), encoding="utf-8") as file:
            made = json.load(file)
        address = "unix:" + os.path.join(self.pod.volume("evenkeel"), "evenkeel.sock")
        seen = []
        for rank in range(8):
            sampler = evenkeel.EvenkeelBatchSampler(address, made, lengths, rank=rank, prefetch=False)
            for micro in sampler.micro_batches(iter(sampler)):
                seen += [] if micro.is_dummy else micro.batch
        self.assertEqual(sorted(seen), list(range(len(lengths))))
        (gpus,) = {text for container in self.pod.spec["containers"]
                   for text in [container["resources"]["limits"].get("nvidia.com/gpu")] if text}
        self.assertEqual(made["plan"]["subject"]["gpu_count"], int(gpus))

    def test_the_examples_program_compiles(self):
        compile(example_files()["ConfigMap", "train"]["train.py"], "train.py", "exec")


if __name__ == "__main__":
    unittest.main()
