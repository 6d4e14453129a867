"""Names that a suite's harness puts into its references' namespace. See `popcorn.py` for the form of a shim."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kbstats.ingest.errors import KbstatsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HERE = Path(__file__).parent
SHIPPED = ("popcorn",)
"""Shims that come with kbstats, added to every reference that uses one of their names."""

USES = {"popcorn": ("popcorn_pri", "kernelbench.distributed_collectives")}


def shims_for(reference: str, extra: Sequence[Path] = ()) -> list[str]:
    """Return the shim sources that a reference needs: shipped ones by the names it uses, then the user's.

    Raises:
        KbstatsError: if a file given with `--shim` cannot be read or is not Python.
    """
    texts = [
        (HERE / f"{name}.py").read_text(encoding="utf-8")
        for name in SHIPPED
        if any(use in reference for use in USES[name])
    ]
    return [*texts, *_given(extra)]


def _given(paths: Iterable[Path]) -> list[str]:
    texts = []
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
            compile(text, str(path), "exec")
        except (OSError, UnicodeDecodeError, SyntaxError, ValueError) as error:
            raise KbstatsError(
                f"the shim cannot be used: {error}", location=path, hint="--shim takes a Python file"
            ) from error
        texts.append(text)
    return texts
