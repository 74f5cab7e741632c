#!/usr/bin/env python3
"""Keeps the few files of a search that reach most: adds them to the committed corpus until it has 40 files.

    tests/fuzz/keep.py FUZZER FOUND_FOLDER CORPUS_FOLDER [MOST_FILES]

This is a greedy cover over the features that libFuzzer's merge lists for each file. If two files reach as much, the
smaller one comes first. Files that are already in the corpus stay.
"""
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

MOST_BYTES = 4096  # limit for one file


def features(fuzzer, folders):
    """Returns {path: set of features}."""
    with tempfile.TemporaryDirectory() as scratch:
        control = os.path.join(scratch, "control")
        merged = os.path.join(scratch, "merged")
        os.mkdir(merged)
        # The merge runs in separate processes. One that ends early is started again after the file that ended it.
        subprocess.run([fuzzer, "-merge=1", f"-merge_control_file={control}", merged, *folders], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(control, encoding="utf-8") as file:
            lines = file.read().splitlines()
    count = int(lines[0])
    paths = lines[2:2 + count]
    found = {}
    for line in lines[2 + count:]:
        kind, number, *rest = line.split()
        if kind in ("FT", "COV"):
            found.setdefault(paths[int(number)], set()).update((kind, item) for item in rest)
    return found


def main():
    fuzzer, found, corpus = sys.argv[1:4]
    most = int(sys.argv[4]) if len(sys.argv) > 4 else 40
    reached = features(fuzzer, [corpus, found])
    covered = set()
    kept = len(os.listdir(corpus))
    for path, what in reached.items():
        if os.path.dirname(os.path.abspath(path)) == os.path.abspath(corpus):
            covered |= what
    candidates = {path: what for path, what in reached.items()
                  if os.path.dirname(os.path.abspath(path)) != os.path.abspath(corpus) and
                  os.path.getsize(path) <= MOST_BYTES}
    while kept < most and candidates:
        best = max(candidates, key=lambda path: (len(candidates[path] - covered), -os.path.getsize(path), path))
        gain = candidates.pop(best) - covered
        if not gain:
            break
        covered |= gain
        with open(best, "rb") as file:
            name = "found-" + hashlib.sha256(file.read()).hexdigest()[:12]
        shutil.copyfile(best, os.path.join(corpus, name))
        kept += 1
    print(f"   {corpus}: {kept} files, {len(covered)} of {len(set().union(*reached.values()))} features")


if __name__ == "__main__":
    main()
