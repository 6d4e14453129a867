"""Files change, vanish, come twice: what the tables hold afterwards."""

from __future__ import annotations

import json
import os
import shutil

import pytest
from kbstats.ingest import behind, pipeline, plan, store
from kbstats.ingest.errors import UsageError

RUNS = "popcornbench/runs"
TABLES = (
    "runs",
    "turns",
    "messages",
    "tool_calls",
    "compile_errors",
    "timeouts",
    "metrics",
    "kernels",
    "ingest_issues",
)


@pytest.fixture
def runs(data, tmp_path):
    target = tmp_path / "runs"
    shutil.copytree(data / RUNS, target)
    return target


def age(folder, seconds=3600):
    """Make files look as if they had been written long ago: nothing is in doubt then."""
    for path in folder.rglob("*"):
        t = path.stat().st_mtime - seconds
        os.utime(path, (t, t))


def counts(wh):
    return {t: wh.one(f"select count(*) from {t}") for t in TABLES}


def edit(path, **changes):
    document = json.loads(path.read_text())
    document.update(changes)
    path.write_text(json.dumps(document))


def test_again_changes_nothing_and_reads_nothing(wh, runs):
    age(runs)
    first = wh.ingest(runs)
    before = counts(wh)
    again = wh.ingest(runs)
    assert (again.unchanged, again.new, again.changed, again.bytes_read) == (first.new, 0, 0, 0)
    assert counts(wh) == before
    assert not again.wrote


def test_a_touched_file_is_read_and_found_the_same(wh, runs):
    age(runs)
    first = wh.ingest(runs)
    for path in runs.rglob("*.json"):
        os.utime(path)
    before = counts(wh)
    again = wh.ingest(runs)
    assert (again.unchanged, again.changed) == (first.new, 0)
    assert counts(wh) == before


def test_a_file_written_a_moment_ago_is_checked_by_content(wh, runs, monkeypatch):
    monkeypatch.setattr(plan, "RACY_US", 60_000_000)  # however busy the machine is
    path = runs / "demo_all/popcorn/model-x/level_1_problem_1_trajectory.json"
    os.utime(path)
    wh.ingest(runs)
    st = path.stat()
    text = path.read_text()
    path.write_text(text.replace('"model-x"', '"model-q"', 1))
    os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))  # same size, same time, other content
    assert wh.ingest(runs).changed == 1
    assert wh.one("select count(*) from runs where model_raw = 'model-q'") == 1


def test_a_changed_file_replaces_its_rows(wh, runs):
    age(runs)
    wh.ingest(runs)
    path = runs / "demo_all/popcorn/model-x/level_1_problem_1_trajectory.json"
    before = counts(wh)
    edit(path, outcome="incorrect", turns=json.loads(path.read_text())["turns"][:1], final_result=None)
    summary = wh.ingest(runs)
    assert summary.changed == 1
    after = counts(wh)
    assert after["runs"] == before["runs"]
    assert after["turns"] == before["turns"] - 2
    assert wh.one("select source_outcome from runs where problem_id = 1 and sweep = 'demo_all'") == "incorrect"


def test_a_changed_companion_is_a_change(wh, runs):
    age(runs)
    wh.ingest(runs)
    (runs / "demo_all/popcorn/model-x/level_1_problem_1_kernel.py").write_text("# another\n")
    assert wh.ingest(runs).changed == 1


def test_a_file_that_grows_is_partial_then_whole(wh, runs, tmp_path):
    whole = (runs / "demo_all/popcorn/model-x/level_1_problem_1_trajectory.json").read_bytes()
    path = tmp_path / "live" / "level_1_problem_1_trajectory.json"
    path.parent.mkdir()
    path.write_bytes(whole[:-400])
    assert wh.ingest(path.parent).partial == 1
    assert wh.one("select count(*) from runs") == 0
    path.write_bytes(whole)
    summary = wh.ingest(path.parent)
    assert (summary.changed, summary.partial, summary.runs) == (1, 0, 1)
    assert wh.one("select count(*) from ingest_issues") == 0


def test_prune(wh, runs):
    wh.ingest(runs)
    before = wh.one("select count(*) from runs")
    shutil.rmtree(runs / "demo_old_single")
    assert wh.ingest(runs).removed == 0, "never without being told"
    assert wh.ingest(runs, prune=True).removed == 1
    assert wh.one("select count(*) from runs") == before - 1
    assert (
        wh.one(
            "select count(*) from kernels where kernel_sha256 not in (select kernel_sha256 from tool_calls where kernel_sha256 is not null union select submitted_kernel_sha256 from runs where submitted_kernel_sha256 is not null)"
        )
        == 0
    )


def test_identical_copy(wh, runs, tmp_path):
    shutil.copytree(runs / "demo_all", tmp_path / "backup/runs/demo_all")
    summary = wh.ingest(runs, tmp_path / "backup")
    assert wh.one("select count(*) from runs where sweep = 'demo_all'") == 11
    assert wh.one("select count(*) from run_copies where reason = 'identical'") == 11
    assert summary.copies == 11


@pytest.mark.parametrize("order", [("old", "new"), ("new", "old")])
def test_the_later_run_wins_whatever_the_order(wh, runs, tmp_path, order):
    source = runs / "demo_all/popcorn/model-x/level_1_problem_1_trajectory.json"
    for name, finished in (("old", "2026-05-20T10:05:00Z"), ("new", "2026-05-21T10:05:00Z")):
        folder = tmp_path / name / "runs/demo_all/popcorn/model-x"
        folder.mkdir(parents=True)
        target = folder / source.name
        target.write_bytes(source.read_bytes())
        edit(
            target,
            finished_at=finished,
            started_at=finished,
            outcome=name,
            turns=[] if name == "old" else json.loads(source.read_text())["turns"],
        )
    for name in order:
        wh.ingest(tmp_path / name)
    assert wh.column("select source_outcome from runs") == ["new"]
    (copy,) = wh.rows("select * from run_copies")
    assert copy["reason"] == "rerun"
    record = json.loads(copy["record"])
    assert (record["run"]["source_outcome"], record["turns"]) == ("old", [])
    assert wh.one("select count(*) from turns") == 3


def test_a_relabelled_copy(wh, runs, tmp_path):
    source = runs / "demo_all/popcorn/model-x/level_1_problem_1_trajectory.json"
    folder = tmp_path / "fixed/runs/demo_all/popcorn/model-x"
    folder.mkdir(parents=True)
    (folder / source.name).write_bytes(source.read_bytes())
    edit(folder / source.name, outcome="incorrect", outcome_original="correct", finished_at="2026-06-01T00:00:00Z")
    wh.ingest(source, folder)
    assert wh.column("select source_outcome from runs") == ["incorrect"]
    assert wh.column("select reason from run_copies") == ["relabelled"]


def test_when_the_winner_vanishes_its_copy_is_the_run(wh, runs, tmp_path):
    source = runs / "demo_all/popcorn/model-x/level_1_problem_1_trajectory.json"
    for name, finished in (("a", "2026-05-20T10:05:00Z"), ("b", "2026-05-21T10:05:00Z")):
        folder = tmp_path / name / "runs/demo_all/popcorn/model-x"
        folder.mkdir(parents=True)
        (folder / source.name).write_bytes(source.read_bytes())
        edit(folder / source.name, finished_at=finished, outcome=name)
    wh.ingest(tmp_path / "a", tmp_path / "b")
    assert wh.column("select source_outcome from runs") == ["b"]
    shutil.rmtree(tmp_path / "b")
    wh.ingest(tmp_path / "a", tmp_path, prune=True, format="verification")
    assert wh.column("select source_outcome from runs") == ["a"]
    assert wh.column("select reason from run_copies") == []
    assert wh.one("select count(*) from turns") == 3


def test_table_rows_link_to_their_traces(wh, runs, data):
    summary = wh.ingest(
        runs / "demo_all/popcorn/model-x/level_1_problem_1_trajectory.json", data / "tables/results.csv"
    )
    assert summary.links == 1
    (link,) = wh.rows(
        "select l.matched_on, a.format as rich, b.format as poor from run_links l "
        "join runs a using (run_id) join runs b on b.run_id = l.linked_run_id"
    )
    assert link == {"matched_on": "speedup, wall_s, n_turns", "rich": "popcornbench", "poor": "table"}


def test_a_table_of_another_sweep_does_not_link(wh, runs, data, tmp_path):
    text = (data / "tables/results.csv").read_text().replace("300.5", "411.0").replace("demo_all", "other_all")
    (tmp_path / "results.csv").write_text(text)
    assert wh.ingest(runs, tmp_path / "results.csv").links == 0


def test_workers_give_the_same(wh, runs, data):
    import duckdb
    from kbstats.sql import catalog

    wh.ingest(runs, data / "kernelbench", workers=2)
    other = duckdb.connect()
    catalog.create_schema(other)
    pipeline.ingest(other, [runs, data / "kernelbench"])
    for table in TABLES:
        query = f"select * from {table} order by all"
        assert wh.con.execute(query).fetchall() == other.execute(query).fetchall(), table


def test_a_path_that_does_not_exist(wh, tmp_path):
    with pytest.raises(UsageError) as e:
        wh.ingest(tmp_path / "nowhere")
    assert e.value.exit_code == 2


def test_unknown_files_are_counted_not_kept(wh, tmp_path):
    for name in ("notes.txt", "more.TXT", "lib.so", "README", "other.json", "list.csv"):
        (tmp_path / name).write_text('{"a": 1}\n')
    summary = wh.ingest(tmp_path)
    assert dict(summary.ignored) == {".txt": 2, ".so": 1, "(none)": 1, ".json": 1, ".csv": 1}
    assert (summary.n_damaged, len(summary.barren)) == (0, 1), "no file is at fault; the folder may be the wrong one"
    assert wh.one("select count(*) from sources") == 0


def test_an_unknown_file_that_was_named_is_rejected(wh, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    for _ in range(2):
        assert wh.ingest(path).rejected == 1
        assert wh.rows("select status, format from sources") == [{"status": "rejected", "format": "unknown"}]
        assert wh.column("select code from ingest_issues") == ["unknown_format"]


def test_one_format_only(wh, runs, data):
    summary = wh.ingest(runs, data / "tables/results.csv", format="popcornbench")
    assert wh.column("select distinct format from runs") == ["popcornbench"]
    assert summary.rejected == 3, "two damaged trajectories, and a table that was named"
    with pytest.raises(UsageError):
        wh.ingest(runs, format="no such")


@pytest.mark.parametrize(("bytes_a_transaction", "left"), [(0, 10), (1 << 30, 0)])
def test_a_crash_between_chunks_leaves_whole_transactions(wh, runs, monkeypatch, bytes_a_transaction, left):
    monkeypatch.setattr(pipeline, "GROUP_FILES", 5)
    monkeypatch.setattr(behind, "COMMIT_BYTES", bytes_a_transaction)
    real = store.put
    calls = []

    def fail_third(con, chunk, now):
        calls.append(1)
        n = real(con, chunk, now)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return n

    monkeypatch.setattr(store, "put", fail_third)
    with pytest.raises(KeyboardInterrupt):
        wh.ingest(runs)
    assert wh.one("select count(*) from sources") == left
    monkeypatch.setattr(store, "put", real)
    wh.ingest(runs)
    assert wh.one("select count(*) from runs") == wh.one("select sum(n_runs) from sources") > 10


def test_stopped_between_chunks_what_was_put_is_kept(wh, runs, monkeypatch):
    monkeypatch.setattr(pipeline, "GROUP_FILES", 5)
    calls = []

    def stop(progress):
        calls.append(progress.files_done)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wh.ingest(runs, progress=stop)
    assert wh.one("select count(*) from sources") == calls[-1] == 10


def test_an_exception_in_a_format_is_an_issue(wh, runs, monkeypatch):
    from kbstats.ingest.formats import popcornbench_reader

    def broken(self):
        raise ZeroDivisionError("boom")

    monkeypatch.setattr(popcornbench_reader.Reader, "read", broken)
    monkeypatch.delenv("KBSTATS_DEBUG", raising=False)
    summary = wh.ingest(runs / "demo_old_single")
    assert summary.rejected == 1
    assert wh.column("select code from ingest_issues") == ["internal_error"]


def test_names_of_any_kind(wh, runs, tmp_path):
    source = runs / "demo_old_single/model-x/level_1_problem_2_trajectory.json"
    folder = tmp_path / os.fsdecode(b"caf\xe9 \n'x'") / "runs/demo_old_single/m"
    folder.mkdir(parents=True)
    (folder / "level_1_problem_2_trajectory.json").write_bytes(source.read_bytes())
    summary = wh.ingest(tmp_path)
    assert summary.runs >= 1
    assert wh.one("select count(*) from sources where path like '%caf\\xe9%'") == 1
    age(tmp_path)
    wh.ingest(tmp_path)
    assert wh.ingest(tmp_path).unchanged > 0


def test_a_rejected_new_version_keeps_the_last_good_rows(wh, data, tmp_path):
    path = tmp_path / "own.csv"
    path.write_text((data / "tables/own.csv").read_text())
    wh.ingest(path, map_file=data / "tables/own.toml")
    path.write_text(path.read_text() + path.read_text().splitlines()[1].replace("1_Scale", "3_Other") + "\n")
    summary = wh.ingest(tmp_path)
    assert summary.rejected == 1
    assert wh.rows("select status, format, n_runs from sources") == [{"status": "rejected", "format": "table", "n_runs": 2}]
    assert wh.one("select count(*) from runs") == 2
    assert wh.column("select code from ingest_issues order by all") == ["kept_old_rows", "unmapped_table"]
    assert wh.ingest(path, map_file=data / "tables/own.toml").rejected == 0
    assert wh.one("select count(*) from runs") == 3
    assert wh.column("select status from sources") == ["ok"]


def test_a_copy_whose_run_is_gone_is_read_again_when_it_is_back(wh, runs, tmp_path):
    for name in ("a", "b"):
        shutil.copytree(runs / "demo_old_single", tmp_path / name / "runs/demo_old_single")
    age(tmp_path / "a", 7200)
    age(tmp_path / "b")
    a, b = tmp_path / "a", tmp_path / "b"
    wh.ingest(a, b)
    n = wh.one("select count(*) from runs")
    a.rename(tmp_path / "off")
    shutil.rmtree(b / "runs")
    wh.ingest(b, prune=True)
    (tmp_path / "off").rename(a)
    wh.ingest(a)
    assert wh.one("select count(*) from runs") == n > 0
    assert wh.one("select count(*) from run_copies") == 0


def test_what_was_rejected_before_still_counts(wh, runs):
    age(runs)
    first = wh.ingest(runs)
    again = wh.ingest(runs)
    assert first.incomplete
    assert again.incomplete
    assert again.issues == first.issues
    assert (again.rejected, again.rejected_before, again.partial_before) == (0, first.rejected, first.partial)


def test_impossible_numbers_are_unknown(wh, runs):
    path = runs / "demo_old_single/model-x/level_1_problem_2_trajectory.json"
    document = json.loads(path.read_text())
    result = {**(document.get("final_result") or {}), "runtime": 5e-324, "ref_runtime": 1.0}
    result.pop("speedup", None)
    result.pop("metadata", None)
    edit(path, agent_wall_clock_s=-1e308, llm_total_tokens=-1, total_turns=-1, speedup=None, final_result=result)
    wh.ingest(path)
    run = wh.rows("select wall_s, total_tokens, n_turns, speedup from runs")[0]
    assert (run["wall_s"], run["speedup"], run["n_turns"]) == (None, None, len(document["turns"]))
    assert run["total_tokens"] is None or run["total_tokens"] > 0
    assert wh.column("select location from ingest_issues where code = 'sentinel' order by all") == ["runs.speedup", "runs.wall_s"]


def test_a_bad_byte_in_the_first_input_loses_no_message(wh, runs):
    path = runs / "demo_all/popcorn/model-x/level_1_problem_1_trajectory.json"
    wh.ingest(path)
    before = wh.one("select count(*) from messages")
    document = json.loads(path.read_text())
    document["turns"][0]["messages_in"][0]["content"] = "BAD here"
    path.write_bytes(json.dumps(document).encode().replace(b"BAD", b"\xff"))
    wh.ingest(path)
    assert wh.one("select count(*) from messages") == before
    assert wh.column("select code from ingest_issues") == ["invalid_utf8"]


def test_a_link_that_leads_out_is_told(wh, runs, tmp_path):
    (tmp_path / "given").mkdir()
    (tmp_path / "given/to").symlink_to(runs / "demo_old_single", target_is_directory=True)
    for _ in range(2):
        summary = wh.ingest(tmp_path / "given")
        assert wh.one("select count(*) from runs") == 1
        assert wh.column("select severity from ingest_issues where code = 'outside_link'") == ["warning"]
        assert summary.issues["outside_link"] == 1
    (tmp_path / "given/to").unlink()
    wh.ingest(tmp_path / "given")
    assert wh.column("select code from ingest_issues where code = 'outside_link'") == []
