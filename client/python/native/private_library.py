#!/usr/bin/env python3
"""Copies a shared library under another name, for only one user.

    private_library.py LIBRARY COPY

Two things are changed in the copy. Its soname is the name of COPY's file: the dynamic linker takes a library that is
loaded for every other one of its soname. And its unique symbols (STB_GNU_UNIQUE: variables of inline functions) are
ordinary ones: the dynamic linker joins unique symbols of all libraries of a process, even of those loaded privately.
Sections keep their places and sizes, so the new name may not be longer than the old one.
"""
import os
import struct
import sys

DYNAMIC, DYNSYM, SONAME, UNIQUE, GLOBAL = 6, 11, 14, 10, 1


def sections(data):
    """Returns type, offset, size and link of each section of a 64-bit little-endian ELF file."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise SystemExit("private_library.py: no 64-bit little-endian ELF library")
    table, = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    for index in range(count):
        _, kind, _, _, offset, length, link, _, _, _ = struct.unpack_from("<IIQQQQIIQQ", data, table + index * size)
        yield kind, offset, length, link


def rename(data, all_sections, name):
    for kind, offset, length, link in all_sections:
        if kind != DYNAMIC:
            continue
        for at in range(offset, offset + length, 16):
            tag, value = struct.unpack_from("<QQ", data, at)
            if tag == SONAME:
                begin = all_sections[link][1] + value
                old = data[begin:data.index(0, begin)]
                if len(name) > len(old):
                    raise SystemExit(f"private_library.py: {name.decode()} is longer than {old.decode()}")
                data[begin:begin + len(old)] = name.ljust(len(old), b"\0")
                return
    raise SystemExit("private_library.py: the library has no soname")


def make_ordinary(data, all_sections):
    for kind, offset, length, _ in all_sections:
        if kind == DYNSYM:
            for at in range(offset + 4, offset + length, 24):
                if data[at] >> 4 == UNIQUE:
                    data[at] = GLOBAL << 4 | data[at] & 15


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    with open(sys.argv[1], "rb") as file:
        data = bytearray(file.read())
    found = list(sections(data))
    rename(data, found, os.path.basename(sys.argv[2]).encode())
    make_ordinary(data, found)
    with open(sys.argv[2], "wb") as file:
        file.write(data)
    os.chmod(sys.argv[2], 0o755)


if __name__ == "__main__":
    main()
