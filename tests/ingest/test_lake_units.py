"""Which files a shard takes together, and that it opens no others."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from kbstats.ingest import folders, registry
from kbstats.ingest.formats import (
    agent_transcript_run,
    atif,
    kbstats_export,
    kernelbench_com,
    kernelbench_folder,
    kernelbench_v3,
)
from kbstats.ingest.lake import Shard
from kbstats.ingest.lake_write import ingest_shard
from kbstats.ingest.units import SPEAKERS, unit_of

DATA = Path(__file__).resolve().parents[1] / "data"


@pytest.fixture(autouse=True)
def _anew():
    folders.forget()


def test_names_that_speak_for_a_folder_are_those_of_the_formats():
    names = {
        agent_transcript_run.RESULT, atif.TRAJECTORY, atif.REWARD, kbstats_export.MANIFEST, kernelbench_com.RESULT,
        kernelbench_folder.EVAL, kernelbench_folder.AGENT_EVAL, kernelbench_folder.DETAILED, kernelbench_v3.METRICS,
    }  # fmt: skip
    assert names == SPEAKERS


def test_a_trajectory_and_what_lies_beside_it():
    run = "/none/m/level_1_problem_2"
    units = {unit_of(f"{run}_{end}") for end in ("trajectory.json", "kernel.py", "aeprogress.jsonl")}
    assert units == {run}
    assert unit_of("/none/m/level_1_problem_22_trajectory.json") != run
    assert unit_of("/none/m/other.json") == "/none/m/other.json"


@pytest.mark.parametrize("speaker", sorted(SPEAKERS))
def test_a_folder_that_a_file_speaks_for(tmp_path, speaker):
    assert unit_of(f"{tmp_path}/level_1_problem_2_sample_0_kernel.py") != str(tmp_path)
    (tmp_path / speaker).touch()
    folders.forget()
    assert {unit_of(f"{tmp_path}/{name}") for name in (speaker, "level_1_problem_2_sample_0_kernel.py")} == {str(tmp_path)}


def test_a_member_goes_with_its_archive_and_a_name_that_is_no_text_with_its_folder():
    assert unit_of("/none/a.zip!/x/y.json") == unit_of("/none/a.zip")
    assert unit_of(r"/none/\xff/y.json") == r"/none/\xff"


def test_a_shard_opens_its_own_files_alone(tmp_path, monkeypatch):
    asked: list[str] = []
    sniff = registry.sniff
    monkeypatch.setattr(registry, "sniff", lambda path, *more: asked.append(str(path)) or sniff(path, *more))
    shards = [Shard(i, 3) for i in range(3)]
    for shard in shards:
        asked.clear()
        ingest_shard([DATA], tmp_path / "lake", shard)
        assert asked
        assert all(shard.holds(path) for path in asked)


def test_shards_count_what_one_ingest_counts(wh, tmp_path):
    """Files that are read along with others are told of as that, whichever shard they fall to."""
    runs = DATA.parents[1] / "data" / "runs"
    whole = wh.ingest(runs, DATA / "kernelbench_leaderboard", DATA / "ingest")
    parts = [
        ingest_shard([runs, DATA / "kernelbench_leaderboard", DATA / "ingest"], tmp_path / "lake", Shard(i, 4))
        for i in range(4)
    ]
    for name in ("seen", "new", "rejected", "partial", "companions", "runs", "turns", "tool_calls"):
        assert sum(getattr(p, name) for p in parts) == getattr(whole, name), name


def test_a_named_companion_of_another_share_is_no_unknown_file(wh, tmp_path):
    """A configuration that trajectories read is named itself, and falls to a share without any of them."""
    source = next((DATA.parents[1] / "data" / "runs").rglob("*_trajectory.json"))
    sweep = next(p for p in source.parents if (p / "sweep_config.json").is_file())
    shutil.copytree(sweep, tmp_path / "runs")
    config = tmp_path / "runs" / "sweep_config.json"
    trajectories = sorted((tmp_path / "runs").rglob("*_trajectory.json"))[:3]
    lone = next(s for n in range(2, 40) for s in [Shard(i, n) for i in range(n)]
                if s.holds(str(config)) and not any(s.holds(str(t)) for t in trajectories))  # fmt: skip
    assert ingest_shard([config, *trajectories], tmp_path / "lake", lone).rejected == 0
    assert wh.ingest(config, *trajectories).rejected == 0


def test_a_plug_in_may_own_files_of_other_shares(tmp_path, monkeypatch, wh):
    export = DATA / "kbstats_export"
    monkeypatch.setattr("kbstats.ingest.units.SPEAKERS", frozenset())  # as if its names were not known
    monkeypatch.setattr(registry, "plugins_own_companions", lambda: True)
    whole = wh.ingest(export)
    parts = [ingest_shard([export], tmp_path / "lake", Shard(i, 5)) for i in range(5)]
    assert sum(p.new for p in parts) == whole.new
    assert sum(p.runs for p in parts) == whole.runs
