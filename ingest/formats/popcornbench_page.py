"""POPCORNBENCH's rendered trace pages: report/v/{variant}/t/{model}__l{L}_p{P}.html, three generations.

A page becomes the document it was rendered from, as far as it shows it, and then goes the way of a
trajectory: same tables, same identity. Beside its trajectory it is a copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbstats.ingest import decode, identity
from kbstats.ingest.format import EXACT, NO, Format, Source
from kbstats.ingest.formats.popcornbench_page_html import is_trace_page, page_to_trajectory
from kbstats.ingest.formats.popcornbench_reader import Reader
from kbstats.ingest.formats.popcornbench_records import Trajectory
from kbstats.ingest.lenient import build

if TYPE_CHECKING:
    from pathlib import Path

    from kbstats.ingest.batch import Batch

NAME = "popcornbench_page"


class PopcornbenchPage(Format):
    """One run a page."""

    name = NAME
    suffixes = frozenset({".html", ".htm"})

    def sniff(self, path: Path, head: bytes) -> int:  # noqa: ARG002  the content alone tells
        """By the page's title; index and model pages have another."""
        return EXACT if b"site-title" in head and is_trace_page(head.decode("utf-8", "replace")) else NO

    def read(self, source: Source, batch: Batch) -> None:
        """One run. A page cut short yields none: its last submission, which decides, is missing."""
        html = source.read().decode("utf-8", "replace")
        if "</html>" not in html[-2000:]:
            batch.partial("truncated", "the page ends before its end tag", location=f"byte {len(source.read())}")
            return
        try:
            document = page_to_trajectory(html)
        except ValueError as e:
            batch.reject("not_a_trace_page", f"not readable as a trace page: {e}")
            return
        own = {k: document.pop(k) for k in ("_speedup", "_variant", "_reference", "_cut")}
        PageReader(source, batch, build(Trajectory, document, decode.report_to(batch)), own).read()


FORMAT = PopcornbenchPage()


class PageReader(Reader):
    """A page's document: what only a page tells stands in `own`."""

    def __init__(self, source: Source, batch: Batch, record: Trajectory, own: dict[str, Any]) -> None:
        super().__init__(source, batch, record, {}, NAME)
        self.own = own
        self.place = identity.Place(record.run_name, own["_variant"] or identity.DEFAULT_VARIANT, record.model_name)
        record.speedup = own["_speedup"]

    def reference(self) -> str | None:
        """The page shows it under a heading of its own."""
        return self.own["_reference"]

    def _extra(self) -> dict[str, Any]:
        extra = super()._extra()
        if self.result:
            extra["rounded"] = "runtimes to 0.01 ms, speedup to 0.01"
        if self.own["_cut"]:
            extra["cut_arguments"] = True
            self.batch.issue("cut_arguments", "the page shows its kernels in part; what is cut has no hash")
        return extra


