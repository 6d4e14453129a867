"""Modes, places and ids."""

from __future__ import annotations

from pathlib import Path

import pytest
from kbstats.ingest import hashing, identity


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("l3_all_gpt", "all"),
        ("cuda_l2pop_multi_turn_default", "default"),
        ("x_single_turn_final_gpt", "single"),
        ("fl5_st", "single"),
        ("sl5_hw_8xh100_all_reval30m_gpt_FIXED", "all"),
        ("smoke_mt_gpt", None),
        ("wall_clock", None),
        (None, None),
        ("", None),
    ],
)
def test_mode_of(name, mode):
    assert identity.mode_of(name) == mode


@pytest.mark.parametrize(
    ("path", "run", "model", "want"),
    [
        ("/x/runs/s1/popcorn/m/f.json", "s1", "m", ("s1", "popcorn", "m")),
        ("/x/runs/s1/m/f.json", "s1", "m", ("s1", "default", "m")),
        ("/x/runs/s1/f.json", "s1", "m", ("s1", "default", None)),
        ("/x/runs/s1_fixed/popcorn/m/f.json", "s1", "m", ("s1_fixed", "popcorn", "m")),
        ("/data/s1_fixed/original/m/f.json", "s1", "m", ("s1_fixed", "original", "m")),
        ("/x/runs/a b/v/m_1/f.json", "a b", "m/1", ("a b", "v", "m_1")),
        ("/x/runs/a_b/v/m_1/f.json", "a b", "m/1", ("a_b", "v", "m_1")),
        ("/6/sw_all/varA/cfg/f.json", "other", "m", (None, "varA", "cfg")),
        ("/6/sw_all/varB/cfg/f.json", "other", "m", (None, "varB", "cfg")),
        ("/6/sw_all/cfg/f.json", "other", "m", (None, "default", "cfg")),
        ("/6/cfg/f.json", "other", "m", (None, None, "cfg")),
        ("/runs/runs/s1/v/m/f.json", None, None, ("s1", "v", "m")),
    ],
)
def test_place_of(path, run, model, want):
    assert tuple(identity.place_of(Path(path), run, model)) == want


def test_run_id_is_stable_and_tells_every_column():
    base = dict.fromkeys(identity.IDENTITY)
    first = identity.run_id(**base)
    assert first == identity.run_id(**base)
    others = {identity.run_id(**{**base, c: 1}) for c in identity.IDENTITY}
    assert len(others | {first}) == len(identity.IDENTITY) + 1


def test_source_hash_ignores_line_ends_and_the_end():
    assert hashing.source_sha256("a\r\nb\n\n ") == hashing.source_sha256("a\nb")
    assert hashing.source_sha256(" a") != hashing.source_sha256("a")
    assert hashing.source_sha256("\ud800") == hashing.source_sha256("?")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("import torch\nclass ModelNew: pass", "python"),
        ("@triton.jit\ndef f(): pass", "triton"),
        ("x = '''__global__ void f()'''", "cuda"),
        ("#include <torch/extension.h>\nint main(){}", "cpp"),
    ],
)
def test_language(text, language):
    assert hashing.language(text) == language
