"""What a format of another package may import, and that it costs nothing until it does."""

from __future__ import annotations

import subprocess
import sys

import kbstats.ingest
import pytest


def test_every_public_name_is_there() -> None:
    for name in kbstats.ingest.__all__:
        assert getattr(kbstats.ingest, name) is not None, name
    assert set(kbstats.ingest.__all__) <= set(dir(kbstats.ingest))


def test_and_no_other() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = kbstats.ingest.nothing


def test_nothing_is_loaded_before() -> None:
    code = "import sys, kbstats.ingest; print([m for m in sys.modules if m.startswith('kbstats.ingest.') or m == 'msgspec'])"
    p = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert p.stdout.strip() == "[]"
