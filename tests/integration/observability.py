"""Code that the tests of rules and dashboard share: their paths, the metrics they name, and those that a server has."""
import json
import os
import re

import harness
import yaml

FOLDER = os.path.join(harness.ROOT, "deploy", "prometheus")
RECORDING = os.path.join(FOLDER, "recording-rules.yaml")
ALERTS = os.path.join(FOLDER, "alerts.yaml")
DASHBOARD = os.path.join(harness.ROOT, "deploy", "grafana", "evenkeel.json")
PROMTOOL = os.path.join(harness.TOOLS, "promtool")

# Metrics that a plain server need not have, because they come with TLS, a policy, a store or Redis.
OPTIONAL = {
    "evenkeel_cache_errors_total", "evenkeel_cache_tier_ok", "evenkeel_cert_expiry_timestamp_seconds",
    "evenkeel_denied_total", "evenkeel_policy_reload_failures_total", "evenkeel_profile_unconfirmed_seconds",
    "evenkeel_redis_breaker_state", "evenkeel_tls_files_ok", "evenkeel_tls_reload_failures_total",
}


def rules(path, kind):
    """Returns all rules of that kind ("alert" or "record") in a rule file."""
    with open(path, encoding="utf-8") as file:
        groups = yaml.safe_load(file)["groups"]
    return [rule for group in groups for rule in group["rules"] if kind in rule]


def panels():
    """Returns the panels of the dashboard that show something."""
    with open(DASHBOARD, encoding="utf-8") as file:
        return [panel for panel in json.load(file)["panels"] if panel["type"] != "row"]


def metric_names(expression):
    """Returns metrics of the server in a PromQL expression, without the endings that belong to histograms."""
    plain = re.sub(r'"[^"]*"', '""', expression)
    names = re.findall(r"\b(?:evenkeel|grpc_server|process)_\w+", plain)
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in names}


def recorded_names(expression):
    return set(re.findall(r"\bevenkeel:[\w:]+", expression))


def documented_metrics():
    """Returns the names in the table of docs/SERVER_REFERENCE.md, which a unit test compares with the server."""
    with open(os.path.join(harness.ROOT, "docs", "SERVER_REFERENCE.md"), encoding="utf-8") as file:
        return set(re.findall(r"(?m)^\| `((?:evenkeel|grpc_server|process)_\w+)` \|", file.read()))
