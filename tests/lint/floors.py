#!/usr/bin/env python3
"""Holds the floors of the planner, of the server's conversions and of the command line: includes go down only, and no
units include each other in a circle.

A unit is a header with its source of the same name. A unit's floor is that of the longest beginning of its path that
the table declares. Rooms of one floor do not include each other.
"""
import collections
import re

import source_tree

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)

# Lowest first. Each floor lists its rooms. A room that ends in "/" is a folder; any other one is a unit.
PLANNER = [
    ["planner/base/"],
    ["planner/model/"],
    ["planner/catalog/", "planner/hardware/", "planner/trainer/", "planner/workload/"],
    # Values that the job and the plan contain.
    ["planner/calibration", "planner/launch", "planner/plan_hooks", "planner/space/parallelism",
     "planner/space/placement", "planner/cost/cost_constants", "planner/cost/memory_parts", "planner/packing/packing"],
    ["planner/job"],
    # Parts of a plan. Some contain others (grouping.h, misfit.h).
    ["planner/plan/"],
    ["planner/plan", "planner/catalog/default_dataset"],
    ["planner/space/"],
    ["planner/cost/"],
    ["planner/packing/", "planner/recompute/"],
    ["planner/simulate/"],
    ["planner/partition/"],
    ["planner/candidates/"],
    ["planner/cuts/"],
    ["planner/search/"],
    ["planner/choose/"],
    ["planner/explain/"],
    ["planner/groups/", "planner/check/"],
    ["planner/evaluate_plan", "planner/plan_figures"],
    ["planner/launch/", "planner/baselines/"],
    ["planner/make_plan", "planner/plan_timeline"],
    ["planner/offers"],
]
CLI = [
    ["client/cli/base/"],
    ["client/cli/media/", "client/cli/collectives/", "client/cli/report/"],
    ["client/cli/dataset/"],
    ["client/cli/job/", "client/cli/backend/"],
    ["client/cli/render/"],
    ["client/cli/from/settings/"],
    ["client/cli/from/shell/"],
    ["client/cli/from/read/"],
    ["client/cli/from/run/"],
    ["client/cli/from/advise/", "client/cli/launch/", "client/cli/pack/", "client/cli/timeline/"],
    ["client/cli/commands/"],
    ["client/cli/app"],
    ["client/cli/main"],
]
# Code that all rooms use lies in server/convert itself.
CONVERT = [
    ["server/convert/"],
    ["server/convert/config/"],
    ["server/convert/model/"],
    ["server/convert/dataset/", "server/convert/packing/"],
    ["server/convert/job/"],
    ["server/convert/profile/"],
    ["server/convert/answer/"],
]
FLOORS = {"planner/": PLANNER, "server/convert/": CONVERT, "client/cli/": CLI}

# Folders in which units must not form a circle.
NO_CYCLES = ("planner", "server", "client/cli")


def unit_of(path):
    return re.sub(r"\.(h|cc)$", "", path)


def room_of(unit, floors):
    """Returns the floor's number and the room, or None if no floor has a room for the unit."""
    rooms = [(len(room), floor, room) for floor, rooms in enumerate(floors) for room in rooms
             if unit == room or (room.endswith("/") and unit.startswith(room))]
    return max(rooms)[1:] if rooms else None


def edges_of(root, folders):
    """Returns all quoted includes between different units: unit -> [(path, line, unit)]."""
    edges = collections.defaultdict(list)
    for path in source_tree.files(root, (".h", ".cc"), folders):
        text = source_tree.read(root, path)
        edges[unit_of(path)] += [(path, text.count("\n", 0, match.start(1)) + 1, unit_of(match.group(1)))
                                 for match in INCLUDE.finditer(text) if unit_of(match.group(1)) != unit_of(path)]
    return edges


def cycles(edges):
    """Returns the strongly connected sets of more than one unit (Tarjan 1972)."""
    number, low, stack, found = {}, {}, [], []

    def visit(unit):
        number[unit] = low[unit] = len(number)
        stack.append(unit)
        for to in sorted({to for _, _, to in edges[unit] if to in edges}):
            if to not in number:
                visit(to)
                low[unit] = min(low[unit], low[to])
            elif to in stack:
                low[unit] = min(low[unit], number[to])
        if low[unit] == number[unit]:
            at = stack.index(unit)
            members, stack[at:] = sorted(stack[at:]), []
            if len(members) > 1:
                found.append(members)

    for unit in sorted(edges):
        if unit not in number:
            visit(unit)
    return sorted(found)


def cycle_findings(edges):
    for members in cycles(edges):
        for unit in members:
            for path, line, to in edges[unit]:
                if to in members:
                    yield f"{path}:{line}: cycle of units: {', '.join(members)}"


def floor_findings(root, folder, floors):
    edges = edges_of(root, (folder.rstrip("/"),))
    for unit in sorted(edges):
        mine = room_of(unit, floors)
        for path, line, to in edges[unit]:
            other = room_of(to, floors)
            if not to.startswith(folder) or mine == other:
                continue
            if mine is None or other is None:
                yield f"{path}:{line}: {unit if mine is None else to} has no floor"
            elif other[0] >= mine[0]:
                yield f"{path}:{line}: {mine[1]} may not include {other[1]}, which is not below it"


def check(root):
    return [*(finding for folder, floors in FLOORS.items() for finding in floor_findings(root, folder, floors)),
            *(finding for folder in NO_CYCLES for finding in cycle_findings(edges_of(root, (folder,))))]


if __name__ == "__main__":
    source_tree.main(check, __doc__)
