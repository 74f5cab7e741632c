#!/usr/bin/env python3
"""Checks the links of Markdown pages: the file is in the tree, and the page has the heading that an anchor names."""
import os
import re

import source_tree

# Code, in which brackets are not links. Blanked, so that lines keep their numbers.
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]+`", re.S | re.M)
_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+?)\s*$", re.M)
_ELSEWHERE = re.compile(r"[a-z]+:")


def anchors(text):
    """Returns the anchors that GitHub gives the headings of a page."""
    found = set()
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.S | re.M)
    for heading in _HEADING.findall(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        unique, number = anchor, 1
        while unique in found:
            unique, number = f"{anchor}-{number}", number + 1
        found.add(unique)
    return found


def page_findings(root, path):
    text = _CODE.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), source_tree.read(root, path))
    for link in _LINK.finditer(text):
        if _ELSEWHERE.match(link.group(1)):
            continue
        line = text.count("\n", 0, link.start()) + 1
        file, _, anchor = link.group(1).partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        if not os.path.exists(os.path.join(root, target)):
            yield f"{path}:{line}: there is no {target}"
        elif anchor and anchor not in anchors(source_tree.read(root, target)):
            yield f"{path}:{line}: {target} has no heading #{anchor}"


def check(root):
    return [finding for path in source_tree.files(root, (".md",)) for finding in page_findings(root, path)]


if __name__ == "__main__":
    source_tree.main(check, __doc__)
