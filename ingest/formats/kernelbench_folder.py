"""What lies beside a results file: configuration, kernels, and what the folder's own name tells."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from kbstats.ingest import decode, metrics

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kbstats.ingest.batch import Batch
    from kbstats.ingest.format import Source

CONFIG = "generation_config.yaml"
EVAL, AGENT_EVAL, DETAILED = "eval_results.json", "agent_eval_results.json", "detailed_results.json"
PASS_AT_K = "pass_at_k_results.json"  # noqa: S105  a file name
KERNEL = re.compile(
    r"level_(?P<level>\d+)_problem_(?P<problem>\d+)_sample_(?P<sample>\d+)_kernel\.(?:py|cu|cpp)"
)
_LEVEL = re.compile(r"(?:^|[_\-.])(?:l|level|lvl)[_\-]?(?P<level>\d)(?=$|[_\-.])", re.IGNORECASE)
_PASS = re.compile(r"pass(?:@|_at_)(?P<k>\d{1,6})")
_NOT_A_MODEL = re.compile(
    r"(?:[_\-.](?:l|level|lvl)[_\-]?\d|[_\-.](?:run|retime|eval|rerun|test|isolated)\d*|[_\-.]\d{8}(?:[_\-.]\d{4,6})?)(?=$|[_\-.])",
    re.IGNORECASE,
)
"""Words of a folder's name that tell the level, the date or the kind of launch."""


class Folder:
    """A run's folder.

    Args:
        source: The results file, whose companions are the configuration and the kernels.
        batch: Takes kernels and issues.
        document: The results, for the layouts that carry their configuration themselves.
    """

    def __init__(self, source: Source, batch: Batch, document: Mapping[str, Any]) -> None:
        self._source, self._batch = source, batch
        self._config = {**self._yaml(), **self._own(document)}
        self._kernels = {
            (int(m["level"]), int(m["problem"]), int(m["sample"])): p
            for p in source.companions
            if (m := KERNEL.fullmatch(p.name))
        }
        self._samples: Counter[str] = Counter()
        name = source.path.parent.name
        self.sweep: str | None = self._text("run_name") or name or None
        self.level = self._level()
        self.backend = self._text("backend")
        self.precision = self._text("precision")
        configured = self._text("model_name") or self._text("model")
        self.model_from_name = configured is None
        self.model_raw = configured or _NOT_A_MODEL.sub("", self.sweep or "") or None

    def _yaml(self) -> dict[str, Any]:
        path = self._source.companion(CONFIG)
        text = None if path is None else self._source.companion_text(path, self._batch)
        if not text:
            return {}
        import yaml

        try:
            found = yaml.safe_load(text)
        except (yaml.YAMLError, RecursionError, ValueError) as e:
            message = (str(e).splitlines() or [""])[0][:200]
            self._batch.issue("unreadable_companion", f"not readable as YAML: {message}", path=str(path))
            return {}
        return found if isinstance(found, dict) else {}

    @staticmethod
    def _own(document: Mapping[str, Any]) -> dict[str, Any]:
        if not isinstance(document.get("results"), list):
            return {}
        parts = [p for p in (document.get("config"), document.get("run_info")) if isinstance(p, dict)]
        return {k: v for p in parts for k, v in p.items()}

    def _text(self, key: str) -> str | None:
        value = self._config.get(key)
        return str(value) if isinstance(value, (str, int, float)) and str(value).strip() else None

    def _level(self) -> int | None:
        """From the configuration, else the kernels' names, else the run's name (`_l1`, `level1`)."""
        given = self._config.get("level")
        if isinstance(given, int) and not isinstance(given, bool):
            return given
        if isinstance(given, str) and given.strip().isdigit():
            return int(given)
        if levels := {k[0] for k in self._kernels}:
            return levels.pop() if len(levels) == 1 else None
        for name in (self.sweep or "", self._source.path.parent.name):
            if m := _LEVEL.search(name):
                return int(m["level"])
        return None

    def kernel(self, level: int | None, problem_id: int | None, sample_id: int) -> str | None:
        """The sha256 of a sample's kernel, or None where there is no file."""
        if level is None or problem_id is None:
            return None
        path = self._kernels.get((level, problem_id, sample_id))
        return None if path is None else self._batch.kernel(self._source.companion_text(path, self._batch))

    def pass_at_k(self) -> Iterator[tuple[int, str, float]]:
        """(problem, `pass_at.{k}`, value) of every problem that the pass@k file tells of."""
        path = self._source.companion(PASS_AT_K)
        if path is None:
            return
        try:
            document = decode.untyped(self._source.read(path), self._batch.beside(path))
        except (OSError, decode.UnreadableError) as e:
            self._batch.issue("unreadable_companion", f"cannot be read: {str(e)[:200]}", path=str(path))
            return
        todo: list[tuple[int | None, Any]] = [(None, document)]
        while todo:
            problem_id, node = todo.pop()
            for key, value in node.items() if isinstance(node, dict) else ():
                if (m := _PASS.fullmatch(key)) and problem_id is not None:
                    if (share := metrics.number(value)) is not None and 0 <= share <= 1:
                        yield problem_id, f"pass_at.{int(m['k'])}", share
                elif isinstance(value, dict):
                    todo.append((int(key) if key.isdecimal() and len(key) < 10 else problem_id, value))

    def has_trajectory(self, level: int | None, problem_id: int | None) -> bool:
        """Whether the problem's trajectory lies beside."""
        return self._source.path.with_name(f"level_{level}_problem_{problem_id}_trajectory.json").is_file()

    def next_sample(self, run_id: str) -> int:
        """A sample number for a run that came again: far above those that harnesses give."""
        self._samples[run_id] += 1
        return 1_000_000 + self._samples[run_id]
