"""Code that the linters share: the list of files, and C++ text without comments and literals."""
import argparse
import os
import re
import sys

SKIPPED_FOLDERS = {".git", ".cache", "__pycache__", "node_modules", "fixtures"}

# A comment, a raw string, a string or a character, whichever starts first. Digit separators (1'000) are not characters.
_CPP_NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])*\'', re.S)


def files(root, extensions, folders=()):
    """Yields paths relative to `root`, sorted, only those below `folders` unless that is empty."""
    found = []
    for folder, subfolders, names in os.walk(root):
        at_root = os.path.samefile(folder, root)
        subfolders[:] = sorted(s for s in subfolders
                               if s not in SKIPPED_FOLDERS and not (at_root and s.startswith("build")))
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), root)
            if name.endswith(tuple(extensions)) and (not folders or path.startswith(tuple(f + "/" for f in folders))):
                found.append(path)
    return sorted(found)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def strip_cpp(text):
    """Blanks comments, strings and characters, but keeps line numbers and columns' order."""
    def blank(match):
        found = match.group(0)
        keep = '""' if found[0] in '"R' else ""
        return keep + "\n" * found.count("\n")
    # An include keeps its quoted path, because it is code here.
    lines = [("" if re.match(r"\s*#\s*include", line) else line) for line in text.split("\n")]
    return _CPP_NOISE.sub(blank, "\n".join(lines))


def main(check, description):
    """Runs check(root) -> ["path:line: what"] and prints the findings. The exit status is 1 if there are any."""
    parser = argparse.ArgumentParser(description=description)
    default = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser.add_argument("root", nargs="?", default=default, help="tree to look at (default: this repository)")
    findings = check(parser.parse_args().root)
    for finding in findings:
        print(finding)
    sys.exit(1 if findings else 0)
