"""A board a filter of the front page: small files that hold rows, notes and words, loaded when asked for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kbstats.site import boards, slugs
from kbstats.site.pages import Page, Unit
from kbstats.site.pages.front import board_notes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kbstats.site.context import Site


def script(call: str, *values: Any) -> str:
    """A data file: one call of a function of the pages' scripts. Markup in it cannot end a script element."""
    text = ",".join(json.dumps(v, ensure_ascii=True, separators=(",", ":")) for v in values)
    return f"{call}({text});\n".replace("<", "\\u003c")


def file_of(selection: boards.Selection) -> str:
    """The file of a selection's board."""
    return f"boards/{slugs.digest(selection.key)}.js"


def offer(site: Site) -> dict[str, Any]:
    """What the front page lets a reader choose: values of each dimension, and the file of each selection."""
    options = boards.choices([r for r in site.runs if r["attempted"]])
    files = {
        "&".join(f"{d}={site.text(str(v))}" for d, v in s.chosen): file_of(s)
        .removeprefix("boards/")
        .removesuffix(".js")
        for s in site.selections
    }
    return {"options": {d: [site.text(str(v)) for v in values] for d, values in options.items()}, "files": files}


class BoardFiles(Page):
    """boards/….js."""

    order = 15
    batch = 4
    weight = 12

    def units(self, site: Site) -> Sequence[Unit]:
        """One a board; selections of the same runs share it."""
        found: dict[str, boards.Selection] = {}
        for s in site.selections:
            found.setdefault(file_of(s), s)
        return [Unit(path, s, site.key_of_runs(s.runs, s.chosen)) for path, s in found.items()]

    def render(self, site: Site, units: Sequence[Unit]) -> Iterator[tuple[Unit, dict[str, str]]]:
        """Rows as the front page's own template has them."""
        board_rows, notes_of = (site.macro("macros.html", name, root="") for name in ("board_rows", "notes"))
        for unit in units:
            s = unit.subject
            found, notes = site.boards_of(s.key, **s.filters)
            rows = boards.merged(found)
            data = {
                "rows": str(board_rows(rows, "")),
                "tail": site.text(boards.sentence((), rows, s.runs).partition(": ")[2]),
                "notes": str(notes_of(board_notes(notes))),
            }
            name = unit.id.removeprefix("boards/").removesuffix(".js")
            yield unit, {unit.id: script("kbstats.board", name, data)}


PAGE = BoardFiles()
