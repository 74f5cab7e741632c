"""Channels: credentials, options, and the service config that the project ships."""
from __future__ import annotations

import dataclasses
import functools
import importlib.resources
import json
import os
from typing import Any

import grpc

from .retry import RetryPolicy


@dataclasses.dataclass(frozen=True)
class Tls:
    """PEM files, read when the client is made. `cert` and `key` prove the caller's identity (mTLS)."""
    ca: str | os.PathLike[str] | None = None  # None for the roots that gRPC ships
    cert: str | os.PathLike[str] | None = None
    key: str | os.PathLike[str] | None = None
    server_name: str | None = None  # name in the server's certificate, if it differs from the target

    def __post_init__(self) -> None:
        if (self.cert is None) != (self.key is None):
            raise ValueError("tls: cert and key belong together")

    def credentials(self) -> grpc.ChannelCredentials:
        return grpc.ssl_channel_credentials(_read("ca", self.ca), _read("key", self.key), _read("cert", self.cert))


def _read(name: str, path: str | os.PathLike[str] | None) -> bytes | None:
    if path is None:
        return None
    with open(path, "rb") as file:
        data = file.read()
    if b"-----BEGIN" not in data:
        raise ValueError(f"tls: {name} {os.fspath(path)!r} is no PEM file")
    return data


@functools.cache
def shipped_service_config() -> Any:
    text = importlib.resources.files(__package__).joinpath("service_config.json").read_text(encoding="utf-8")
    return json.loads(text)


def service_config(retry: RetryPolicy) -> str:
    """Returns the shipped config (round robin, health checking, retry tokens) in the form that this client uses.

    Its timeout is left out, because gRPC takes the lesser of two timeouts and every call here has its own deadline.
    """
    config = json.loads(json.dumps(shipped_service_config()))
    for method in config["methodConfig"]:
        method.pop("timeout", None)
        if retry.max_attempts == 1:
            method.pop("retryPolicy", None)
        elif "retryPolicy" in method:
            method["retryPolicy"].update({
                "maxAttempts": min(5, retry.max_attempts),  # gRPC's own limit
                "initialBackoff": f"{retry.initial_backoff:.3f}s", "maxBackoff": f"{retry.max_backoff:.3f}s",
                "backoffMultiplier": retry.multiplier})
    return json.dumps(config)


def channel_options(tls: Tls | grpc.ChannelCredentials | None, retry: RetryPolicy) -> list[tuple[str, Any]]:
    options: list[tuple[str, Any]] = [
        ("grpc.service_config", service_config(retry)),
        ("grpc.enable_retries", 1),
        # A sidecar that comes back is found again soon. gRPC's own first wait is 1 s.
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 2000),
        # The server refuses pings that are less than 10 s apart.
        ("grpc.keepalive_time_ms", 30000),
        ("grpc.keepalive_timeout_ms", 10000),
        # A plan of many stages, or a page of profiles, may be larger than gRPC's 4 MiB.
        ("grpc.max_receive_message_length", 64 << 20),
    ]
    if isinstance(tls, Tls) and tls.server_name:
        options.append(("grpc.ssl_target_name_override", tls.server_name))
    return options


def credentials(tls: Tls | grpc.ChannelCredentials | None) -> grpc.ChannelCredentials | None:
    """Returns the credentials of the channel. None stands for plaintext."""
    if isinstance(tls, Tls):
        return tls.credentials()
    if tls is not None and not isinstance(tls, grpc.ChannelCredentials):
        raise TypeError(f"tls is a {type(tls).__name__}: must be evenkeel.Tls, grpc.ChannelCredentials or None")
    return tls


def check_target(target: str) -> str:
    """Refuses text that is not an address. gRPC accepts `HOST:PORT`, `dns:///NAME:PORT`, `unix:PATH` and others. A host
    alone is refused, because gRPC would take it for one that serves HTTPS."""
    if not isinstance(target, str) or ":" not in target or target != target.strip():
        raise ValueError(f"target {target!r}: must be an address such as 127.0.0.1:50051 or unix:/run/evenkeel/s.sock")
    return target
