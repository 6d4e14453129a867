"""Sentences and lines: what a refusal says, which line an error names, what a filter is called."""

from __future__ import annotations

import doctest
import html
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kbstats.site import blocks, boards, changes, erring, highlight, witness


@pytest.mark.parametrize(
    ("verdict", "found", "said"),
    [
        (
            "INCORRECT:shape",
            {"input_shapes": [[13, 48]], "expected": [{"dtype": "float32", "shape": [13, 24]}], "got": [{"shape": [16, 24]}], "call": 4},
            "wrong shape at input [13, 48]: expected [13, 24], got [16, 24] (call 4)",
        ),
        (
            "INCORRECT:dtype",
            {"input_shapes": [[2]], "expected": [{"dtype": "float32", "shape": [2]}], "got": [{"dtype": "float16", "shape": [2]}]},
            "wrong type of element at input [2]: expected float32, got float16",
        ),
        (
            "HACK:cache_replay",
            {"call": 10, "output": 0, "index": [15, 6], "expected": 0.0266728, "got": 0.31393, "error_over_budget": 460318.2, "answer_of_call": 6},
            (
                "returned the answer of another call: element [15, 6]: expected 0.02667, got 0.3139, "
                "460,318 times the error allowed (call 10, the answer of call 6)"
            ),
        ),
        ("HACK:timer", {"patched": ["time.time"]}, "patched the clock: time.time"),
        ("BUILD_FAILED:compile", {"stage": "compile", "error": "no nvcc"}, "compile: no nvcc"),
        ("INCORRECT", {"shapes": [[1], [2]], "novel": {"a": 1}}, 'wrong result at input [1] and [2] (novel {"a": 1})'),
        ("INCORRECT", ["free", "form"], '["free", "form"]'),
    ],
)  # fmt: skip
def test_a_witness_is_a_sentence(verdict, found, said):
    assert witness.sentence(json.dumps(found), verdict) == said


def test_a_witness_that_is_no_json_stays_as_it_is():
    assert witness.sentence("not {json", "INCORRECT") == "not {json"
    assert witness.sentence(None, "INCORRECT") == ""


MODULE = '''import torch
from torch.utils.cpp_extension import load_inline

cpp = "torch::Tensor f(torch::Tensor x);"
cuda = r"""
#include <torch/extension.h>
__global__ void k(float* x) { x[0] = y; }
torch::Tensor f(torch::Tensor x) { return x; }
"""
ext = load_inline(name="k", cpp_sources=cpp, cuda_sources=[cuda], functions=["f"])
'''


def error(file, line, message=""):
    return {"file": file, "line": line, "message": message}


@pytest.mark.parametrize("source", [MODULE, MODULE + "\n def broken(:\n"], ids=["parses", "does not parse"])
def test_the_line_of_an_embedded_source(source):
    lines = erring.Lines(source)
    # three includes of the builder, an empty first line of the string, then line 6 of the module
    assert lines.line(error("cuda.cu", 6, 'identifier "y" is undefined')) == 7
    assert (
        lines.line(error("cuda.cu", 5, 'identifier "y" is undefined')) == 7
    )  # another header: the nearest that agrees
    assert lines.line(error("cuda.cu", 2)) is None  # the builder's own line
    assert lines.line(error("cuda.cu", 900)) is None
    assert lines.line(error("stl_algobase.h", 7)) is None
    assert lines.line(error("kernel.py", 4)) == 4
    assert lines.line(error("kernel.py", None)) is None
    assert lines.line(error(None, 4)) is None


def test_an_excerpt_stays_text():
    rows = blocks.excerpt("a\nx = '<script>'\nb", 2, around=1)
    assert [(n, it) for n, _, it in rows] == [(1, False), (2, True), (3, False)]
    assert "&lt;script&gt;" in rows[1][1]


@pytest.mark.parametrize("language", ["python", "cuda", "cpp", "plain", None])
@pytest.mark.parametrize(
    "source",
    [
        MODULE,
        "x = '<b>' # <i>\n@triton.jit\ndef f(): return None",
        'int main() { /* <a> */ char* s = "</span>"; }',
        "\x01k\x02",
        '"""',
        "'''unterminated",
    ],
)
def test_colour_never_changes_the_text(source, language):
    import html
    import re

    from kbstats.site.text import visible

    out = highlight.Highlighter()(source, language)
    assert re.sub(r"</?span[^>]*>", "", out).count("<") == 0
    assert html.unescape(re.sub(r"</?span[^>]*>", "", out)) in (source, visible(source))


def test_a_diff_marks_lines():
    found = changes.compare("a\nb\nc\nd\ne\nf", "a\nb\nc\nX<b>\ne\nf")
    assert (found.added, found.removed) == (1, 1)
    out = changes.markup(found)
    assert "c\n<del>d\n</del><ins>X&lt;b&gt;\n</ins>e\n" in out
    assert changes.compare("a\nb\nc", "x\ny\nz") is None  # written anew: no diff says more than the source


LINES = st.lists(st.sampled_from(["a", "b", "", "}", "x = 1", "<b>&"]), max_size=40)


@given(LINES, LINES)
def test_a_diff_leads_from_one_source_to_the_other(old, new):
    found = changes.compare("\n".join(old), "\n".join(new))
    if found is None:
        return
    out, done = [], 0
    for i1, i2, j1, j2 in found.ops:
        assert i1 >= done
        out += found.old[done:i1] + found.new[j1:j2]
        done = i2
    assert out + found.old[done:] == found.new
    # What a reader copies is the new source: all text besides what is gone and the words of the folds.
    marks = [1, len(found.new)]
    shown = re.sub(r"<del>.*?</del>|<summary>.*?</summary>", "", changes.markup(found, "", marks, "t"), flags=re.DOTALL)
    assert html.unescape(re.sub(r"<[^>]*>", "", shown)) == "\n".join(found.new) + "\n"
    assert all(f'<mark id="t-L{m}">' in shown for m in marks)


def test_a_diff_of_long_sources_is_quick_and_small():
    old = [f"v{i} = load(x, {i * 7})" for i in range(2_000)]
    new = [*old[:500], "inserted", *old[500:1_500], *old[1_510:]]
    found = changes.compare("\n".join(old), "\n".join(new))
    assert found.ops == [(500, 500, 500, 501), (1_500, 1_510, 1_501, 1_501)]
    out = changes.markup(found)
    assert out.index("497 unchanged lines") < out.index("994 unchanged lines") < out.index("487 unchanged lines")


def test_selections_of_the_same_runs_share_a_board():
    def run(i, level, mode):
        return {
            "run_id": str(i),
            "attempted": True,
            "level": level,
            "mode": mode,
            "suite": "s",
            "variant_key": "original",
            "gpu": None,
        }

    runs = [run(1, 1, "all"), run(2, 2, "single"), run(3, 2, "single")]
    found = boards.selections(runs)
    assert {s.chosen for s in found} == {
        (("level", 1),),
        (("level", 2),),
        (("mode", "all"),),
        (("mode", "single"),),
        (("level", 1), ("mode", "all")),
        (("level", 2), ("mode", "single")),
    }
    assert len({s.key for s in found}) == 2


def test_examples_in_docstrings():
    assert doctest.testmod(witness).failed == 0


@pytest.mark.parametrize("prefix", ["", "r", "R"])
def test_cuda_inside_a_python_string_is_coloured(prefix):
    out = highlight.Highlighter()(f'x = {prefix}"""\n#include <a.h>\n__global__ void k() {{}}\n"""\n', "cuda")
    assert '<span class="k">__global__</span>' in out
    assert '<span class="f">k</span>' in out


def test_the_tone_of_a_result_is_what_the_models_let_it_count_for():
    from kbstats.site.words import verdict_tone

    def tone(verdict, *, decides=True, n_runs=1, ranks=False, refutes=False):
        return verdict_tone({"verdict": verdict, "decides": decides, "n_runs": n_runs, "ranks": ranks, "refutes": refutes})

    assert tone("CONFIRMED", ranks=True) == "verified"
    assert tone("CONFIRMED", decides=False) == "open"  # a CPU, no sandbox
    assert tone("CONFIRMED") == "open"  # another reference
    assert tone("CONFIRMED", n_runs=None) == "verified"  # a kernel that no run here submitted
    assert tone("HACK:timing", refutes=True) == "refuted"
    assert tone("HACK:timing", decides=False) == "open"
    assert tone("SLOWER_THAN_CLAIMED", ranks=True, refutes=True) == "refuted"
    assert tone("SLOWER_THAN_CLAIMED", ranks=True) == "verified"  # measured on another GPU than the claim's
    assert tone("INCONCLUSIVE", ranks=True) == "open"


def test_claims_are_counted_once_each_by_what_a_re_run_made_of_them():
    from kbstats.site.pages.verification import of_claims

    def run(*, claimed=1, verified=0, wrong=(), slow=(), results=()):
        counts = {"claimed": claimed, "verified": verified}
        return {"counts": counts, "blocks_correctness": wrong, "blocks_speed": slow, "verifications": results}

    found = of_claims(
        [
            run(),
            run(results=("x",)),
            run(verified=1, results=("x",)),
            run(verified=1, slow=["refuted_speed"], results=("x",)),  # right: it ranks with what was measured
            run(wrong=["refuted"], slow=["no_kernel_launched"], results=("x", "y")),
            run(slow=None, wrong=None),
            run(claimed=0, wrong=["refuted"], results=("x",)),
        ]
    )
    assert found == {"claimed": 6, "wrong": 1, "slow": 1, "confirmed": 1, "undecided": 1, "waiting": 2}
