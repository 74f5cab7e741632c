#!/usr/bin/env python3
"""Finds constants of an unnamed namespace that hide a header's.

The sources of a folder are compiled as one. There, such a constant silently replaces the header's in every source that
follows: the limit of one search became the limit of another that way.
"""
import re

import source_tree

TOPS = ("planner", "server", "client")
CONSTANT = re.compile(r"^(?:inline |static )?(?:constexpr|const)\b[^=({;\n]*?\b(\w+)(?:\[\w*\])?\s*[={]", re.M)


def check(root):
    findings = []
    for top in TOPS:
        of_headers = {}
        for path in source_tree.files(root, (".h",), (top,)):
            for match in CONSTANT.finditer(source_tree.strip_cpp(source_tree.read(root, path))):
                of_headers.setdefault(match[1], path)
        for path in source_tree.files(root, (".cc",), (top,)):
            code = source_tree.strip_cpp(source_tree.read(root, path))
            for match in CONSTANT.finditer(code):
                if match[1] in of_headers:
                    line = code.count("\n", 0, match.start(1)) + 1
                    header = of_headers[match[1]]
                    findings.append(f"{path}:{line}: {match[1]} hides that of {header}")
                    findings.append(f"{header}:1: {match[1]} is hidden by that of {path}")
    return findings


if __name__ == "__main__":
    source_tree.main(check, __doc__)
