"""Tests the bill of materials: valid CycloneDX 1.5, complete, and the same each time."""
import json
import os
import re
import subprocess
import sys
import unittest

import harness

sys.path.insert(0, os.path.join(harness.ROOT, "deploy"))
import sbom  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = [os.path.join(harness.BUILD, "bin", name) for name in sbom.PROGRAMS]
PURL = re.compile(r"^pkg:deb/debian/[a-z0-9.%2B+-]+@[A-Za-z0-9.%~+-]+\?arch=[a-z0-9]+&distro=debian-12$")
LINKAGES = {"shared", "header-only", "generated"}


def faults(bill):
    """Returns lines that say what breaks the rules of CycloneDX 1.5, or ours."""
    found = []

    def check(good, what):
        if not good:
            found.append(what)
    check(bill.get("bomFormat") == "CycloneDX" and bill.get("specVersion") == "1.5", "format")
    check(isinstance(bill.get("version"), int) and bill["version"] >= 1, "version")
    check(re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill.get("serialNumber", "")), "serial")
    components = [bill.get("metadata", {}).get("component", {}), *bill.get("components", [])]
    references = [component.get("bom-ref") for component in components]
    check(len(set(references)) == len(references), "a bom-ref stands twice")
    for component in components:
        name = component.get("name")
        check(component.get("type") in ("application", "library"), f"{name}: type")
        check(name and component.get("version") and component.get("bom-ref"), f"{name}: name, version, bom-ref")
        properties = component.get("properties", [])
        check(all(set(entry) == {"name", "value"} for entry in properties), f"{name}: properties")
        for entry in component.get("licenses", []):
            licence = entry.get("license", {})
            check(len(licence) == 1 and set(licence) <= {"id", "name"}, f"{name}: licence {entry}")
        if component.get("type") == "library":
            check(PURL.match(component.get("purl", "")), f"{name}: purl {component.get('purl')}")
            check([p["value"] for p in properties if p["name"] == "evenkeel:linkage"][:1] and
                  {p["value"] for p in properties if p["name"] == "evenkeel:linkage"} <= LINKAGES, f"{name}: linkage")
            elsewhere = any(entry["name"] == "evenkeel:licence" for entry in properties)
            check("licenses" in component or elsewhere, f"{name}: no licence")
    stated = [entry["ref"] for entry in bill.get("dependencies", [])]
    check(sorted(stated) == sorted(references), "dependencies name every component once")
    for entry in bill.get("dependencies", []):
        check(set(entry.get("dependsOn", [])) <= set(references), f"{entry['ref']}: depends on what is not there")
    return found


def files(bill):
    return {entry["value"] for component in bill["components"] for entry in component.get("properties", [])
            if entry["name"] == "evenkeel:file"}


class SbomTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bill = sbom.bill(harness.BUILD, PROGRAMS)

    def test_is_valid(self):
        self.assertEqual(faults(self.bill), [])

    def test_the_check_finds_faults(self):
        def broken(change):
            bill = json.loads(json.dumps(self.bill))
            change(bill)
            return faults(bill)
        library = next(i for i, component in enumerate(self.bill["components"]) if component["type"] == "library")
        self.assertTrue(broken(lambda bill: bill.update(specVersion="1.4")))
        self.assertTrue(broken(lambda bill: bill["components"].append(bill["components"][0])))
        self.assertTrue(broken(lambda bill: bill["components"][library].pop("version")))
        self.assertTrue(broken(lambda bill: bill["components"][library].update(purl="pkg:deb/other")))
        self.assertTrue(broken(lambda bill: bill["dependencies"].pop()))

    def test_covers_every_library_that_is_loaded(self):
        # This asks the running loader, not ldd, which the script asks.
        with harness.Server() as server:
            with open(f"/proc/{server.process.pid}/maps", encoding="utf-8") as maps:
                loaded = {line.split()[-1] for line in maps if ".so" in line}
        self.assertGreater(len(loaded), 20)
        self.assertEqual({os.path.realpath(path) for path in loaded} - files(self.bill), set())

    def test_names_what_is_compiled_in(self):
        linkage = {component["name"]: component["properties"][0]["value"] for component in self.bill["components"]
                   if component["type"] == "library"}
        for package in ("nlohmann-json3-dev", "libcli11-dev", "libxxhash-dev"):
            self.assertEqual(linkage.get(package), "header-only", package)
        self.assertEqual(linkage.get("libgrpc++1.51"), "shared")

    def test_the_list_of_runtime_packages_is_enough(self):
        wanted = {component["name"] for component in self.bill["components"]
                  if component.get("properties", [{}])[0].get("value") == "shared"}
        with open(os.path.join(harness.ROOT, "deploy/packages-runtime.txt"), encoding="utf-8") as file:
            listed = {line.split()[0] for line in file if line.strip() and not line.startswith("#")}
        left_out = [f"--no-{kind}" for kind in "recommends suggests conflicts breaks replaces enhances".split()]
        closure = subprocess.run(["apt-cache", "depends", "--recurse", *left_out, *sorted(listed)], check=True,
                                 stdout=subprocess.PIPE, text=True).stdout
        self.assertEqual(wanted - set(re.findall(r"^(\S+)$", closure, re.M)), set())

    def test_the_same_build_gives_the_same_bytes(self):
        command = [sys.executable, os.path.join(harness.ROOT, "deploy/sbom.py"), "--build", harness.BUILD]
        one, other = (harness.run(command) for _ in range(2))
        self.assertEqual(one.returncode, 0, one.stderr)
        self.assertEqual(one.stdout, other.stdout)
        self.assertEqual(json.loads(one.stdout), self.bill)


if __name__ == "__main__":
    unittest.main()
