#!/usr/bin/env python3
"""Holds the dependency rules: client -> proto <- server -> planner, and the order of folders inside the planner.

Linking does not hold them: with packaged libraries every header is on the include path. So this reads the includes.
"""
import re

import source_tree

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)

# The parts of the searches, and the searches themselves.
PARTS = {"base", "catalog", "cost", "packing", "recompute", "simulate", "partition", ""}
SEARCHES = {"candidates", "cuts", "search"}

# Planner folders that a planner folder may include, besides itself. "" is planner/*.h: job.h, plan.h and the doors.
PLANNER = {
    "base": {"base"},
    "catalog": {"base", ""},
    "cost": {"base", "catalog", ""},
    "packing": {"base", "catalog", "cost", ""},
    "recompute": {"base", "catalog", "cost", ""},
    "simulate": {"base", "catalog", "cost", "packing", "recompute", ""},
    "partition": {"base", "catalog", "cost", "recompute", "simulate", ""},
    "candidates": PARTS,
    # Cuts under schedules other than 1F1B, and the cut that needs least memory.
    "cuts": PARTS | {"candidates"},
    "search": PARTS | {"candidates", "cuts"},
    # Searches around the search: choices for which it is repeated, such as caps, offloads and sizes.
    "choose": PARTS | SEARCHES,
    # Additions to a chosen plan: changes that make it fit, the gains of other jobs, and its parts.
    "explain": PARTS | SEARCHES | {"choose"},
    "groups": PARTS | SEARCHES | {"explain"},
    # Published methods that plans are only compared with: no method of ours includes them. Methods that the search
    # starts from, or that a job may ask for, stay where the code that runs them is: packers (packing/isf.h,
    # packing/next_fit.h), cuts (partition/methods.h), recompute (recompute/adaptive_recompute.h).
    "baselines": PARTS | SEARCHES | {"groups"},
    # The checker shares nothing with the search except the cost equations, and the values that it judges.
    "check": {"base", "catalog", "cost", "packing", "simulate", ""},
    "launch": {"base", "catalog", "cost", "packing", "explain", ""} | SEARCHES,
    "": PARTS | SEARCHES | {"choose", "explain", "groups", "check", "launch", "baselines"},
}

# Low rooms of plain words (floors.py says which of them is below which).
PLANNER["model"] = {"base"}
PLANNER["hardware"] = {"base"}
PLANNER["trainer"] = {"base"}
PLANNER["workload"] = {"base", "model"}
PLANNER["space"] = {"base", "catalog", "hardware", "model", "trainer", "workload", ""}
PLANNER["plan"] = {"base", "cost", "packing", ""}
for _folder in PLANNER.keys() - {"base", "model", "hardware", "trainer", "workload", "space"}:
    PLANNER[_folder] |= {"model", "hardware", "trainer", "workload", "space"}
for _folder in PLANNER.keys() - {"base", "model", "hardware", "trainer", "workload", "plan"}:
    PLANNER[_folder].add("plan")
PLANNER["catalog"] -= {"hardware", "trainer"}

# Callers enter by these. Every other planner/*.h is a plain value.
DOORS = ("planner/make_plan", "planner/plan_figures", "planner/evaluate_plan", "planner/plan_timeline",
         "planner/offers")

# Plain values that job.h and plan.h contain.
PLAIN_VALUES = {"planner/cost/cost_constants.h", "planner/cost/memory_parts.h", "planner/hardware/gpu_spec.h",
                "planner/packing/packing.h", "planner/space/parallelism.h", "planner/space/placement.h",
                "planner/trainer/execution.h", "planner/trainer/optimizer.h", "planner/trainer/precision.h",
                "planner/trainer/trainers.h", "planner/workload/dataset.h",
                "planner/workload/per_encoder.h"}

# Standard headers that bring in a clock, chance, threads, files, or an order that differs from run to run.
PLANNER_BANNED_HEADERS = set(
    "atomic barrier chrono condition_variable ctime filesystem fstream future iostream latch locale mutex random "
    "semaphore shared_mutex stop_token thread unordered_map unordered_set".split())
PLANNER_BANNED_CALLS = [
    (r"\bgetenv\s*\(", "the environment"),
    (r"(?<![\w.>])(?:std::)?time\s*\(", "the clock"),
    (r"\b(?:clock_gettime|gettimeofday)\s*\(", "the clock"),
    (r"(?<![\w.>])(?:std::)?s?rand\s*\(", "chance without a seed"),
    (r"\bstd::\w+_distribution\b", "std::*_distribution differs between standard libraries"),
    (r"\bunordered_(?:multi)?(?:map|set)\b", "unordered containers have no fixed order"),
    (r"\b(?:f|p)open\s*\(", "files"),
    (r"\b(?:std::)?(?:cout|cerr|clog|printf|fprintf)\b", "output"),
    (r"\bstd::(?:pow|exp|exp2|expm1|log|log2|log10|log1p|sin|cos|tan|tanh|erf|cbrt|hypot|tgamma)\s*\(",
     "this function is not exact to the last bit on every platform"),
    (r"\bthread_local\b", "threads"),
]

# The parts of Abseil that give the same result in every run. Hash containers have another order in every process.
PLANNER_ABSEIL = ("absl/strings/", "absl/types/span.h", "absl/container/btree_")

# Banned everywhere, also in tests: the header's beginning, and why.
BANNED_LIBRARIES = [
    ("absl/synchronization/", "ThreadSanitizer reports false races in the packaged library: use server/base/mutex.h"),
]

# Standard headers whose locks the thread-safety analysis does not understand.
LOCK_HEADERS = {"condition_variable", "mutex", "shared_mutex"}

# Libraries: the header's beginning, and the only places where it may be included (except tests).
LIBRARIES = [
    ("grpcpp/", ("server/rpc/", "server/listener/", "server/tracing/otlp_sender", "server/server.", "server/main.cc",
                 "client/")),
    ("grpc/", ("server/rpc/", "server/listener/", "server/server.", "server/main.cc", "client/")),
    ("prometheus/", ("server/metrics/",)),
    ("spdlog/", ("server/", "client/")),
    ("openssl/", ("server/",)),
    ("lmdb.h", ()),
    ("hiredis/", ("server/redis/",)),
    ("httplib.h", ("server/admin/", "client/cli/backend/admin_client.cc")),
    ("yaml-cpp/", ("client/cli/from/",)),
    ("toml++/", ("client/cli/from/",)),
    ("CLI/", ("server/options", "server/main.cc", "server/store/main.cc", "client/")),
    ("nlohmann/", ("client/", "server/auth/", "server/admin/", "server/convert/config/")),
    ("absl/", ("server/", "client/")),
]
# Parts of server/ that stay free of gRPC, metrics and logging, so that the command line can link them.
CORE = ("server/base/", "server/convert/", "server/core/", "server/planning/", "server/calibration/", "server/cache/",
        "server/redis/", "server/auth/", "server/store/")


def generated(header):
    return header.endswith(".pb.h")


# Server folders that a server folder may include, besides itself. "" is server/*.h: options, logs and the wiring, which
# may include all. The core keeps opaque records: it knows neither messages (convert) nor what plans (planning).
SERVER = {
    "base": set(),
    "auth": {"base"},
    "convert": {"base"},
    "core": {"base"},
    "planning": {"base", "convert", "core"},
    "cache": {"base", "core"},
    "calibration": {"base", "cache", "convert", "core"},
    "redis": {"base", "calibration", "core"},
    "store": {"base", "calibration", "redis"},
    "tracing": {"base"},
    "metrics": {"auth", "base", "calibration", "core", "redis", "tracing"},
    "admin": {"base", "metrics", ""},
    "rpc": {"auth", "base", "cache", "calibration", "convert", "core", "metrics", "planning", "tracing", ""},
    "listener": {"base", "metrics", "rpc", ""},
}

# Headers of the planner that a server folder may include. Folders that are not listed neither include it nor name its
# types. Core and metrics take the phases and hooks from make_plan.h.
_HOOKS = ("planner/make_plan.h", "planner/plan_hooks.h")
SERVER_PLANNER = {"": ("planner/",), "convert": ("planner/",), "planning": ("planner/",), "calibration": ("planner/",),
                  "core": _HOOKS, "metrics": _HOOKS}


def server_folder(path):
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else ""


def planner_folder(path):
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else ""


def planner_findings(path, bracket, header):
    if bracket == '"' or "/" in header or header.endswith(".h"):
        if header.startswith(PLANNER_ABSEIL):
            return
        if not header.startswith("planner/"):
            yield ("planner/ includes only itself, the standard library and what is deterministic of Abseil, "
                   f"not {header}")
            return
        mine, other = planner_folder(path), planner_folder(header)
        if mine in PLANNER and other != mine and other not in PLANNER[mine]:
            yield f"planner/{mine} may not include planner/{other}"
        if mine == "check" and header == "planner/space/degrees.h":
            yield "planner/check may not include the enumeration that the search uses"
        plain = other in ("", "base", "catalog", "model", "plan") or header in PLAIN_VALUES
        if mine == "" and not path.startswith(DOORS) and not plain:
            yield f"{path} is a plain value and may not include planner/{other}"
    elif header in PLANNER_BANNED_HEADERS:
        yield f"the planner may not include <{header}>"


def banned_findings(path, header):
    for beginning, why in BANNED_LIBRARIES:
        if header.startswith(beginning):
            yield f"{beginning}* is banned: {why}"
    if path.startswith(("server/", "client/")) and header in LOCK_HEADERS and path != "server/base/mutex.h":
        yield f"<{header}> only in server/base/mutex.h, whose locks clang checks"


def library_findings(path, header):
    for beginning, places in LIBRARIES:
        if header.startswith(beginning) and not path.startswith(places):
            yield f"{beginning}* belongs in {', '.join(places) or 'no file of ours'}"
    if generated(header):
        of_otlp = header.startswith("server/tracing/") and path == "server/tracing/otlp_sender.cc"
        if path.startswith("server/") and not of_otlp and not path.startswith(
                ("server/convert/", "server/rpc/", "server/server.", "server/main.cc")):
            yield "generated messages belong in server/convert, server/rpc and client"
        if header.endswith(".grpc.pb.h") and path.startswith(CORE):
            yield "server/convert and server/core are free of gRPC"


def direction_findings(path, header):
    if path.startswith("server/"):
        if header.startswith("client/"):
            yield "the server may not include the client"
        mine, other = server_folder(path), server_folder(header)
        if mine and header.startswith("server/") and other != mine and other not in SERVER.get(mine, set()):
            yield f"server/{mine} may not include server/{other}"
        if header.startswith("planner/") and not header.startswith(SERVER_PLANNER.get(mine, ("nothing",))):
            yield f"server/{mine} may not include {header}"
        if path.startswith(CORE) and re.match(r"server/(rpc|metrics|server\.|options)", header):
            yield "server/convert and server/core may not include server/rpc, server/metrics or the wiring"
    if path.startswith("client/") and re.match(r"server/(?!base/|convert/|core/|planning/)", header):
        yield "the client may include only the gRPC-free core of the server (for --local)"
    if header.startswith("tests/"):
        yield "nothing outside tests/ includes tests/"


def file_findings(root, path):
    text = source_tree.read(root, path)
    includes = [(text.count("\n", 0, m.start(1)) + 1, m.group(1), m.group(2)) for m in INCLUDE.finditer(text)]
    for line, bracket, header in includes:
        if path.startswith("planner/"):
            whats = planner_findings(path, bracket, header)
        elif path.startswith("tests/planner/"):
            bad = generated(header) or header.startswith(("grpc", "server/", "client/", "prometheus/"))
            whats = [f"tests of the planner need no {header}"] if bad else []
        elif path.startswith("tests/"):
            whats = []
        else:
            whats = [*library_findings(path, header), *direction_findings(path, header)]
        for what in [*whats, *banned_findings(path, header)]:
            yield f"{path}:{line}: {what}"
    headers = [header for _, _, header in includes]
    both = any(generated(h) for h in headers) and any(h.startswith("planner/") for h in headers)
    if both and path.startswith("server/") and not path.startswith("server/convert/"):
        yield f"{path}:1: only server/convert knows both messages and the planner"
    if path.startswith("server/"):
        folder = server_folder(path)
        if folder and folder not in SERVER:
            yield f"{path}:1: server/{folder} has no floor"
        if folder not in SERVER_PLANNER and "planner::" in source_tree.strip_cpp(text):
            yield f"{path}:1: server/{folder} may not name types of the planner"
    if path.startswith("planner/"):
        code = source_tree.strip_cpp(text)
        for pattern, why in PLANNER_BANNED_CALLS:
            for match in re.finditer(pattern, code):
                yield f"{path}:{code.count(chr(10), 0, match.start()) + 1}: banned in the planner: {why}"


def check(root):
    paths = source_tree.files(root, (".h", ".cc"), ("planner", "server", "client", "tests"))
    return [finding for path in paths for finding in file_findings(root, path)]


if __name__ == "__main__":
    source_tree.main(check, __doc__)
