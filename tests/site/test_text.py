"""Hidden characters, folds, file names."""

from __future__ import annotations

import doctest
import re

import pytest
from kbstats.site import fmt, slugs, text


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x9b1;31mred", "red"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;title\x07x", "x"),
        ("a\x1b", "a␛"),
        ("bell\x07", "bell␇"),
        ("nul\x00", "nul␀"),
        ("a\u202eb\u2066c", "a⟦U+202E⟧b⟦U+2066⟧c"),
        ("zero\u200bwidth\ufeff", "zero⟦U+200B⟧width⟦U+FEFF⟧"),
        ("tag\U000e0041", "tag⟦U+E0041⟧"),
        ("c1\x85x", "c1⟦U+0085⟧x"),
        ("line\u2028sep", "line⟦U+2028⟧sep"),
        ("10%\r20%\r\n", "10%\n20%\n"),
        ("tab\tand é ∑ 漢字 stay\n", "tab\tand é ∑ 漢字 stay\n"),
    ],
)
def test_hidden_characters_are_shown(raw, shown):
    assert text.visible(raw) == shown
    assert text.visible(shown) == shown


@pytest.mark.parametrize("raw", ["", "x", "a\n" * 500, "y" * 100_000, "short\n" + "z" * 50_000, "\n" * 300, "one line"])
def test_a_fold_loses_nothing(raw):
    f = text.fold(raw)
    assert f.head + f.tail == raw
    assert len(f.head) <= text.FOLD_CHARS * 1.2
    assert f.head.count("\n") <= text.FOLD_LINES + text.FOLD_CHARS // 8


HOSTILE = [
    "../../../etc/passwd", "..", ".", "", "/", "a/b\\c:d", "CON", "con", "aux", "nul", "com1", "x" * 400, "GPT", "gpt", "Gpt",
    "<script>alert(1)</script>", "a\u202eb", "\x00", "名前", "é", "a b", "a  b", "a-b", "a_b", "%2e%2e%2f", "name.", "-rf", "?q=1#x",
]  # fmt: skip


def test_slugs_are_safe_and_never_shared():
    s = slugs.Slugs()
    names = [s.add(n, n, hashed=False) for n in HOSTILE]
    assert len({n.casefold() for n in names}) == len(HOSTILE)
    for n in names:
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,80}", n), n
        assert n not in ("con", "aux", "nul", "com1")


def test_a_plain_name_stays_and_a_chosen_name_cannot_take_anothers_slug():
    assert slugs.slug("gpt-5") == "gpt-5"
    assert slugs.slug("gpt-5") != slugs.slug("GPT-5")
    assert slugs.slug(slugs.slug("GPT")) != slugs.slug("GPT")


def test_same_key_same_slug():
    s = slugs.Slugs()
    assert s.add("k", "name") == s.add("k", "another name") == s["k"]


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (fmt.micros(9.97), "9.97 µs"),
        (fmt.micros(26_300.0), "26.3 ms"),
        (fmt.times(2.2801), "2.28×"),
        (fmt.times(973_614.2), "973,614×"),
        (fmt.times(0.0004), "0.0004×"),
        (fmt.metric(2_057.3, "pct"), "2,057 %"),
        (fmt.metric(34_665_922.0, "bytes"), "33.1 MiB"),
        (fmt.metric(7.45e-08, "abs"), "7.45e-08"),
        (fmt.metric(1.0, "unheard_of"), "1 unheard_of"),
        (fmt.seconds(955.1), "15 min 55 s"),
        (fmt.sig(float("nan")), "–"),
        (fmt.pct(0.2308), "23 %"),
        (fmt.tokens(39_500_000), "39.5 M"),
    ],
)
def test_numbers(got, want):
    assert got == want


@pytest.mark.parametrize("module", [fmt, slugs, text])
def test_examples_in_docstrings(module):
    assert doctest.testmod(module).failed == 0
