"""Hand-made frames of HTTP/2, for peers that no client library imitates."""
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7
END_STREAM, END_HEADERS = 1, 4


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def call_headers(path):
    """Returns the header block of a gRPC call: literals that leave no trace in the peer's table."""
    block = b""
    for name, value in ((":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "localhost"),
                        ("te", "trailers"), ("content-type", "application/grpc")):
        block += b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
    return block


def frames(data):
    """Yields (kind, flags, stream, payload) of every whole frame."""
    at = 0
    while at + 9 <= len(data):
        length = int.from_bytes(data[at:at + 3], "big")
        if at + 9 + length > len(data):
            return
        yield data[at + 3], data[at + 4], int.from_bytes(data[at + 5:at + 9], "big"), data[at + 9:at + 9 + length]
        at += 9 + length
