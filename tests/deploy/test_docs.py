"""Tests that what docs/KUBERNETES.md tells a user to write renders and is valid."""
import os
import re
import tempfile
import textwrap
import unittest

import harness
import manifests
import yaml


def blocks(language):
    with open(os.path.join(harness.ROOT, "docs", "KUBERNETES.md"), encoding="utf-8") as file:
        found = re.findall(rf"^( *)```{language}\n(.*?)^\1```$", file.read(), re.S | re.M)
    return [textwrap.dedent(text) for _, text in found]


def block(words):
    """Returns the snippet with these words in it, as an object."""
    (text,) = [text for text in blocks("yaml") if words in text]
    return yaml.safe_load(text)


class DocsTest(unittest.TestCase):
    def rendered(self, **files):
        """Makes a user's folder next to the checkout."""
        with tempfile.TemporaryDirectory(dir=manifests.TOOLS) as folder:
            os.symlink(harness.ROOT, os.path.join(folder, "checkout"))
            own = os.path.join(folder, "evenkeel")
            os.mkdir(own)
            for name, content in files.items():
                with open(os.path.join(own, name.replace("_", ".")), "w", encoding="utf-8") as file:
                    yaml.safe_dump(content, file)
            done = harness.run([os.path.join(manifests.TOOLS, "kustomize"), "build", own])
            self.assertEqual(done.returncode, 0, done.stderr)
            found = [item for item in yaml.safe_load_all(done.stdout) if item]
            self.assertEqual(manifests.faults(found), "")
            return found

    def test_a_users_own_overlay(self):
        own = block("overlays/standalone]")
        self.rendered(kustomization_yaml=own)
        own["resources"] = [own["resources"][0].replace("standalone", "production")]
        own["patches"] = block("queue_depth")["patches"] + block("ipBlock")["patches"]
        own["configMapGenerator"] += block("policy.json")["configMapGenerator"]
        found = self.rendered(kustomization_yaml=own, policy_json={"version": 1, "rules": []})
        metrics = manifests.named(found, "HorizontalPodAutoscaler", "evenkeel")["spec"]["metrics"]
        self.assertEqual([metric["type"] for metric in metrics], ["Resource", "Pods"])
        first = manifests.named(found, "NetworkPolicy", "evenkeel")["spec"]["ingress"][0]
        self.assertEqual([list(peer)[0] for peer in first["from"]], ["namespaceSelector"] * 2 + ["ipBlock"])
        self.assertNotIn("spiffe", manifests.named(found, "ConfigMap", "evenkeel-policy")["data"]["policy.json"])

    def test_a_sidecar_in_a_users_own_job(self):
        own, job = block("components/sidecar]"), block("evenkeel.dev/sidecar: \"true\"")
        job.update(apiVersion="batch/v1", kind="Job")
        job["metadata"]["name"] = "mine"
        job["spec"]["template"]["spec"]["restartPolicy"] = "Never"
        job["spec"]["template"]["spec"]["containers"][0]["image"] = "mine"
        own["patches"] = block("initContainers/0")["patches"]
        (item,) = self.rendered(kustomization_yaml=own, job_yaml=job)
        sidecar = item["spec"]["template"]["spec"]["initContainers"][0]
        self.assertRegex(sidecar["image"], r"^registry\.example\.com/evenkeel:\d+\.\d+\.\d+$")
        self.assertEqual(sidecar["resources"]["requests"], sidecar["resources"]["limits"])


if __name__ == "__main__":
    unittest.main()
