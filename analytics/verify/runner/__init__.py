"""The part of kbstats that runs a candidate kernel beside its reference.

This package is copied whole into a bundle, so it imports the standard library and torch alone, and
its own modules by relative imports. Four kinds of process take part:

* the *supervisor* (`session`, `verification`, `timing`): no torch, no CUDA; owns the clock and the
  verdict, and never unpickles or evaluates a byte that a candidate wrote;
* the *zygote*: imports torch once and forks every other process from that state;
* the *oracle* (`oracle`): trusted; the reference, the secret seeds, the fp64 truth and the judge;
* *model workers* (`model_worker`): sandboxed; one model source each, called on bytes in shared memory.
"""

from __future__ import annotations

PROTOCOL = "kbv-5"
"""Name of the rules a verdict was reached by. Raise it when a gate or a threshold changes."""

SCHEMA = "kbstats.verification/1"
"""Schema name of one line of a results file."""

BUNDLE_SCHEMA = "kbstats.bundle/1"
"""Schema name of `bundle.json`."""

FALLBACK_VERSION = "0+unknown"
"""What `kbstats_version` says when the bundle does not name a version."""

BASELINES = ("tf32", "compile", "max-autotune")
"""What `--baseline` takes beside eager, which is always timed."""
