"""The command line in a process that has imported everything once: each call is a child of it.

Half a second of each `kbstats …` is imports, and the tests run hundreds. A call here is what the installed
script does, in a process of its own with its own folder, environment and streams; what it saves is loading
the libraries again. It is not for tests of what is imported, of signals, or of several processes at once.

Requests come in as lines of JSON, exit statuses go out as lines.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
import time
import traceback


def child(request: dict) -> int:
    """Be the command: folder, environment, streams, arguments."""
    for fd, (name, flags) in enumerate(zip(("in", "out", "err"), (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY), strict=True)):
        opened = os.open(request[name], flags)
        os.dup2(opened, fd)
        os.close(opened)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    sys.argv = request["argv"]
    try:
        from kbstats.analytics.cli import main

        main()
    except SystemExit as e:
        if isinstance(e.code, str):
            print(e.code, file=sys.stderr)
        return e.code if isinstance(e.code, int) else int(bool(e.code))
    except BaseException:  # noqa: BLE001  as the interpreter would
        traceback.print_exc()
        return 1
    return 0


def serve() -> None:
    """Fork for each request, and tell how it ended."""
    # What commands import: all of it but polars, whose threads no child inherits.
    import csv  # noqa: F401

    import duckdb  # noqa: F401
    import jinja2  # noqa: F401
    import msgspec  # noqa: F401
    import numpy as np  # noqa: F401
    import pyarrow as pa  # noqa: F401
    import pygments  # noqa: F401
    import rich.console
    import rich.table  # noqa: F401
    import sqlglot  # noqa: F401
    import typer.main  # noqa: F401
    from kbstats.analytics import cli, warehouse  # noqa: F401

    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        request = json.loads(line)
        pid = os.fork()
        if not pid:
            status = 1
            try:
                status = child(request)
                threading._shutdown()
                atexit._run_exitfuncs()
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(status, file=answers, flush=True)


if __name__ == "__main__":
    serve()
