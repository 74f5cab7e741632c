#!/usr/bin/env python3
"""Checks that every text that states the release says what server/convert/version.h does.

    one_version.py [ROOT]

CMake and the Python package read that file. The Go module has its version from the tag client/go/vX.Y.Z.
"""
import os
import re
import sys

SOURCE = "server/convert/version.h"
PLACES = ("Dockerfile", "CHANGELOG.md", "deploy", "docs", "client/go")
STATED = re.compile(r"^ARG VERSION=(\S+)|\bevenkeel(?:-scheduler|-kueue)?:(\d+\.\d+\.\d+)|newTag: (\d+\.\d+\.\d+)")
NEWEST = re.compile(r"^## (\d+\.\d+\.\d+)")  # in the changelog, whose newest entry is first


def files(root):
    for place in PLACES:
        path = os.path.join(root, place)
        if os.path.isfile(path):
            yield place
        for at, _, names in sorted(os.walk(path)):
            for name in sorted(names):
                yield os.path.relpath(os.path.join(at, name), root)


def check(root):
    with open(os.path.join(root, SOURCE), encoding="utf-8") as file:
        release = re.search(r'kReleaseVersion = "([^"]+)"', file.read())[1]
    findings, newest = [], None
    for path in files(root):
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                stated = [text for found in STATED.findall(line) for text in found if text]
                if path == "CHANGELOG.md" and newest is None and (entry := NEWEST.match(line)):
                    newest = entry[1]
                    stated.append(newest)
                findings += [f"{path}:{number}: says {text}, but {SOURCE} says {release}"
                             for text in stated if text != release]
    if os.path.exists(os.path.join(root, "CHANGELOG.md")) and newest is None:
        findings.append("CHANGELOG.md:1: has no entry of a release")
    return findings


if __name__ == "__main__":
    lines = check(sys.argv[1] if len(sys.argv) > 1 else ".")
    print("\n".join(lines))
    sys.exit(bool(lines))
