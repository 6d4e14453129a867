"""A look at a built site over HTTP, on this machine alone."""

from __future__ import annotations

import functools
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from kbstats.ingest.errors import KbstatsError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

HOST = "127.0.0.1"


def server(folder: Path, port: int) -> ThreadingHTTPServer:
    """A server bound to this machine's loopback address.

    Raises:
        UsageError: the folder holds no site.
        KbstatsError: the port is taken.
    """
    if not (folder / "index.html").is_file():
        raise UsageError("no site in this folder", location=folder, hint="run `kbstats site build -o DIR` first")
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(folder))
    try:
        return ThreadingHTTPServer((HOST, port), handler)
    except OSError as e:
        raise KbstatsError(
            f"cannot listen ({e.strerror})", location=f"{HOST}:{port}", hint="name another --port"
        ) from e
