"""The walls around a model worker, in layers.

`enter` runs in a freshly forked process and returns only in the innermost one. Three modes, best first:

* ``root``: new mount, pid, net, ipc and uts namespaces without a user namespace, a root file system
  that holds an allow-list and nothing else (pivot_root), then a user id of the worker's own;
* ``user``: the same inside a user namespace, with all capabilities dropped, for an unprivileged caller;
* ``landlock``: the same allow-list by Landlock, network closed by seccomp.

``none`` keeps the session, limits and clean environment alone; its results never count.
Every mode adds no-new-privileges, resource limits, seccomp and, where the kernel has it, Landlock.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from . import landlock, seccomp, syscalls

MODES = ("root", "user", "landlock", "none")
BOX = "/box"
"""Where the worker's own folder stands inside the walls (namespace modes)."""

MIB = 1 << 20
FILE_BYTES = 512 * MIB
"""RLIMIT_FSIZE: a compiled extension is under 100 MiB."""
PROCESSES = 384
"""RLIMIT_NPROC for the worker's user id: a build runs tens of compilers, OpenMP and inductor tens of threads."""
DATA_BYTES = 12 << 30
"""RLIMIT_DATA on the CPU. Never RLIMIT_AS: CUDA reserves hundreds of gigabytes of address space."""

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
ETC = (
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "passwd",
    "group",
    "nsswitch.conf",
    "localtime",
    "alternatives",
    "ssl/openssl.cnf",
)
TOOLS = ("gcc", "g++", "nvcc", "ninja")
"""Build tools whose installation prefix is readable wherever it is."""

DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random", "/dev/full")


@dataclass(frozen=True)
class Box:
    """One worker's cell."""

    mode: str
    root: str
    """An empty folder on which the new root is mounted."""
    home: str
    """The worker's own folder, as the host sees it."""
    uid: int
    gpu: bool
    readable: tuple[str, ...] = field(default_factory=tuple)
    """Interpreter and environment prefixes beside the system's folders."""
    cores: tuple[int, ...] = ()
    """Cores that the worker is held to and cannot leave; empty for all."""


def prefixes() -> tuple[str, ...]:
    """Return the folders that Python and its packages are loaded from, without those under /usr."""
    found = [sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.dirname(os.path.realpath(sys.executable)), *sys.path]  # noqa: PTH120  plain calls between fork and exec
    found += [path for path in (os.environ.get("CUDA_HOME"), "/opt/cuda", "/usr/local/cuda") if path]
    for tool in (os.environ.get("CC"), os.environ.get("CXX"), *TOOLS):
        where = shutil.which(tool) if tool else None
        found += [os.path.dirname(os.path.dirname(path)) for path in (where, where and os.path.realpath(where)) if path]  # noqa: PTH120  plain calls between fork and exec
    real = []
    for path in (os.path.abspath(p) for p in found if p):  # noqa: PTH100  plain calls between fork and exec
        for each in dict.fromkeys((path, os.path.realpath(path))):
            if os.path.isdir(each) and each not in ("/", "/tmp", "/root", "/home") and not each.startswith("/usr/"):  # noqa: PTH112, S108  a path behind the walls
                real.append(each)  # noqa: PERF401  reads better as a loop
    kept: list[str] = []
    for path in sorted(set(real), key=len):
        if not any(path == k or path.startswith(k + "/") for k in kept):
            kept.append(path)
    return tuple(kept)


def devices(*, gpu: bool) -> tuple[str, ...]:
    """Return the device nodes a worker may open."""
    nodes = [*DEVICES]
    if gpu:
        nodes += [f"/dev/{name}" for name in sorted(os.listdir("/dev")) if name.startswith("nvidia")]  # noqa: PTH208  plain calls between fork and exec
    return tuple(node for node in nodes if os.path.exists(node))  # noqa: PTH110  plain calls between fork and exec


def enter(box: Box) -> str:
    """Go behind the walls and return the worker's own folder as seen from there.

    Raises:
        OSError: if a required layer cannot be put up; the process must then end.
    """
    os.setsid()
    syscalls.die_with_parent()
    home = box.home
    if box.mode in ("root", "user"):
        _leave_namespaces(box)
        _watch(os.fork())
        syscalls.die_with_parent()
        _build_root(box)
        # As process 1 the worker would ignore signals and its parent would be "0": a kill(getppid())
        # would then hit its own group. A small process 1 stays behind and reaps.
        _watch(os.fork())
        os.setsid()
        home = BOX
    _environment(home)
    if box.cores:
        os.sched_setaffinity(0, box.cores)
    _limits(box)
    _drop(box)
    _filters(box, home)
    os.chdir(home)
    return home


def _leave_namespaces(box: Box) -> None:
    flags = (
        syscalls.CLONE_NEWNS
        | syscalls.CLONE_NEWPID
        | syscalls.CLONE_NEWNET
        | syscalls.CLONE_NEWIPC
        | syscalls.CLONE_NEWUTS
    )
    if box.mode == "root":
        syscalls.unshare(flags)
        return
    uid, gid = os.geteuid(), os.getegid()
    syscalls.unshare(flags | syscalls.CLONE_NEWUSER)
    for name, line in (("setgroups", "deny"), ("uid_map", f"1000 {uid} 1"), ("gid_map", f"1000 {gid} 1")):
        Path("/proc/self", name).write_text(line, encoding="ascii")


def _watch(child: int) -> None:
    """Return in the child; in the parent wait for it and end as it ended."""
    if child == 0:
        return
    # The parent's copies would keep the control socket open after the worker's death.
    os.closerange(3, 4096)
    while True:
        try:
            pid, status = os.wait()
        except InterruptedError:
            continue
        except ChildProcessError:
            os._exit(70)
        if pid == child:
            break
    if os.WIFSIGNALED(status):
        os._exit(128 + os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status))


def _bind(source: str, root: str) -> None:
    target = root + source
    if os.path.islink(source):  # noqa: PTH114  plain calls between fork and exec
        os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103, PTH120  plain calls between fork and exec
        if not os.path.lexists(target):
            os.symlink(os.readlink(source), target)  # noqa: PTH115, PTH211  plain calls between fork and exec
        return
    if os.path.isdir(source):  # noqa: PTH112  plain calls between fork and exec
        os.makedirs(target, exist_ok=True)  # noqa: PTH103  plain calls between fork and exec
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103, PTH120  plain calls between fork and exec
        Path(target).touch()
    syscalls.mount(source, target, None, syscalls.MS_BIND | syscalls.MS_REC)


def _build_root(box: Box) -> None:
    root = box.root
    syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    syscalls.mount("tmpfs", root, "tmpfs", syscalls.MS_NOSUID, "size=16m,mode=755")
    paths = [*SYSTEM, *(f"/etc/{name}" for name in ETC), *box.readable, *(("/sys",) if box.gpu else ())]
    for path in paths:
        if os.path.lexists(path):
            _bind(path, root)
            if not os.path.islink(path):  # noqa: PTH114  plain calls between fork and exec
                syscalls.read_only(root + path, recursive=True)
    for node in devices(gpu=box.gpu):
        _bind(node, root)
    for name, size in (("dev/shm", "256m"), ("proc", "")):
        os.makedirs(f"{root}/{name}", exist_ok=True)  # noqa: PTH103  plain calls between fork and exec
        if size:
            syscalls.mount(
                "tmpfs", f"{root}/{name}", "tmpfs", syscalls.MS_NOSUID | syscalls.MS_NODEV, f"size={size},mode=1777"
            )
        else:
            syscalls.mount("proc", f"{root}/{name}", "proc", syscalls.MS_NOSUID | syscalls.MS_NODEV)
    os.makedirs(root + BOX)  # noqa: PTH103  plain calls between fork and exec
    syscalls.mount(box.home, root + BOX, None, syscalls.MS_BIND)
    tmp = f"{root}/tmp"  # noqa: S108  an interpreter that stands under /tmp is bound there already
    if not os.path.lexists(tmp):
        os.symlink(f"{BOX}/tmp", tmp)  # noqa: PTH211, S108  a path behind the walls
    os.chdir(root)
    syscalls.pivot_root_here()
    os.chdir(BOX)
    syscalls.read_only("/", recursive=False)


def _environment(home: str) -> None:
    """Point every cache that a build writes into the worker's own folder."""
    for name in (
        "HOME",
        "TMPDIR",
        "TORCH_EXTENSIONS_DIR",
        "TRITON_CACHE_DIR",
        "CUDA_CACHE_PATH",
        "TORCHINDUCTOR_CACHE_DIR",
        "XDG_CACHE_HOME",
    ):
        folder = home if name == "HOME" else f"{home}/{'tmp' if name == 'TMPDIR' else name.lower()}"
        os.environ[name] = folder
    os.environ["USER"] = os.environ["LOGNAME"] = "box"


def _limits(box: Box) -> None:
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: FILE_BYTES, resource.RLIMIT_NOFILE: 1024}
    if box.mode != "none":
        limits[resource.RLIMIT_NPROC] = PROCESSES
    if not box.gpu:
        limits[resource.RLIMIT_DATA] = DATA_BYTES
    for name, value in limits.items():
        hard = resource.getrlimit(name)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)  # noqa: PLW2901  narrowed step by step
        resource.setrlimit(name, (value, value))
    with contextlib.suppress(OSError):
        # When memory runs out the worker goes first.
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _drop(box: Box) -> None:
    if box.mode == "root":
        os.setgroups([])
        os.setresgid(box.uid, box.uid, box.uid)
        os.setresuid(box.uid, box.uid, box.uid)
        syscalls.die_with_parent()
    elif box.mode == "user":
        syscalls.drop_capabilities()
    # A change of user id makes /proc/self unreadable to oneself until the next exec; CUDA reads it.
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)


def _filters(box: Box, home: str) -> None:
    if box.mode == "none":
        return
    if box.mode == "landlock":
        readable = [
            *SYSTEM,
            *(f"/etc/{name}" for name in ETC),
            *box.readable,
            "/proc",
            "/dev",
            *(("/sys",) if box.gpu else ()),
        ]
        landlock.restrict(readable, [home, "/proc/self", *devices(gpu=box.gpu)], scoped=not box.gpu)
    elif not box.gpu:
        # The new root is the allow-list already; this adds a second lock on writing and on TCP. CUDA's
        # start fails under it (error 304, seen with driver 580).
        with contextlib.suppress(OSError):
            landlock.restrict(["/"], [home, "/dev", "/proc"], scoped=True)
    seccomp.install(pinned=bool(box.cores), one_session=box.mode == "landlock")


def make_home(path: str, uid: int | None) -> None:
    """Create a worker's folder with its temporary folder inside, owned by `uid` where we may say so."""
    os.makedirs(f"{path}/tmp", exist_ok=True)  # noqa: PTH103, S108  a path behind the walls
    for folder in (path, f"{path}/tmp"):  # noqa: S108  a path behind the walls
        os.chmod(folder, 0o700)  # noqa: PTH101  plain calls between fork and exec
        if uid is not None:
            os.chown(folder, uid, uid)


def remove_home(path: str) -> None:
    """Delete a worker's folder, whatever modes the worker gave its files."""

    def unlock(function: object, name: str, _info: object) -> None:
        with contextlib.suppress(OSError):
            os.chmod(os.path.dirname(name), 0o700)  # noqa: PTH101, PTH120  plain calls between fork and exec
            function(name)  # type: ignore[operator]

    shutil.rmtree(path, onerror=unlock)


def kill_session(pid: int) -> None:
    """End a launcher and, where no pid namespace does it, every process of its session."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
    for each in _session(pid):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(each, signal.SIGKILL)


def _stat(pid: int | str) -> list[str]:
    """Return the fields of a process behind its name: state, parent, group, session, …; none when it is gone."""
    try:
        return Path("/proc", str(pid), "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _session(pid: int) -> list[int]:
    """Return the processes of a session."""
    everyone = (entry for entry in os.listdir("/proc") if entry.isdigit())  # noqa: PTH208  plain calls between fork and exec
    return [int(entry) for entry in everyone if _stat(entry)[3:4] == [str(pid)]]


def family(pid: int, mode: str) -> set[int]:
    """Return a launcher and all processes that came of it.

    In a pid namespace an orphan falls to the namespace's first process, so the children of children are
    all there are; without one the session tells them, which seccomp lets nobody leave.
    """
    found, todo = {pid}, [pid]
    while todo:
        children: list[int] = []
        for file in Path("/proc", str(todo.pop()), "task").glob("*/children"):
            with contextlib.suppress(OSError):
                children += [int(word) for word in file.read_text(encoding="ascii").split()]
        todo += [c for c in children if c not in found]
        found.update(children)
    return found if mode in ("root", "user") else found | set(_session(pid))


STANDSTILL_S = 5.0
"""How long processes may take to stand still: one that waits for a core of a busy machine stops when it has it."""


def freeze(pid: int, mode: str) -> set[int]:
    """Stop a worker with all its processes.

    Returns:
        the processes that stand still; none if some could not be stopped.
    """
    end = time.monotonic() + STANDSTILL_S
    while time.monotonic() < end:
        # Processes may have wakened or forked each other meanwhile: look again.
        everyone = family(pid, mode)
        awake = [each for each in everyone if (_stat(each) or ["X"])[0] not in "TtZX"]
        if not awake:
            return everyone
        for each in awake:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(each, signal.SIGSTOP)
        time.sleep(1e-4)
    return set()


def thaw(frozen: set[int]) -> None:
    """Let processes run on. Nothing was forked meanwhile, so no more than was stopped has to be found."""
    for each in frozen:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(each, signal.SIGCONT)
