"""Work handed to a thread behind: what it raises comes out in front."""

from __future__ import annotations

import threading
from queue import Queue
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

T = TypeVar("T")


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
