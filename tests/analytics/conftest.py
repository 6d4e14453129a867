from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("kbstats_test_inline", Path(__file__).parents[1] / "sql" / "inline.py")
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)


@pytest.fixture(scope="session")
def installed():
    con = _module.connect()
    yield con
    con.close()


@pytest.fixture
def db(installed):
    """Empty tables; what a test adds is rolled back."""
    installed.begin()
    yield _module.Inline(installed)
    installed.rollback()
