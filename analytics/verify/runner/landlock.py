"""Landlock: the file tree as an allow-list, enforced by the kernel for an unprivileged process."""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
from typing import TYPE_CHECKING

from . import syscalls

if TYPE_CHECKING:
    from collections.abc import Sequence

CREATE, ADD, RESTRICT = 444, 445, 446
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
READ = EXECUTE | READ_FILE | READ_DIR
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | 1 << 14
TCP = 3
SCOPES = 3
"""Abstract unix sockets and signals to processes outside (ABI 6)."""


def abi() -> int:
    """Return the kernel's Landlock version, 0 when there is none."""
    return max(0, syscalls.syscall(CREATE, 0, 0, 1))


def restrict(readable: Sequence[str], writable: Sequence[str], *, scoped: bool) -> int:
    """Allow reading and executing below `readable` and everything below `writable`; deny all else.

    Args:
        readable: folders and files to read and execute.
        writable: folders and files to do anything with.
        scoped: also deny signals and abstract sockets to processes outside.

    Returns:
        the Landlock version that enforces it. Needs no_new_privs.

    Raises:
        OSError: if the kernel has no Landlock or refuses.
    """
    version = abi()
    if not version:
        raise OSError("the kernel has no Landlock")
    handled = (1 << 13) - 1 | (1 << 13 if version >= 2 else 0) | (1 << 14 if version >= 3 else 0)
    attr = struct.pack("<QQQ", handled, TCP if version >= 4 else 0, SCOPES if scoped and version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = syscalls.check(syscalls.syscall(CREATE, ctypes.c_char_p(attr), size, 0), "landlock_create_ruleset")
    try:
        for paths, rights in ((readable, READ), (writable, handled)):
            for path in paths:
                with contextlib.suppress(FileNotFoundError):
                    _allow(ruleset, path, rights & handled)
        syscalls.check(syscalls.syscall(RESTRICT, ruleset, 0), "landlock_restrict_self")
    finally:
        os.close(ruleset)
    return version


def _allow(ruleset: int, path: str, rights: int) -> None:
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not os.path.isdir(path):  # noqa: PTH112  plain calls between fork and exec
            rights &= FILE_RIGHTS
        rule = struct.pack("<Qi", rights, fd)
        syscalls.check(syscalls.syscall(ADD, ruleset, 1, ctypes.c_char_p(rule), 0), f"landlock_add_rule {path}")
    finally:
        os.close(fd)
