#!/usr/bin/env python3
"""Style rules that no formatter holds: lengths of files, functions and lines, leftovers, paths of one machine."""
import ast
import re

import source_tree

MAX_FILE_LINES = 500
# The contract is half comments, and the catalogue is a table, so splitting them does not help readers.
MAX_LONG_FILE_LINES = 800
LONG_FILES = re.compile(r"^(proto/evenkeel/.*\.proto|planner/catalog/\w+\.cc)$")
MAX_FUNCTION_LINES = 70
MAX_COLUMNS = 120

# Texts from elsewhere, and data.
FOREIGN = ("proto/google/", "proto/grpc/")
GENERATED = re.compile(r"_pb2\.py$")  # in the sources if the Python package is installed in editable form
EXTENSIONS = (".h", ".cc", ".proto", ".py", ".sh", ".cmake", "CMakeLists.txt", "Dockerfile", ".yaml", ".md", ".ci/run")

LEFTOVER = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
# A template for mkdtemp is not a path of one machine.
MACHINE_PATH = re.compile(r"(?<![\w.$}])/(?:work|root|home|tmp)/(?!\S*XXXXXX)[\w.]")
_CONTAINER = re.compile(r"\b(namespace|class|struct|union|enum)\b|\bextern\s*\"\"")
_NOT_FUNCTION = re.compile(r"(?<![=!<>+\-*/%&|^])=(?!=)")


def _is_function(head):
    """Returns whether the text between the last delimiter and a brace begins a function's body."""
    if "(" not in head or re.match(r"\s*#", head):
        return False
    # An assignment outside parentheses is a table or a value, unless it names an operator.
    outside = re.sub(r"\([^()]*\)", "", re.sub(r"\([^()]*\)", "", head))
    return "operator" in head or not _NOT_FUNCTION.search(outside)


def cpp_functions(text):
    """Yields (line, length) of every function that is not inside another."""
    code = source_tree.strip_cpp(text)
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m.group(0).count("\n"), code, flags=re.M)
    depth, start, head_from = 0, None, 0
    inside = 0  # brace depth at which the current function was opened; 0 if none
    for at, character in enumerate(code):
        if character == "{":
            depth += 1
            if not inside:
                head = code[head_from:at]
                if not (_CONTAINER.search(head) and "(" not in head) and _is_function(head):
                    inside, start = depth, head_from + len(head) - len(head.lstrip())
                head_from = at + 1
        elif character == "}":
            if inside == depth:
                first = code.count("\n", 0, start) + 1
                yield first, code.count("\n", 0, at) + 2 - first
                inside = 0
            depth -= 1
            if not inside:
                head_from = at + 1
        elif character == ";" and not inside:
            head_from = at + 1


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno - node.lineno + 1


def guard_findings(path, text):
    guard = "EVENKEEL_" + re.sub(r"[/.\-]", "_", path).upper() + "_"
    if f"#ifndef {guard}\n#define {guard}\n" not in text:
        yield f"{path}:1: the include guard must be {guard}"


def line_findings(path, text):
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MAX_COLUMNS and not path.endswith(".md"):
            yield f"{path}:{number}: {len(line)} columns, at most {MAX_COLUMNS}"
        if line != line.rstrip() and not path.endswith(".md"):
            yield f"{path}:{number}: space at the end of the line"
        if "\t" in line:
            yield f"{path}:{number}: tabulator"
        if LEFTOVER.search(line):
            yield f"{path}:{number}: leftover {LEFTOVER.search(line).group(0)}"
        if MACHINE_PATH.search(line):
            yield f"{path}:{number}: path of one machine"


def file_findings(root, path):
    text = source_tree.read(root, path)
    lines = text.count("\n")
    if text and not text.endswith("\n"):
        yield f"{path}:{lines + 1}: no newline at the end"
    most = MAX_LONG_FILE_LINES if LONG_FILES.match(path) else MAX_FILE_LINES
    if lines > most and not path.endswith(".md"):
        yield f"{path}:1: {lines} lines, at most {most}"
    yield from line_findings(path, text)
    if path.endswith(".h"):
        yield from guard_findings(path, text)
    functions = []
    if path.endswith((".h", ".cc")):
        functions = cpp_functions(text)
    elif path.endswith(".py"):
        functions = python_functions(text)
    for line, length in functions:
        if length > MAX_FUNCTION_LINES:
            yield f"{path}:{line}: function of {length} lines, at most {MAX_FUNCTION_LINES}"


def check(root):
    paths = [p for p in source_tree.files(root, EXTENSIONS) if not p.startswith(FOREIGN) and not GENERATED.search(p)]
    return [finding for path in paths for finding in file_findings(root, path)]


if __name__ == "__main__":
    source_tree.main(check, __doc__)
