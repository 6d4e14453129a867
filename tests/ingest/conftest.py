"""A database with the tables and nothing else, and a short way to fill and to ask it."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from kbstats.ingest import pipeline
from kbstats.sql import catalog

DATA = Path(__file__).resolve().parents[1] / "data" / "ingest"


class Warehouse:
    def __init__(self) -> None:
        self.con = duckdb.connect()
        self.con.execute("set timezone = 'UTC'")
        catalog.create_schema(self.con)

    def ingest(self, *paths, **options):
        return pipeline.ingest(self.con, [Path(p) for p in paths], **options)

    def rows(self, sql, *params):
        cursor = self.con.execute(sql, list(params))
        names = [d[0] for d in cursor.description]
        return [dict(zip(names, r, strict=True)) for r in cursor.fetchall()]

    def one(self, sql, *params):
        (row,) = self.con.execute(sql, list(params)).fetchall()
        return row[0] if len(row) == 1 else row

    def column(self, sql, *params):
        return [r[0] for r in self.con.execute(sql, list(params)).fetchall()]


@pytest.fixture
def wh():
    warehouse = Warehouse()
    yield warehouse
    warehouse.con.close()


@pytest.fixture(scope="session")
def data():
    return DATA
