"""Tests that an overlay's objects fit together (names, labels, ports, volumes), and pods meet `restricted`."""
import os
import tempfile
import unittest

import harness
import manifests
import yaml

OWN = """
namespace: planning
images: [{name: evenkeel, newName: registry.example.com/evenkeel, newTag: "1.2"}]
configMapGenerator:
  - {name: evenkeel-settings, behavior: merge, literals: [EVENKEEL_LOG_LEVEL=warning]}
"""
WORKLOAD = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s, labels: {%s}}
spec:
  selector: {matchLabels: {app: a}}
  template: {metadata: {labels: {app: a}}, spec: {containers: [{name: main, image: a}]}}
"""
SIDECARS = {"kustomization.yaml": "resources: [a.yaml, b.yaml]\n",
            "a.yaml": WORKLOAD % ("with", "evenkeel.dev/sidecar: 'true'"), "b.yaml": WORKLOAD % ("without", "")}

# These are made outside the overlays, as docs/KUBERNETES.md says.
BY_HAND = {("Secret", "evenkeel-redis"), ("PersistentVolumeClaim", "dataset")}
VOLUMES = {"configMap", "secret", "emptyDir", "persistentVolumeClaim"}  # kinds that `restricted` allows


def provided(found):
    """Returns (kind, name) of the existing objects, including secrets of certificates."""
    names = {(item["kind"], item["metadata"]["name"]) for item in found} | BY_HAND
    return names | {("Secret", item["spec"]["secretName"]) for item in found if item["kind"] == "Certificate"}


def wanted(template):
    """Returns (kind, name) of the objects that a pod needs to start."""
    spec = template["spec"]
    for volume in spec.get("volumes", []):
        for kind, key in (("configMap", "name"), ("secret", "secretName"), ("persistentVolumeClaim", "claimName")):
            if kind in volume:
                yield kind[0].upper() + kind[1:], volume[kind][key]
    for container in manifests.containers(template):
        for source in container.get("envFrom", []):
            yield "ConfigMap", source["configMapRef"]["name"]
    if "serviceAccountName" in spec:
        yield "ServiceAccount", spec["serviceAccountName"]


def selected(found, labels):
    """Returns the pod templates that have all the labels."""
    return [template for _, template in manifests.templates(found)
            if labels.items() <= template["metadata"]["labels"].items()]


def restricted_faults(template):
    """Returns the settings that the Pod Security Standard `restricted` would refuse."""
    pod = template["spec"].get("securityContext", {})
    for container in manifests.containers(template):
        context = {**pod, **container.get("securityContext", {})}
        want = {"runAsNonRoot": True, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]},
                "seccompProfile": {"type": "RuntimeDefault"}}
        yield from (f"{container['name']}: {key}" for key, value in want.items() if context.get(key) != value)
        if context.get("runAsUser") == 0:
            yield f"{container['name']}: runAsUser"
    for volume in template["spec"].get("volumes", []):
        yield from (f"{volume['name']}: {kind}" for kind in set(volume) - VOLUMES - {"name"})
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if template["spec"].get(key):
            yield key


class ObjectsTest(unittest.TestCase):
    def each(self):
        for overlay in manifests.OVERLAYS:
            with self.subTest(overlay=overlay):
                yield manifests.objects(overlay)

    def test_what_pods_need_is_there(self):
        for found in self.each():
            for item, template in manifests.templates(found):
                self.assertEqual(sorted(set(wanted(template)) - provided(found)), [], item["metadata"]["name"])

    def test_mounts_name_volumes(self):
        for found in self.each():
            for item, template in manifests.templates(found):
                volumes = {volume["name"] for volume in template["spec"].get("volumes", [])}
                volumes |= {claim["metadata"]["name"] for claim in item["spec"].get("volumeClaimTemplates", [])}
                mounts = {mount["name"] for container in manifests.containers(template)
                          for mount in container.get("volumeMounts", [])}
                self.assertEqual(mounts - volumes, set())
                self.assertEqual(volumes - mounts, set())

    def test_selectors_find_pods_and_their_ports(self):
        for found in self.each():
            for item in found:
                spec, name = item.get("spec", {}), item["metadata"]["name"]
                selector = {"Service": spec.get("selector"), "NetworkPolicy": spec.get("podSelector"),
                            "PodDisruptionBudget": spec.get("selector"),
                            "PodMonitor": spec.get("selector")}.get(item["kind"])
                if not selector:
                    continue
                pods = selected(found, selector.get("matchLabels", selector))
                self.assertTrue(pods, name)
                ports = {port["name"] for pod in pods for container in manifests.containers(pod)
                         for port in container.get("ports", [])}
                used = [port["targetPort"] for port in spec.get("ports", [])]
                used += [port["port"] for rule in spec.get("ingress", []) for port in rule["ports"]]
                used += [endpoint["port"] for endpoint in spec.get("podMetricsEndpoints", [])]
                self.assertLessEqual(set(used), ports, name)

    def test_pods_are_restricted_and_have_no_token(self):
        for found in self.each():
            for item, template in manifests.templates(found):
                self.assertEqual(list(restricted_faults(template)), [], item["metadata"]["name"])
                self.assertIs(template["spec"]["automountServiceAccountToken"], False)
        template["spec"]["containers"][0]["securityContext"] = {"privileged": True}
        self.assertTrue(list(restricted_faults(template)))

    def test_the_standalone_service_survives_a_node(self):
        found = manifests.objects("standalone")
        scaler = manifests.named(found, "HorizontalPodAutoscaler", "evenkeel")["spec"]
        budget = manifests.named(found, "PodDisruptionBudget", "evenkeel")["spec"]
        self.assertGreater(scaler["minReplicas"], budget["maxUnavailable"])
        self.assertNotIn("minAvailable", budget)  # with one replica, it would block each drain of its node
        deployment = manifests.named(found, "Deployment", "evenkeel")["spec"]
        self.assertNotIn("replicas", deployment)
        self.assertEqual([constraint["topologyKey"] for constraint in
                          deployment["template"]["spec"]["topologySpreadConstraints"]],
                         ["topology.kubernetes.io/zone", "kubernetes.io/hostname"])
        self.assertEqual(manifests.named(found, "NetworkPolicy", "evenkeel")["spec"]["egress"], [])

    def test_a_sidecar_goes_only_where_it_is_wanted(self):
        job = manifests.named(manifests.objects("training-job"), "Job", "train")
        first = job["spec"]["template"]["spec"]["initContainers"][0]
        self.assertEqual((first["name"], first["restartPolicy"]), ("evenkeel", "Always"))
        pods = {item["metadata"]["name"]: [container["name"] for container in manifests.containers(template)]
                for item, template in manifests.templates(self.own(SIDECARS, "components", "sidecar"))}
        self.assertEqual(pods, {"with": ["evenkeel", "main"], "without": ["main"]})

    def own(self, files, field, at):
        """Returns the rendering of a user's own overlay that names ours."""
        with tempfile.TemporaryDirectory(dir=manifests.TOOLS) as folder:
            for name, text in files.items():
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            ours = os.path.relpath(os.path.join(manifests.KUBERNETES, field, at), folder)
            with open(os.path.join(folder, "kustomization.yaml"), "a", encoding="utf-8") as file:
                file.write(f"{'components' if field == 'components' else 'resources'}: [{ours}]\n")
            done = harness.run([os.path.join(manifests.TOOLS, "kustomize"), "build", folder])
            self.assertEqual(done.returncode, 0, done.stderr)
            return [item for item in yaml.safe_load_all(done.stdout) if item]

    def test_a_users_own_image_and_namespace(self):
        found = self.own({"kustomization.yaml": OWN}, "overlays", "production")
        images = {container["image"] for _, template in manifests.templates(found)
                  for container in manifests.containers(template)}
        self.assertEqual(images, {"registry.example.com/evenkeel:1.2", "redis:7.2-bookworm"})
        self.assertEqual({item["metadata"].get("namespace", item["metadata"]["name"]) for item in found}, {"planning"})
        settings = next(item for item in found if item["metadata"]["name"].startswith("evenkeel-settings"))["data"]
        self.assertEqual(settings["EVENKEEL_LOG_LEVEL"], "warning")
        self.assertEqual(settings["EVENKEEL_DRAIN_DELAY"], "8")


if __name__ == "__main__":
    unittest.main()
