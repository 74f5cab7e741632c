#!/usr/bin/env python3
"""Copies the libraries of Abseil that a module needs, and that these need, into a folder.

    gather_libraries.py MODULE FOLDER FROM

They keep their names: those carry Abseil's version, as do all their symbols, and they have no state that another user
of the same library could spoil.
"""
import os
import re
import shutil
import subprocess
import sys


def needed(path):
    said = subprocess.run(["readelf", "--wide", "-d", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\).*\[(libabsl_[^]]*)\]", said)


def main():
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    module, folder, source = sys.argv[1:]
    for name in os.listdir(folder):
        if name.startswith("libabsl_"):
            os.remove(os.path.join(folder, name))
    wanted = needed(module)
    while wanted:
        to = os.path.join(folder, wanted.pop())
        if not os.path.exists(to):
            shutil.copy(os.path.join(source, os.path.basename(to)), to)
            wanted += needed(to)


if __name__ == "__main__":
    main()
