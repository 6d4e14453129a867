"""The few Linux system calls that Python has no name for, through ctypes."""

from __future__ import annotations

import ctypes
import os
import platform

LIBC = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, PR_SET_DUMPABLE = 1, 24, 38, 22, 4
AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY = -100, 0x8000, 1
M_PERTURB = -6

X86 = platform.machine() == "x86_64"
PIVOT_ROOT, CAPSET = (155, 126) if X86 else (41, 91)
MOUNT_SETATTR = 442


def check(result: int, what: str) -> int:
    """Raise the call's own error if it returned one."""
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def syscall(number: int, *args: object) -> int:
    """Call by number; integers are passed as C longs, bytes as pointers."""
    LIBC.syscall.restype = ctypes.c_long
    return int(LIBC.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args]))


def unshare(flags: int) -> None:
    """Leave the namespaces named by `flags` for new ones."""
    check(LIBC.unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """Mount a file system; see the manual page of the call."""
    result = LIBC.mount(
        source.encode(),
        target.encode(),
        kind.encode() if kind else None,
        ctypes.c_ulong(flags),
        data.encode() if data else None,
    )
    check(result, f"mount {target}")


def read_only(target: str, *, recursive: bool) -> None:
    """Make a mount read-only, with all mounts below it if `recursive` (a plain remount leaves those writable)."""
    attr = (ctypes.c_uint64 * 4)(MOUNT_ATTR_RDONLY, 0, 0, 0)
    flags = AT_RECURSIVE if recursive else 0
    check(syscall(MOUNT_SETATTR, AT_FDCWD, target.encode(), flags, ctypes.byref(attr), 32), f"mount_setattr {target}")


def pivot_root_here() -> None:
    """Make the working directory the root and let go of the old one."""
    check(syscall(PIVOT_ROOT, b".", b"."), "pivot_root")
    check(LIBC.umount2(b".", MNT_DETACH), "umount2")


def prctl(option: int, arg: int = 0) -> None:
    """Set one attribute of this process; see the manual page of the call."""
    check(LIBC.prctl(ctypes.c_int(option), ctypes.c_ulong(arg), 0, 0, 0), f"prctl {option}")


def die_with_parent() -> None:
    """Ask for SIGKILL when the parent ends. A change of user id clears this: ask again after it."""
    prctl(PR_SET_PDEATHSIG, 9)


def drop_capabilities() -> None:
    """Give up every capability, in the bounding set too."""
    for cap in range(64):
        LIBC.prctl(ctypes.c_int(PR_CAPBSET_DROP), ctypes.c_ulong(cap), 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    check(syscall(CAPSET, ctypes.byref(header), ctypes.byref(data)), "capset")


def perturb(byte: int) -> None:
    """Make malloc fill new blocks with the complement of `byte` and freed ones with it; 0 turns it off."""
    LIBC.mallopt(ctypes.c_int(M_PERTURB), ctypes.c_int(byte))
