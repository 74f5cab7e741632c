"""Checks manifests of `evenkeelctl launch --manifest` with the schemas of the operators' CustomResourceDefinitions."""
import copy
import os
import re
import subprocess
import unittest

import cases
import crd_schema
import yaml

# kind: (flag, CRD below EVENKEEL_CRDS, API version)
KINDS = {"PyTorchJob": ("pytorchjob", "pytorchjob.yaml", "v1"), "TrainJob": ("trainjob", "trainjob.yaml", "v1alpha1"),
         "JobSet": ("jobset", "jobset.yaml", "v1alpha2")}
TEXT = ["--model", "llama3-8b", "--gpu", "h100-sxm-80gb", "--trainer", "megatron-core", "--gpus"]
JOBS = {"one node": [*TEXT, "8"], "part of a node": [*TEXT, "4"],
        "four nodes": ["--job", os.path.join(cases.ROOT, "deploy/examples/internvl-6b-20b.json")]}


def schema(kind):
    with open(os.path.join(os.environ["EVENKEEL_CRDS"], KINDS[kind][1]), encoding="utf-8") as file:
        return crd_schema.schema_of(yaml.safe_load(file), KINDS[kind][2])


def documents(kind, framework, flags):
    run = subprocess.run([cases.CTL, "launch", "--local", "--timeout", "900", "--framework", framework, *flags,
                          "--manifest", KINDS[kind][0], "--image", "registry.example/train:1",
                          "--name", "demo", "--namespace", "ml"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         check=False)
    if run.returncode:
        raise AssertionError(run.stderr)
    return list(yaml.safe_load_all(run.stdout))


def mebibytes(text):
    return int(re.fullmatch(r"(\d+)Mi", text).group(1)) << 20


def pods_of(job):
    """Returns [(number of pods, an object like a pod spec with containers and volumes, annotations)]."""
    spec = job["spec"]
    if job["kind"] == "PyTorchJob":
        return [(r["replicas"], r["template"]["spec"], r["template"]["metadata"]["annotations"])
                for r in spec["pytorchReplicaSpecs"].values()]
    if job["kind"] == "JobSet":
        template = spec["replicatedJobs"][0]["template"]["spec"]
        pod = template["template"]
        return [(template["parallelism"], pod["spec"], pod["metadata"]["annotations"])]
    override = spec["podSpecOverrides"][0]
    container = {**override["containers"][0], "resources": spec["trainer"]["resourcesPerNode"],
                 "env": spec["trainer"]["env"]}
    return [(spec["trainer"]["numNodes"], {"containers": [container], "volumes": override["volumes"]},
             spec["annotations"])]


class Manifests(unittest.TestCase):
    def test_they_are_valid_and_match_the_plan(self):
        for kind in KINDS:
            for framework in ("megatron", "deepspeed", "torchtitan"):
                for name, flags in JOBS.items():
                    with self.subTest(f"{kind} {framework} {name}"):
                        self.check(kind, framework, flags)

    def check(self, kind, framework, flags):
        *maps, job = documents(kind, framework, flags)
        self.assertEqual(crd_schema.faults(job, schema(kind)), [])
        self.assertEqual(job["kind"], kind)
        path_flags = flags if flags[0] != "--job" else ["--job", flags[1]]
        plan = cases.plan_of(path_flags)
        placement = plan["placement"]
        pods = pods_of(job)
        self.assertEqual(sum(count for count, _, _ in pods), placement["node_count"])
        for _, spec, annotations in pods:
            limits = spec["containers"][0]["resources"]["limits"]
            self.assertEqual(limits, spec["containers"][0]["resources"]["requests"])
            self.assertEqual(int(limits["nvidia.com/gpu"]), placement["gpus_per_node"])
            memory, wanted = mebibytes(limits["memory"]), int(placement["host_memory_bytes"])
            self.assertTrue(wanted <= memory < wanted + (1 << 20))
            volumes = {v["name"]: v for v in spec["volumes"]}
            shm = mebibytes(volumes["shm"]["emptyDir"]["sizeLimit"])
            self.assertTrue(int(placement["shm_bytes"]) <= shm < int(placement["shm_bytes"]) + (1 << 20))
            self.assertEqual(volumes["shm"]["emptyDir"]["medium"], "Memory")
            mounts = {m["name"]: m["mountPath"] for m in spec["containers"][0]["volumeMounts"]}
            self.assertEqual(mounts["shm"], "/dev/shm")
            self.assertRegex(annotations["evenkeel.dev/plan"], "^plan-[0-9a-f]{32}$")
            self.assertEqual(annotations["evenkeel.dev/model"], plan["subject"]["model"])
            self.assertRegex(annotations["evenkeel.dev/spec-hash"], "^[0-9a-f]{32}$")
            env = {e["name"]: e for e in spec["containers"][0]["env"]}
            self.assertEqual(env["EVENKEEL_STAGE"]["valueFrom"]["fieldRef"]["fieldPath"],
                             "metadata.annotations['evenkeel.dev/stage']")
            if maps:
                self.assertEqual(volumes["launch"]["configMap"]["name"], maps[0]["metadata"]["name"])
                self.assertEqual(env["PYTHONPATH"]["value"], mounts["launch"])
        for config in maps:
            self.assertEqual((config["apiVersion"], config["kind"]), ("v1", "ConfigMap"))
            self.assertTrue(all(isinstance(text, str) and text.endswith("\n") for text in config["data"].values()))

    def test_a_wrong_key_and_a_wrong_type_are_found(self):
        for kind in KINDS:
            job = documents(kind, "megatron", JOBS["one node"])[-1]
            wrong = copy.deepcopy(job)
            wrong["spec"]["replicaz"] = 1
            self.assertIn("$.spec.replicaz: unknown key", crd_schema.faults(wrong, schema(kind)))
        wrong = documents("JobSet", "megatron", JOBS["one node"])[-1]
        spec = wrong["spec"]["replicatedJobs"][0]["template"]["spec"]
        spec["parallelism"] = "two"
        spec["template"]["spec"]["containers"][0]["imagez"] = "x"
        del spec["template"]["spec"]["containers"][0]["name"]
        self.assertEqual(len(crd_schema.faults(wrong, schema("JobSet"))), 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
