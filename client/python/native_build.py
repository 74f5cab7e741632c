"""Compiles the planner for the package: CMake on the whole repository, with nothing but the extension as its target.

Environment: EVENKEEL_PURE=1 leaves the planner out, so that nothing is compiled. EVENKEEL_BUILD_DIR is the folder to
compile in, or one that was: then only what changed is compiled. Without, it is build/python of the repository.
"""
import os
import shutil
import subprocess
import sys
import tempfile

import generate

MODULE = "_native.abi3.so"
LIBRARIES = "_libraries"  # protobuf's, only for the module, and Abseil's
# The files that the target reads, relative to the root. A folder stands for all of its files.
SOURCES = ("CMakeLists.txt", "proto", "planner", "server/CMakeLists.txt", "server/base", "server/convert",
           "server/core", "server/planning", "client/CMakeLists.txt", "client/local", "client/python/native")
# Licences of what the products contain, where Debian's packages have them.
NOTICES = {name: f"/usr/share/doc/{name}/copyright"
           for name in ("libprotobuf-dev", "libabsl-dev", "nlohmann-json3-dev")}
HELP = """
The planner of this package is compiled from C++. On Debian 12 that needs the packages of deploy/packages-python.txt:

    deploy/install-packages.sh python

For the client of a server alone, compile nothing: EVENKEEL_PURE=1 pip install ...
"""


def wanted():
    return os.environ.get("EVENKEEL_PURE", "0") in ("", "0")


def inputs():
    """Returns all files that SOURCES name, relative to the root."""
    root = os.path.dirname(generate.source("CMakeLists.txt"))
    for name in SOURCES:
        path = os.path.join(root, name)
        if os.path.isfile(path):
            yield name
        for folder, _, files in os.walk(path):
            for file in files:
                if file.endswith((".h", ".cc", ".proto", ".txt", ".cmake", ".map", ".py")):
                    yield os.path.relpath(os.path.join(folder, file), root)


def build_folder(root):
    given = os.environ.get("EVENKEEL_BUILD_DIR")
    if given:
        return os.path.abspath(given), False
    if os.path.basename(root) == "repository" or not os.access(root, os.W_OK):  # a source distribution
        return tempfile.mkdtemp(prefix="evenkeel-native-"), True
    return os.path.join(root, "build", "python"), False


def run(*command):
    print(" ".join(command), flush=True)
    try:
        subprocess.run(command, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"{command[0]} failed: {error}\n{HELP}") from None


def build(package):
    """Compiles, and copies the products into the folder of the package."""
    for program in ("cmake", "protoc"):
        if shutil.which(program) is None:
            raise SystemExit(f"{program} is not there.\n{HELP}")
    root = os.path.realpath(os.path.dirname(generate.source("CMakeLists.txt")))
    folder, temporary = build_folder(root)
    try:
        ninja = ("-G", "Ninja") if shutil.which("ninja") else ()
        run("cmake", "-S", root, "-B", folder, *ninja, "-DEVENKEEL_ONLY_PYTHON=ON", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
            "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -DNDEBUG", f"-DPython3_EXECUTABLE={sys.executable}")
        parallel = () if ninja or os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") else ("-j", str(os.cpu_count() or 1))
        run("cmake", "--build", folder, "--target", "evenkeel_python", *parallel)
        os.makedirs(package, exist_ok=True)
        shutil.copy(os.path.join(folder, "package", MODULE), package)
        shutil.copytree(os.path.join(folder, "package", LIBRARIES), os.path.join(package, LIBRARIES),
                        dirs_exist_ok=True)
        for name, path in NOTICES.items():
            if os.path.exists(path):
                shutil.copy(path, os.path.join(package, f"LICENSE.{name}"))
    finally:
        if temporary:
            shutil.rmtree(folder, ignore_errors=True)
