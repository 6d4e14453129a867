"""Results of verifications are files like any others."""

from __future__ import annotations

import json

import pytest


def test_results(wh, data):
    summary = wh.ingest(data / "verifications/results.jsonl")
    assert (summary.verifications, summary.partial) == (2, 1)
    v = wh.rows("select * from verifications order by verification_id")
    assert [(x["verdict"], x["correctness"], x["sandbox_ok"]) for x in v] == [
        ("INCORRECT:shape", "failed", True),
        ("CONFIRMED", "passed", True),
    ]
    assert json.loads(v[0]["witness"]) == {"shape": [13, 64]}
    assert v[0]["badges"] == ["LIBRARY_CALL"]
    assert json.loads(v[0]["document"])["protocol"] == "1"
    assert wh.rows("select gate, passed, n from verification_checks") == [{"gate": "G3", "passed": False, "n": 4}]
    assert wh.rows("select pair, ref_us, cand_us from verification_timings") == [
        {"pair": 0, "ref_us": 50.0, "cand_us": 20.0}
    ]


def test_bad_lines_are_named(wh, data):
    wh.ingest(data / "verifications/results.jsonl")
    assert wh.rows("select code, location from ingest_issues order by location") == [
        {"code": "bad_line", "location": "line 2"},
        {"code": "bad_line", "location": "line 4"},
        {"code": "truncated", "location": "line 5"},
    ]


def test_the_same_result_in_two_files_stands_once_and_survives_either(wh, data, tmp_path):
    text = (data / "verifications/results.jsonl").read_text()
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text(text.splitlines()[0] + "\n")
    wh.ingest(tmp_path)
    assert wh.one("select count(*) from verifications") == 1
    assert wh.column("select code from ingest_issues") == ["duplicate_verification"]
    (tmp_path / "a.jsonl").unlink()
    wh.ingest(tmp_path, prune=True)
    assert wh.one("select count(*) from verifications") == 1
    assert wh.one("select count(*) from verification_checks") == 1
    assert wh.column("select code from ingest_issues") == []


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": "EXCELLENT"},
        {"verdict": "CONFIRMED", "correctness": "failed"},
        {"verdict": "NO_SPEEDUP", "correctness": None},
        {"verdict": "INCORRECT:values"},
        {"speedup": 0},
        {"speedup": -2.0},
        {"speedup": "fast"},
        {"speedup_lo": 2.5},
        {"speedup_hi": 2.3},
        {"speed": "slower"},
        {"speed": "not_measured"},
        {"speedup": 0.5, "speedup_lo": None, "speedup_hi": None},
        {"speedup": None},
    ],
)
def test_a_line_that_contradicts_itself_is_left_out(wh, data, tmp_path, change):
    whole = json.loads((data / "verifications/results.jsonl").read_text().splitlines()[2])
    whole |= {"speedup_lo": 2.2, "speedup_hi": 2.6}
    lines = [whole | {"verification_id": "ok"}, whole | change, whole | {"verification_id": "ok too"}]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    wh.ingest(tmp_path)
    assert wh.column("select verification_id from verifications order by all") == ["ok", "ok too"]
    assert wh.rows("select code, severity, location from ingest_issues") == [
        {"code": "bad_line", "severity": "error", "location": "line 2"}
    ]
