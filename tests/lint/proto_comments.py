#!/usr/bin/env python3
"""Holds the contract's conventions that buf does not: a comment on every element, a blank line between the fields of a
message, signed integers, units in names."""
import re

import source_tree

ELEMENT = re.compile(
    r"^\s*(?:(?P<block>message|enum|service|oneof)\s+(?P<name>\w+)\s*\{"
    r"|rpc\s+(?P<rpc>\w+)\s*\("
    r"|(?:(?:repeated|optional)\s+)?(?P<type>map<[^>]*>|[\w.]+)\s+(?P<field>\w+)\s*=\s*\d+\s*[;\[]"
    r"|(?P<value>[A-Z][A-Z0-9_]*)\s*=\s*-?\d+\s*[;\[])")

UNSIGNED = re.compile(r"^(u?fixed|uint)(32|64)$")
# Endings that hide a factor, because sizes are in bytes and times in seconds.
WRONG_UNIT = re.compile(
    r"_(ms|us|ns|millis|micros|nanos|minutes|hours|kb|mb|gb|tb|kib|mib|gib|gbps|tflops|percent|pct)$")
# A number whose name contains one of these words must end in its unit.
QUANTITY = [
    (re.compile(r"(^|_)(time|duration|latency|deadline|age|timeout|delay)($|_)"), ("_seconds",)),
    (re.compile(r"(^|_)(memory|workspace|activations|weights|gradients|short|free|capacity)($|_)"),
     ("_bytes", "_bytes_per_second")),
    (re.compile(r"(^|_)(bandwidth|speed)($|_)"), ("_bytes_per_second",)),
]
# Floating-point figures carry a unit, or one of these words that say they have none.
DOUBLE_ENDINGS = ("_seconds", "_bytes", "_per_second", "_flops", "_watts", "_days", "_ratio", "_tokens", "_units",
                  "_per_pack", "_per_gpu_hour", "_per_step", "_per_unit", "_per_token", "_per_squared_token")
DIMENSIONLESS = re.compile(r"(^|_)(ratio|gap|share|weight|mfu|cost|mean|samples|fill|spread|trend)($|_)")
NUMBERS = {"double", "float", "int32", "int64", "sint32", "sint64"}


def name_findings(kind, name):
    if UNSIGNED.match(kind):
        yield f"{name}: integers are signed, not {kind}"
    if kind not in NUMBERS:
        return
    if WRONG_UNIT.search(name):
        yield f"{name}: sizes are bytes and times are seconds"
    for pattern, endings in QUANTITY:
        if pattern.search(name) and not name.endswith(endings) and "ratio" not in name.split("_"):
            yield f"{name}: needs the unit as its ending, {' or '.join(endings)}"
    if kind in ("double", "float") and not name.endswith(DOUBLE_ENDINGS) and not DIMENSIONLESS.search(name):
        yield f"{name}: needs a unit as its ending, such as {', '.join(DOUBLE_ENDINGS[:4])}"


def crowded(lines):
    """Yields the numbers of comments that follow a field of the same message without a blank line."""
    blocks = []
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text.startswith("//"):
            before = lines[number - 2].strip()
            field = before.endswith(";") and not before.startswith("//")
            if field and blocks and blocks[-1] == "message":
                yield number
        elif text.endswith("{"):
            blocks.append(text.split()[0])
        elif text.startswith("}") and blocks:
            blocks.pop()


def file_findings(root, path):
    lines = source_tree.read(root, path).split("\n")
    for number in crowded(lines):
        yield f"{path}:{number}: needs a blank line before it, as between all fields of a message"
    for number, line in enumerate(lines, 1):
        match = ELEMENT.match(line)
        if not match or line.lstrip().startswith(("//", "option ", "reserved ", "return ")):
            continue
        name = next(match.group(g) for g in ("name", "rpc", "field", "value") if match.group(g))
        before = lines[number - 2].strip() if number > 1 else ""
        if not before.startswith("//") and "//" not in line:
            yield f"{path}:{number}: {name} has no comment"
        if match.group("field"):
            for what in name_findings(match.group("type"), name):
                yield f"{path}:{number}: {what}"


def check(root):
    paths = source_tree.files(root, (".proto",), ("proto/evenkeel",))
    return [finding for path in paths for finding in file_findings(root, path)]


if __name__ == "__main__":
    source_tree.main(check, __doc__)
