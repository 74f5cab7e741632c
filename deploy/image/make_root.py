#!/usr/bin/env python3
"""Lays out the root file system of the runtime image: the programs, what they load, and their papers. No shell, no
package manager, nothing else.

    deploy/image/make_root.py --build FOLDER --output FOLDER

The programs of --build are taken as they are (strip them before). --output must not exist.
"""
import argparse
import json
import os
import shutil
import stat
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import sbom  # noqa: E402  pylint: disable=wrong-import-position

USER = 65532
FILES = {
    "etc/passwd": f"evenkeel:x:{USER}:{USER}:evenkeel:/nonexistent:/usr/sbin/nologin\n",
    "etc/group": f"evenkeel:x:{USER}:\n",
    # Without this file the C library asks DNS before /etc/hosts.
    "etc/nsswitch.conf": "hosts: files dns\n",
}
# Container runtimes mount here: on a read-only root they could not make these folders.
MOUNTED = ("dev", "proc", "run", "sys")
# Locale for tables in UTF-8; one without these files is ASCII.
LOCALE = "/usr/lib/locale/C.utf8"


def put(root, path, source=None, text=None, mode=0o644):
    target = os.path.join(root, path.lstrip("/"))
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if source:
        shutil.copyfile(source, target)
    else:
        with open(target, "w", encoding="utf-8") as file:
            file.write(text)
    os.chmod(target, mode)


def put_library(root, path):
    """Copies the file, and its soname next to it as a link if the two differ."""
    put(root, path, source=path, mode=0o755)
    name = sbom.soname(path)
    if name != os.path.basename(path):
        os.symlink(os.path.basename(path), os.path.join(root, os.path.dirname(path).lstrip("/"), name))


def make(build, root):
    for folder in ("usr/lib", "usr/lib64", "tmp", *MOUNTED):
        os.makedirs(os.path.join(root, folder), exist_ok=True)
    os.chmod(os.path.join(root, "tmp"), 0o1777)
    for name in ("lib", "lib64"):
        os.symlink(f"usr/{name}", os.path.join(root, name))
    programs = [os.path.join(build, "bin", name) for name in sbom.PROGRAMS]
    paths = sorted({path for program in programs for path in sbom.libraries(program)})
    for path in paths:
        put_library(root, path)
        if os.path.basename(path).startswith("ld-"):  # programs name it by another path
            link = os.path.join("usr/lib64", os.path.basename(path))
            if not os.path.lexists(os.path.join(root, link)):
                os.symlink(path, os.path.join(root, link))
    for program in programs:
        put(root, f"usr/local/bin/{os.path.basename(program)}", source=program, mode=0o755)
    for path, text in FILES.items():
        put(root, path, text=text)
    put(root, f"{LOCALE}/LC_CTYPE", source=f"{LOCALE}/LC_CTYPE")
    put(root, "usr/share/doc/evenkeel/LICENSE", source=os.path.join(sbom.ROOT, "LICENSE"))
    bill = sbom.bill(build, programs)
    put(root, "usr/share/doc/evenkeel/sbom.json", text=json.dumps(bill, indent=1) + "\n")
    for made in bill["components"]:
        if made["type"] == "library":
            put(root, f"usr/share/doc/{made['name']}/copyright", source=f"/usr/share/doc/{made['name']}/copyright")
    put_licences(root)


def put_licences(root):
    """Returns the licences that copyright files refer to by path."""
    folder = "usr/share/common-licenses"
    named = ""
    for at, _, names in os.walk(os.path.join(root, "usr/share/doc")):
        for name in names:
            if name == "copyright":
                with open(os.path.join(at, name), encoding="utf-8", errors="replace") as file:
                    named += file.read()
    for name in sorted(os.listdir("/" + folder)):
        path = f"/{folder}/{name}"
        if path in named and stat.S_ISREG(os.stat(path).st_mode):
            put(root, path, source=path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--output", required=True)
    options = parser.parse_args()
    os.umask(0o022)
    os.makedirs(options.output)
    make(os.path.abspath(options.build), os.path.abspath(options.output))


if __name__ == "__main__":
    main()
