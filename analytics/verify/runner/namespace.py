"""Loading a model's source text as a module, with the names that its suite would have put there."""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def install_shims(shims: Sequence[str], device: str) -> dict[str, Any]:
    """Execute shim sources and return the names they give.

    A shim is a Python file. Its public names go into the namespace of the source that is loaded
    later; a mapping `MODULES` of dotted name to {name: value} makes modules that it can import.
    It finds the device of this job as `DEVICE`.
    """
    names: dict[str, Any] = {}
    for number, text in enumerate(shims):
        scope: dict[str, Any] = {"__name__": f"kbv_shim_{number}", "DEVICE": device}
        exec(compile(text, f"<shim {number}>", "exec"), scope)  # noqa: S102  a shim is there to be executed
        for dotted, content in scope.get("MODULES", {}).items():
            _make_module(dotted, content)
        names.update(
            {k: v for k, v in scope.items() if not k.startswith("_") and k not in {"MODULES", "DEVICE", "annotations"}}
        )
    return names


def _make_module(dotted: str, content: Mapping[str, Any]) -> None:
    parts = dotted.split(".")
    for depth in range(1, len(parts) + 1):
        name = ".".join(parts[:depth])
        if name not in sys.modules:
            module = types.ModuleType(name)
            module.__path__ = []
            # inspect and torch.compile ask every module for its spec.
            module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
            sys.modules[name] = module
            if depth > 1:
                setattr(sys.modules[".".join(parts[: depth - 1])], parts[depth - 1], module)
    vars(sys.modules[dotted]).update(content)


def write_helpers(helpers: Mapping[str, str], folder: str) -> None:
    """Write a suite's helper modules below `folder` and make them importable.

    Args:
        helpers: relative path -> source text.
        folder: a folder of the worker's own.
    """
    if not helpers:
        return
    base = Path(folder).resolve()
    for name, text in helpers.items():
        target = (base / name).resolve()
        if not target.is_relative_to(base):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    for path in (str(base), str(base / "src")):
        with contextlib.suppress(ValueError):
            sys.path.remove(path)
        sys.path.append(path)


def load(source: str, path: str, names: Mapping[str, Any]) -> types.ModuleType:
    """Write `source` to `path`, execute it as a module and return it.

    A real file, because Triton and `inspect` read a function's source from where it stands.
    """
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {path}")
    module = importlib.util.module_from_spec(spec)
    vars(module).update(names)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module
