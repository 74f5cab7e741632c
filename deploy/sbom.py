#!/usr/bin/env python3
"""Software bill of materials of built programs, as CycloneDX 1.5 JSON: every Debian package that they load, with
version, licences and purl, and every one of which only headers (or .proto files) were compiled in.

    deploy/sbom.py [--build FOLDER] [--output FILE] [PROGRAM ...]

    --build FOLDER   where they were built with Ninja; tells the headers [build]
    --output FILE    [standard output]
    PROGRAM          [those of the image, in FOLDER/bin]

Debian only: asks ldd, dpkg-query and /usr/share/doc/*/copyright. The same programs on the same packages give the same
bytes: there is no time in it, and its serial number comes from its content.
"""
import argparse
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import urllib.parse
import uuid

PROGRAMS = ("evenkeel-server", "evenkeel-store", "evenkeelctl")  # of the image
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Maps Debian's short names of licences that SPDX calls otherwise. "+" becomes "-or-later", without it "-only".
SPDX = {"expat": "MIT", "mit": "MIT", "apache-2": "Apache-2.0", "apache-2.0": "Apache-2.0", "apache": "Apache-2.0",
        "bsd-2-clause": "BSD-2-Clause", "bsd-3-clause": "BSD-3-Clause", "bsd-3-clauses": "BSD-3-Clause", "isc": "ISC",
        "zlib": "Zlib", "boost-1.0": "BSL-1.0", "bsl-1.0": "BSL-1.0", "openldap-2.8": "OLDAP-2.8", "cc0-1.0": "CC0-1.0",
        "mpl-2.0": "MPL-2.0", "curl": "curl", "public-domain": None}
GNU = re.compile(r"^(a|l)?gpl-(\d)(?:\.(\d))?(\+)?$", re.I)


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def release():
    with open(os.path.join(ROOT, "server/convert/version.h"), encoding="utf-8") as file:
        return re.search(r'kReleaseVersion = "([^"]+)"', file.read()).group(1)


@functools.lru_cache(maxsize=None)
def libraries(program):
    """Returns the paths of the shared objects that the loader loads with it, links resolved, the loader included."""
    found = set()
    for line in output_of("ldd", program).splitlines():
        if "not found" in line:
            sys.exit(f"sbom.py: {program}: {line.strip()}")
        match = re.search(r"(/\S+) \(0x", line)
        if match:
            found.add(os.path.realpath(match.group(1)))
    return sorted(found)


def headers(build, programs):
    """Returns the headers from outside the project that the programs' objects were compiled with: from Ninja's log."""
    names = [os.path.relpath(program, build) for program in programs]
    inputs = set(output_of("ninja", "-C", build, "-t", "inputs", *names).split())
    found, wanted = set(), False
    for line in output_of("ninja", "-C", build, "-t", "deps").splitlines():
        if line and not line.startswith(" "):
            wanted = line.split(": #deps")[0] in inputs
        elif wanted and line.startswith("    /usr/"):
            found.add(os.path.normpath(line.strip()))
    if not found:
        sys.exit(f"sbom.py: {build} does not know what the programs were compiled with")
    return found


def owners(paths):
    """Returns the Debian package of each path; files that no package owns are an error."""
    # dpkg knows a file by the path it was shipped under, which may be one without /usr.
    asked = sorted(set(paths) | {path[4:] for path in paths if path.startswith("/usr/lib")})
    listed = subprocess.run(["dpkg-query", "-S", *asked], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                            check=False).stdout
    owner = {}
    for line in listed.splitlines():
        packages, _, path = line.partition(": ")
        owner[path] = packages.split(",")[0].split(":")[0]
    found = {path: owner.get(path) or owner.get(path[4:]) for path in paths}
    unknown = [path for path, package in found.items() if not package]
    if unknown:
        sys.exit("sbom.py: no Debian package owns " + " ".join(sorted(unknown)))
    return found


@functools.lru_cache(maxsize=None)
def about(package):
    """Returns (version, architecture, source package, its version)."""
    fields = "${Version}\t${Architecture}\t${source:Package}\t${source:Version}\n"
    # An architecture's name is needed where several are installed; the first is the machine's own.
    return tuple(output_of("dpkg-query", "-W", f"-f={fields}", package).splitlines()[0].split("\t"))


def spdx(name):
    gnu = GNU.match(name)
    if gnu:
        kind, major, minor, later = gnu.groups()
        return f"{(kind or '').upper()}GPL-{major}.{minor or 0}-{'or-later' if later else 'only'}"
    return SPDX.get(name.lower())


def licences(package):
    """Returns licences as CycloneDX has them; empty if the copyright file is prose."""
    with open(f"/usr/share/doc/{package}/copyright", encoding="utf-8", errors="replace") as file:
        text = file.read()
    if not re.match(r"\s*Format(-Specification)?:", text):
        return []
    names = set()
    for paragraph in re.split(r"\n\s*\n", text):
        stated = re.search(r"^License:[ \t]*(\S.*)$", paragraph, re.M)
        # Licences that cover only Debian's own packaging do not apply to the programs.
        if stated and re.search(r"^Files:(?![ \t]*debian/\*[ \t]*$)", paragraph, re.M):
            names.update(re.split(r"\s+(?:and|or)\s+|,\s*", stated.group(1).strip()))
    listed = []
    for name in sorted(filter(None, names)):
        identity = spdx(name)
        listed.append({"license": {"id": identity} if identity else {"name": name}})
    return [entry for i, entry in enumerate(listed) if entry not in listed[:i]]


def component(package, linkage, files):
    version, architecture, source, source_version = about(package)
    quoted = urllib.parse.quote(version, safe="~")
    purl = f"pkg:deb/debian/{urllib.parse.quote(package)}@{quoted}?arch={architecture}&distro=debian-12"
    made = {"type": "library", "bom-ref": purl, "name": package, "version": version, "purl": purl}
    known = licences(package)
    if known:
        made["licenses"] = known
    made["properties"] = [{"name": "evenkeel:linkage", "value": linkage},
                          {"name": "debian:source", "value": f"{source} {source_version}"}]
    if not known:
        made["properties"].append({"name": "evenkeel:licence", "value": f"/usr/share/doc/{package}/copyright"})
    made["properties"] += [{"name": "evenkeel:file", "value": path} for path in files]
    return made


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def application(program):
    name = os.path.basename(program)
    return {"type": "application", "bom-ref": name, "name": name, "version": release(),
            "licenses": [{"license": {"id": "Apache-2.0"}}], "hashes": [{"alg": "SHA-256", "content": digest(program)}]}


def needed(path, by_soname):
    """Returns the shared objects that an object file names itself."""
    names = re.findall(r"\(NEEDED\).*\[(.+)\]", output_of("readelf", "-d", path))
    return [by_soname[name] for name in names if name in by_soname]


def soname(path):
    found = re.search(r"\(SONAME\).*\[(.+)\]", output_of("readelf", "-d", path))
    return found.group(1) if found else os.path.basename(path)


def bill(build, programs):
    loaded = {}  # library -> package
    for program in programs:
        loaded.update(owners(libraries(program)))
    sources = {about(package)[2] for package in loaded.values()}
    header_only = {package for package in set(owners(headers(build, programs)).values())
                   if about(package)[2] not in sources}
    reference = {}
    components = []
    for package in sorted(set(loaded.values())):
        files = sorted(path for path, owner in loaded.items() if owner == package)
        components.append(component(package, "shared", files))
        reference[package] = components[-1]["bom-ref"]
    components += [component(package, "header-only", []) for package in sorted(header_only)]
    components.append(component("grpc-proto", "generated", []))  # health and reflection: server/CMakeLists.txt
    by_soname = {soname(path): path for path in loaded}
    depends = {}
    for program in programs:
        depends[os.path.basename(program)] = {reference[loaded[path]] for path in needed(program, by_soname)}
        depends[os.path.basename(program)] |= {made["bom-ref"] for made in components[len(reference):]}
    for path, package in loaded.items():
        direct = {reference[loaded[other]] for other in needed(path, by_soname)} - {reference[package]}
        depends.setdefault(reference[package], set()).update(direct)
    main = {"type": "application", "bom-ref": "evenkeel", "name": "evenkeel", "version": release(),
            "licenses": [{"license": {"id": "Apache-2.0"}}]}
    depends["evenkeel"] = {os.path.basename(program) for program in programs}
    for made in components:
        depends.setdefault(made["bom-ref"], set())
    made = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": main},
            "components": [application(program) for program in programs] + components,
            "dependencies": [{"ref": ref, "dependsOn": sorted(depends[ref])} for ref in sorted(depends)]}
    serial = uuid.uuid5(uuid.NAMESPACE_URL, hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest())
    return {"bomFormat": made.pop("bomFormat"), "specVersion": made.pop("specVersion"),
            "serialNumber": f"urn:uuid:{serial}", **made}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--output")
    parser.add_argument("program", nargs="*")
    options = parser.parse_args()
    programs = options.program or [os.path.join(options.build, "bin", name) for name in PROGRAMS]
    text = json.dumps(bill(options.build, [os.path.abspath(program) for program in programs]), indent=1) + "\n"
    if not options.output:
        sys.stdout.write(text)
        return
    with open(options.output, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
