"""Two names of one model are merged when the user says so, also for runs already on record."""

from __future__ import annotations

import pytest
from kbstats.ingest import aliases
from kbstats.ingest.errors import UsageError


def test_nothing_is_merged_unasked():
    assert aliases.model_of("gpt-5.5-priority") == "gpt-5.5-priority"
    assert aliases.model_of(None) is None


def test_the_users_own_list(wh, data, tmp_path, monkeypatch):
    wh.ingest(data / "popcornbench/runs/demo_all")
    assert wh.column("select distinct model from runs") == ["model-x"]
    own = tmp_path / "models.toml"
    own.write_text('[[alias]]\nraw = "model-x"\nmodel = "model"\n')
    monkeypatch.setenv(aliases.OWN, str(own))
    wh.ingest(data / "popcornbench/runs/demo_all")
    assert wh.rows("select distinct model, model_raw from runs") == [{"model": "model", "model_raw": "model-x"}]
    assert wh.one("select value from meta where key = 'derived'") == "stale", "boards are brought up to date"
    wh.ingest(data / "popcornbench/runs/demo_old_single")
    assert wh.column("select distinct model from runs") == ["model"]
    monkeypatch.delenv(aliases.OWN)
    wh.ingest(data / "popcornbench/runs/demo_all")
    assert wh.column("select distinct model from runs") == ["model-x"]


@pytest.mark.parametrize("text", ["not toml [", '[[alias]]\nraw = "x"\n', "alias = 3\n"])
def test_a_list_that_is_none(tmp_path, monkeypatch, text):
    own = tmp_path / "models.toml"
    own.write_text(text)
    monkeypatch.setenv(aliases.OWN, str(own))
    with pytest.raises(UsageError):
        aliases.aliases()
