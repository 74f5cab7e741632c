"""Tests that every overlay renders to objects that the API server would accept, with unknown keys refused."""
import os
import shutil
import unittest

import harness
import manifests

PLANTED = {
    "readynessProbe": ("standalone", "Deployment", "evenkeel",
                       lambda spec: spec["template"]["spec"]["containers"][0].update(readynessProbe={})),
    "replicas": ("standalone", "Deployment", "evenkeel", lambda spec: spec.update(replicas="two")),
    "topologySpread": ("standalone", "Deployment", "evenkeel",
                       lambda spec: spec["template"]["spec"].update(topologySpread=[])),
    "maxUnavailabel": ("standalone", "PodDisruptionBudget", "evenkeel", lambda spec: spec.update(maxUnavailabel=1)),
    "averageUtilisation": ("standalone", "HorizontalPodAutoscaler", "evenkeel",
                           lambda spec: spec["metrics"][0]["resource"]["target"].update(averageUtilisation=70)),
    "ingres": ("standalone", "NetworkPolicy", "evenkeel", lambda spec: spec.update(ingres=[])),
    "intervall": ("monitored", "PodMonitor", "evenkeel",
                  lambda spec: spec["podMetricsEndpoints"][0].update(intervall="15s")),
    "interval": ("monitored", "PodMonitor", "evenkeel",
                 lambda spec: spec["podMetricsEndpoints"][0].update(interval="15 s")),
    "expression": ("monitored", "PrometheusRule", "evenkeel-alerts",
                   lambda spec: spec["groups"][0]["rules"][0].update(expression="up")),
    "dnsName": ("tls", "Certificate", "evenkeel", lambda spec: spec.update(dnsName=["a"])),
    "secretName": ("tls", "Certificate", "evenkeel", lambda spec: spec.pop("secretName")),
    "volumeClaims": ("redis", "StatefulSet", "evenkeel-redis-profiles", lambda spec: spec.update(volumeClaims=[])),
}


class SchemaTest(unittest.TestCase):
    def test_every_overlay_is_valid(self):
        for overlay in ("base", *manifests.OVERLAYS):
            with self.subTest(overlay=overlay):
                found = manifests.objects(overlay)
                self.assertGreater(len(found), 0)
                self.assertEqual(manifests.faults(found), "")

    def test_planted_faults_are_found(self):
        for word, (overlay, kind, name, plant) in PLANTED.items():
            with self.subTest(fault=word):
                item = manifests.named(manifests.objects(overlay), kind, name)
                self.assertEqual(manifests.faults([item]), "")
                plant(item["spec"])
                self.assertIn(word, manifests.faults([item]))
        self.assertIn("find schema", manifests.faults([{"apiVersion": "apps/v2", "kind": "Deployment",
                                                        "metadata": {"name": "a"}}]))

    @unittest.skipUnless(shutil.which("kubectl"), "no kubectl")
    def test_kubectl_renders_the_same(self):
        for overlay in manifests.OVERLAYS:
            done = harness.run(["kubectl", "kustomize", os.path.join(manifests.KUBERNETES, "overlays", overlay)])
            self.assertEqual(done.stdout, manifests.rendered(overlay), done.stderr)


if __name__ == "__main__":
    unittest.main()
