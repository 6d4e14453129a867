"""The thread behind: order, errors, and what happens when the front stops."""

from __future__ import annotations

import threading

import pytest
from kbstats.ingest.behind import Behind


def test_in_order_and_all():
    done = []
    with Behind(done.append) as writer:
        for i in range(50):
            writer.put(i)
    assert done == list(range(50))


def test_an_error_comes_out_in_front():
    def work(i):
        if i == 3:
            raise KeyboardInterrupt

    def front():
        with Behind(work) as writer:
            for i in range(1000):
                writer.put(i)

    with pytest.raises(KeyboardInterrupt):
        front()


def test_an_error_in_the_last_item_is_not_lost():
    def work(i):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), Behind(work) as writer:
        writer.put(1)


def test_when_the_front_stops_what_is_under_way_is_finished_and_nothing_begun():
    done, started, go = [], threading.Event(), threading.Event()

    def work(i):
        started.set()
        go.wait(5)
        done.append(i)

    def front():
        with Behind(work) as writer:
            writer.put(1)
            started.wait(5)
            writer.put(2)
            threading.Timer(0.05, go.set).start()
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        front()
    assert done == [1]
