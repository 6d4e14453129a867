"""One kernel to verify, as a bundle describes it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from . import BUNDLE_SCHEMA, FALLBACK_VERSION

if TYPE_CHECKING:
    from pathlib import Path

CASTS = {
    "fp16": "float16",
    "float16": "float16",
    "half": "float16",
    "bf16": "bfloat16",
    "bfloat16": "bfloat16",
}
"""Declared precisions under which a harness casts the model and its inputs."""


class BundleError(Exception):
    """The bundle cannot be read; the message says which file and what is wrong with it."""


@dataclass(frozen=True)
class Item:
    """A kernel, its reference, and what was claimed of it."""

    kernel: str
    reference: str
    kernel_sha256: str
    reference_sha256: str
    shims: tuple[str, ...] = ()
    helpers: dict[str, str] = field(default_factory=dict)
    suite: str | None = None
    level: int | None = None
    variant: str | None = None
    problem_name: str | None = None
    precision: str | None = None
    claimed_speedup: float | None = None
    claimed_baseline: str | None = None
    claimed_gpu: str | None = None
    run_ids: tuple[str, ...] = ()
    kbstats_version: str = FALLBACK_VERSION

    @property
    def cast(self) -> str | None:
        """Torch type that model and inputs are cast to, None to leave them."""
        return CASTS.get((self.precision or "").lower())

    @property
    def label(self) -> str:
        """A short name for messages."""
        return f"{self.problem_name or 'kernel'} {self.kernel_sha256[:12]}"


def source_sha256(text: str) -> str:
    r"""Return the hash of a source: UTF-8, CRLF to LF, trailing white space stripped.

    >>> source_sha256("a\r\nb\n") == source_sha256("a\nb")
    True
    """
    return hashlib.sha256(text.replace("\r\n", "\n").rstrip().encode()).hexdigest()


def against_itself(item: Item) -> Item:
    """The item whose kernel is its own reference: a speedup of anything but 1 is an error of measurement."""
    kernel = f"{item.reference.rstrip()}\n\n\nModelNew = Model\n"
    sha = source_sha256(kernel)
    return replace(item, kernel=kernel, kernel_sha256=sha, claimed_speedup=None, claimed_baseline=None, run_ids=())


def load_bundle(folder: Path) -> list[Item]:
    """Read `bundle.json` and the sources it names.

    Raises:
        BundleError: if a file is missing or is not what the bundle says.
    """
    try:
        document = json.loads((folder / "bundle.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BundleError(f"{folder / 'bundle.json'}: {error}") from error
    if document.get("schema") != BUNDLE_SCHEMA:
        raise BundleError(
            f"{folder / 'bundle.json'}: schema {document.get('schema')!r}, this runner reads {BUNDLE_SCHEMA!r}"
        )
    return [_item(folder, entry, document.get("kbstats_version", FALLBACK_VERSION)) for entry in document["items"]]


def _item(folder: Path, entry: dict[str, Any], version: str) -> Item:
    def read(name: str) -> str:
        try:
            return (folder / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BundleError(f"{folder / name}: {error}") from error

    kernel, reference = read(entry["kernel"]), read(entry["reference"])
    for what, text in (("kernel", kernel), ("reference", reference)):
        if source_sha256(text) != entry[f"{what}_sha256"]:
            raise BundleError(f"{folder / entry[what]}: its text is not the one that bundle.json names by hash")
    return Item(
        kernel=kernel,
        reference=reference,
        kernel_sha256=entry["kernel_sha256"],
        reference_sha256=entry["reference_sha256"],
        shims=tuple(read(name) for name in entry.get("shims", [])),
        helpers={name: read(path) for name, path in entry.get("helpers", {}).items()},
        run_ids=tuple(entry.get("run_ids", [])),
        kbstats_version=version,
        **{
            k: entry.get(k)
            for k in (
                "suite",
                "level",
                "variant",
                "problem_name",
                "precision",
                "claimed_speedup",
                "claimed_baseline",
                "claimed_gpu",
            )
        },
    )
