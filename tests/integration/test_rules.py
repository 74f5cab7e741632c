"""Tests rules, dashboard and runbook for consistency, by promtool, and every alert, quiet and firing."""
import glob
import os
import re
import unittest

import harness
import observability
import yaml

TESTS = sorted(glob.glob(os.path.join(harness.ROOT, "tests", "prometheus", "*_test.yaml")))


def key(labels):
    """Distinguishes alerts with the same name by the long window of their budget."""
    return labels["alertname"], labels.get("long", "")


def parse_labels(text):
    return dict(re.findall(r'(\w+)="([^"]*)"', text))


def tested_alerts():
    """Returns (firing, quiet): alerts that some test expects at one time, and those that the same test excludes at
    another time."""
    firing, quiet = set(), set()
    for path in TESTS:
        with open(path, encoding="utf-8") as file:
            tests = yaml.safe_load(file)["tests"]
        for test in tests:
            checks = [{key(parse_labels(sample["labels"])) for sample in check["exp_samples"]}
                      for check in test["promql_expr_test"]]
            expected = set().union(*checks)
            firing |= expected
            quiet |= {alert for alert in expected if any(alert not in check for check in checks)}
    return firing, quiet


class RulesTest(unittest.TestCase):
    def test_promtool_takes_rules_and_configuration(self):
        for command in (["check", "rules", observability.RECORDING, observability.ALERTS],
                        ["check", "config", os.path.join(observability.FOLDER, "prometheus.yaml")]):
            done = harness.run([observability.PROMTOOL, *command])
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_promtool_finds_every_alert_as_expected(self):
        self.assertTrue(TESTS)
        for path in TESTS:
            with self.subTest(os.path.basename(path)):
                done = harness.run([observability.PROMTOOL, "test", "rules", path], timeout=300)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_alert_is_tested_quiet_and_firing(self):
        alerts = {(rule["alert"], rule["labels"].get("long", ""))
                  for rule in observability.rules(observability.ALERTS, "alert")}
        firing, quiet = tested_alerts()
        self.assertEqual(firing, alerts)
        self.assertEqual(quiet, alerts)

    def test_every_alert_says_how_grave_it_is_and_what_to_do(self):
        with open(os.path.join(harness.ROOT, "docs", "RUNBOOK.md"), encoding="utf-8") as file:
            sections = re.findall(r"(?m)^## (Evenkeel\w+)\n+(\S.*)", file.read())
        names = {rule["alert"] for rule in observability.rules(observability.ALERTS, "alert")}
        self.assertEqual(sorted(name for name, _ in sections), sorted(names))
        for rule in observability.rules(observability.ALERTS, "alert"):
            self.assertIn(rule["labels"]["severity"], ("page", "ticket"), rule["alert"])
            self.assertTrue(rule["annotations"]["summary"], rule["alert"])
            self.assertEqual(rule["annotations"]["runbook"], f"docs/RUNBOOK.md#{rule['alert'].lower()}")

    def test_every_metric_that_is_used_exists(self):
        documented = observability.documented_metrics()
        recorded = {rule["record"] for rule in observability.rules(observability.RECORDING, "record")}
        expressions = [rule["expr"] for path in (observability.RECORDING, observability.ALERTS)
                       for kind in ("record", "alert") for rule in observability.rules(path, kind)]
        expressions += [target["expr"] for panel in observability.panels() for target in panel["targets"]]
        used = set().union(*map(observability.metric_names, expressions))
        self.assertEqual(used - documented, set())
        self.assertEqual(set().union(*map(observability.recorded_names, expressions)) - recorded, set())

    def test_the_dashboard_is_complete_and_no_panel_hides_another(self):
        taken = {}
        for panel in observability.panels():
            title = panel["title"]
            self.assertTrue(title and panel["description"].endswith("."), panel)
            self.assertTrue(panel["fieldConfig"]["defaults"]["unit"], title)
            self.assertEqual(panel["datasource"]["uid"], "${datasource}", title)
            self.assertTrue(panel["targets"], title)
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24, title)
            for x in range(place["x"], place["x"] + place["w"]):
                for y in range(place["y"], place["y"] + place["h"]):
                    self.assertNotIn((x, y), taken, f"{title} hides {taken.get((x, y))}")
                    taken[x, y] = title
        titles = [panel["title"] for panel in observability.panels()]
        self.assertEqual(len(titles), len(set(titles)))


if __name__ == "__main__":
    unittest.main()
