"""A system call filter: no tracing of other processes, no new namespaces or mounts, no network sockets."""

from __future__ import annotations

import ctypes
import struct

from . import syscalls

# (x86-64, arm64) numbers; None where the architecture lacks the call.
DENIED = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "perf_event_open": (298, 241),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "setns": (308, 268),
    "unshare": (272, 97),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "kexec_load": (246, 104),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "mount_setattr": (442, 442),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "io_uring_setup": (425, 425),
    "pidfd_getfd": (438, 438),
    "chroot": (161, 51),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "syslog": (103, 116),
}
SOCKET = (41, 198)
SET_AFFINITY = (203, 122)
SETSID = (112, 157)
CLONE = (56, 220)
CLONE3 = (435, 435)
ARCH = (0xC000003E, 0xC00000B7)
NAMESPACES = 0x7E020000
"""All CLONE_NEW* bits that clone(2) takes."""

LOAD, EQUAL, AT_LEAST, JSET, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
EPERM, ENOSYS, EAFNOSUPPORT, AF_UNIX = 1, 38, 97, 1


def program(*, pinned: bool = False, one_session: bool = False) -> list[tuple[int, int, int, int]]:
    """Return the filter as BPF instructions (code, jump if true, jump if false, operand).

    Args:
        pinned: whether the process is held to its cores.
        one_session: whether it is held to its session.
    """
    here = 0 if syscalls.X86 else 1
    code = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, ARCH[here]), (RETURN, 0, 0, KILL), (LOAD, 0, 0, 0)]
    # The x32 calls of an x86-64 kernel carry this bit and would slip past every number below.
    code += [(AT_LEAST, 0, 1, 0x40000000), (RETURN, 0, 0, ERRNO | ENOSYS)]
    for numbers in DENIED.values():
        code += [(EQUAL, 0, 1, numbers[here]), (RETURN, 0, 0, ERRNO | EPERM)]
    # What a library asks for in passing: it is told yes, and nothing happens.
    for numbers, held in ((SET_AFFINITY, pinned), (SETSID, one_session)):
        code += [(EQUAL, 0, 1, numbers[here]), (RETURN, 0, 0, ERRNO)] if held else []
    # clone3 passes its flags by pointer, which a filter cannot read; "not there" makes libc use clone.
    code += [(EQUAL, 0, 1, CLONE3[here]), (RETURN, 0, 0, ERRNO | ENOSYS)]
    code += [(EQUAL, 0, 3, CLONE[here]), (LOAD, 0, 0, 16), (JSET, 0, 5, NAMESPACES), (RETURN, 0, 0, ERRNO | EPERM)]
    code += [
        (EQUAL, 0, 3, SOCKET[here]),
        (LOAD, 0, 0, 16),
        (EQUAL, 1, 0, AF_UNIX),
        (RETURN, 0, 0, ERRNO | EAFNOSUPPORT),
    ]
    return [*code, (RETURN, 0, 0, ALLOW)]


def install(*, pinned: bool = False, one_session: bool = False) -> None:
    """Install the filter for this process and all it starts; see program. Needs no_new_privs.

    Raises:
        OSError: if the kernel refuses.
    """
    code = program(pinned=pinned, one_session=one_session)
    blob = b"".join(struct.pack("<HBBI", *line) for line in code)
    buffer = ctypes.create_string_buffer(blob, len(blob))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    prog = Program(len(code), ctypes.addressof(buffer))
    result = syscalls.LIBC.prctl(ctypes.c_int(syscalls.PR_SET_SECCOMP), ctypes.c_ulong(2), ctypes.byref(prog), 0, 0)
    syscalls.check(result, "seccomp")
