#!/usr/bin/env python3
"""Writes what the package has from elsewhere in the repository: messages, service config, version.

    generate.py PACKAGE_FOLDER      (a folder `evenkeel`, such as src/evenkeel or a copy of it)

protoc parses the contract, this writes the modules: what protoc itself writes since its release 26 refuses older
protobuf runtimes, such as Debian 12's 4.21, and the way used here is the same in all of them.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROTO_PACKAGE = "evenkeel/v1"

MODULE = '''"""Messages of {proto}. Generated: do not edit."""
from google.protobuf import descriptor_pool as _descriptor_pool
from google.protobuf.internal import builder as _builder
{imports}
DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile({data!r})
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, globals())
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, {module!r}, globals())
'''


def source(*names):
    """Returns the path of a file of the repository. In a source distribution, these files are in `repository/`."""
    for root in (os.path.join(HERE, "repository"), os.path.join(HERE, os.pardir, os.pardir)):
        path = os.path.join(root, *names)
        if os.path.exists(path):
            return path
    raise FileNotFoundError(f"{os.path.join(*names)}: build in the repository, or from a source distribution")


def inputs():
    """Returns all files of the repository that the package is made from, relative to its root."""
    folder = source("proto", PROTO_PACKAGE)
    protos = sorted(name for name in os.listdir(folder) if name.endswith(".proto"))
    return [os.path.join("proto", PROTO_PACKAGE, name) for name in protos] + [
        os.path.join("deploy", "grpc", "service-config.json"), os.path.join("server", "convert", "version.h"),
        "LICENSE"]


def version():
    with open(source("server", "convert", "version.h"), encoding="utf-8") as file:
        return re.search(r'kReleaseVersion = "([^"]+)"', file.read()).group(1)


def run_protoc(arguments):
    try:
        from grpc_tools import protoc
    except ImportError:
        if shutil.which("protoc") is None:
            raise SystemExit("protoc is needed: install grpcio-tools, or Debian's protobuf-compiler") from None
        subprocess.run(["protoc", *arguments], check=True)
        return
    include = os.path.join(os.path.dirname(protoc.__file__), "_proto")
    if protoc.main(["protoc", *arguments, "-I", include]) != 0:
        raise SystemExit("protoc failed")


def module_text(file):
    """Returns the Python module of one FileDescriptorProto."""
    imports = [f"import {name[:-len('.proto')].replace('/', '.')}_pb2  # noqa: F401\n" for name in file.dependency]
    return MODULE.format(proto=file.name, imports="".join(imports), data=file.SerializeToString(),
                         module=file.name[:-len(".proto")].replace("/", ".") + "_pb2")


def write_messages(package):
    from google.protobuf import descriptor_pb2
    proto = os.path.dirname(os.path.dirname(source("proto", PROTO_PACKAGE)))
    names = [os.path.relpath(source(path), proto) for path in inputs() if path.endswith(".proto")]
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "set")
        run_protoc(["-I", proto, f"--descriptor_set_out={out}", f"--pyi_out={folder}", *names])
        files = descriptor_pb2.FileDescriptorSet()
        with open(out, "rb") as file:
            files.ParseFromString(file.read())
        os.makedirs(os.path.join(package, "v1"), exist_ok=True)
        for file in files.file:
            at = os.path.join(package, "v1", os.path.basename(file.name)[:-len(".proto")] + "_pb2.py")
            with open(at, "w", encoding="utf-8") as module:
                module.write(module_text(file))
            shutil.copy(os.path.join(folder, file.name[:-len(".proto")] + "_pb2.pyi"), os.path.dirname(at))


def write_service_config(package):
    """Writes the shipped config as plain JSON, so that it is parsed here and not in each process."""
    with open(source("deploy", "grpc", "service-config.json"), encoding="utf-8") as file:
        config = json.load(file)
    with open(os.path.join(package, "service_config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file, indent=1)
        file.write("\n")


def generate(package):
    write_messages(package)
    write_service_config(package)
    with open(os.path.join(package, "_version.py"), "w", encoding="utf-8") as file:
        file.write(f'"""Release of the project. Generated: do not edit."""\n__version__ = "{version()}"\n')


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    generate(sys.argv[1])
