"""Writing while the next files are decoded: a thread behind, and transactions of many chunks."""

from __future__ import annotations

import contextlib
import gc
import threading
import time
from queue import Queue
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Self

    import duckdb

T = TypeVar("T")

COMMIT_BYTES = 512 << 20
"""Raw bytes in one transaction: so much goes straight to the file, and never through the log."""
COMMIT_S = 10.0
"""Seconds after which a transaction ends all the same, so that a stopped ingest keeps what it has read."""


class Behind(Generic[T]):
    """Does one thing after the other in a thread of its own, at most one waiting.

    Leaving the block waits for what was handed over, also when it is left by an exception: a
    transaction under way is finished, and nothing new is begun.

    Args:
        work: What is done with each item.
    """

    def __init__(self, work: Callable[[T], None]) -> None:
        self._work = work
        self._items: Queue[T | None] = Queue(maxsize=1)
        self._error: BaseException | None = None
        self._stop = False
        self._thread = threading.Thread(target=self._run, name="kbstats-writer", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop = kind is not None
        self._items.put(None)
        self._thread.join()
        if self._error is not None and error is None:
            raise self._error

    def put(self, item: T) -> None:
        """Hand one item over; waits while another one is waiting.

        Raises:
            BaseException: whatever an earlier item raised.
        """
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        self._items.put(item)

    def _run(self) -> None:
        while (item := self._items.get()) is not None:
            if self._stop or self._error is not None:
                continue
            try:
                self._work(item)
            except BaseException as e:  # noqa: BLE001  it is raised again in front
                self._error = e


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Without the collector of cycles: records hold none, and it would look through all of them again and again."""
    if not gc.isenabled():
        yield
        return
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


class Commits:
    """One transaction for many chunks. Leaving the block commits what was put whole, also when stopped.

    Args:
        con: The connection that writes.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con
        self._open = self._whole = False
        self._bytes, self._since = 0, 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._open:
            self._end()

    @contextlib.contextmanager
    def step(self) -> Iterator[None]:
        """Something that is put whole, or else nothing is kept that was put since the last commit."""
        if not self._open:
            self._con.execute("begin")
            self._open, self._bytes, self._since = True, 0, time.monotonic()
        self._whole = False
        yield
        self._whole = True

    def done(self, n_bytes: int) -> None:
        """So many raw bytes more were put; a transaction that is large or old ends."""
        self._bytes += n_bytes
        if self._bytes > COMMIT_BYTES or time.monotonic() - self._since > COMMIT_S:
            self._end()

    def _end(self) -> None:
        self._open = False
        if self._whole:
            self._con.execute("commit")
            return
        with contextlib.suppress(Exception):
            self._con.execute("rollback")
