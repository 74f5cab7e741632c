#!/usr/bin/env python3
"""Times a curve of 64 sizes whose answer is known, against a health check on the same server. Prints medians.

    /usr/bin/python3 tests/bench/known_curve.py [MODEL] [GPU_TYPE]     default: llama3-8b h100-sxm-80gb
"""
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "integration"))

from harness import Server  # noqa: E402  pylint: disable=wrong-import-position
from evenkeel.v1 import curve_pb2  # noqa: E402  pylint: disable=wrong-import-position
from google.protobuf import json_format  # noqa: E402  pylint: disable=wrong-import-position


def median_seconds(call, count=200):
    times = []
    for _ in range(count):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main():
    model, gpu_type = [*sys.argv[1:], *("llama3-8b", "h100-sxm-80gb")[len(sys.argv) - 1:]]
    request = json_format.ParseDict(
        {"job": {"model": {"name": model}, "cluster": {"pools": [{"gpu_type": gpu_type}]}},
         "nodes": [{"min": 1, "max": 64}]}, curve_pb2.PlanCurveRequest())
    with Server() as server:
        channel = server.client().channel
        curve = channel.unary_unary("/evenkeel.v1.PlannerService/PlanCurve",
                                    request_serializer=curve_pb2.PlanCurveRequest.SerializeToString,
                                    response_deserializer=lambda data: data)
        began = time.perf_counter()
        answer = curve(request, timeout=600)
        print(f"unknown: {time.perf_counter() - began:.1f} s, answer of {len(answer)} bytes")
        known = median_seconds(lambda: curve(request, timeout=60))
        client = server.client()
        health = median_seconds(client.health)
        print(f"known: {known * 1e3:.2f} ms; a health check: {health * 1e3:.2f} ms")


if __name__ == "__main__":
    main()
