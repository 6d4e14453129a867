"""The walls hold in every mode, and nothing is left behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from kbstats.analytics.verify.runner import stats, verdict, wire
from kbstats.analytics.verify.runner.session import Session


@pytest.mark.parametrize("mode", ["root", "user", "landlock"])
def test_the_probe_is_refused_everything(mode: str, session: Session) -> None:
    if mode == "root" and os.geteuid():
        pytest.skip("needs root")
    found = session._probe(mode)
    if mode != "root" and not found["ok"] and found.get("error"):
        pytest.skip(f"not on this kernel: {found['error']}")
    assert found["ok"], found
    for layer in ("write_outside", "read_results", "network", "signal_host"):
        assert found["layers"][layer]["refused"], (layer, found["layers"][layer])
    assert found["layers"]["no_new_privs"]


def test_without_walls_the_probe_gets_out(session: Session) -> None:
    found = session._probe("none")
    assert not found["ok"]
    assert not found["layers"]["network"]["refused"]


AS_NOBODY = """
set -e
mount --make-rprivate /
mount --bind "$BASE" "$PLACE/py"
mount --bind "$PACKAGES" "$PLACE/packages"
exec setpriv --reuid=65534 --regid=65534 --clear-groups env -i PATH=/usr/bin:/bin "$PLACE/env/bin/python" "$PLACE/try.py"
"""
TRY = """
import sys
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
from runner.session import Session
with Session("cpu") as s:
    print(s.mode, s.sandbox["ok"], *(m for m in ("user", "landlock") if s._probe(m)["ok"]))
"""


@pytest.mark.skipif(
    os.geteuid() != 0 or not (shutil.which("setpriv") and shutil.which("unshare")), reason="needs root to become nobody"
)
def test_an_unprivileged_user_has_walls_too() -> None:
    import torch

    # The interpreter may lie where nobody can read it: it is mounted elsewhere, for these processes alone.
    place = Path("/tmp") / f"kbv-test-{os.getpid()}"
    for name in ("py", "packages", "env/bin", f"env/lib/python{sys.version_info[0]}.{sys.version_info[1]}"):
        (place / name).mkdir(parents=True)
    lib = next((place / "env/lib").iterdir())
    (place / "env/pyvenv.cfg").write_text(f"home = {place}/py/bin\n", encoding="utf-8")
    (place / "env/bin/python").symlink_to(place / "py/bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}")
    (lib / "site-packages").symlink_to(place / "packages")
    (place / "try.py").write_text(TRY, encoding="utf-8")
    shutil.copytree(Path(verdict.__file__).parent, place / "runner", ignore=shutil.ignore_patterns("__pycache__"))
    for path in (place, *place.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)
    env = {
        "PATH": os.environ["PATH"],
        "BASE": sys.base_prefix,
        "PACKAGES": str(Path(torch.__file__).parent.parent),
        "PLACE": str(place),
    }
    try:
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", AS_NOBODY], capture_output=True, text=True, timeout=120, check=False, env=env
        )
    finally:
        shutil.rmtree(place)
    if "mount" in done.stderr and not done.stdout:
        pytest.skip(f"mounting is not allowed here: {done.stderr.strip()[-100:]}")
    mode, ok, *held = done.stdout.split()
    assert ok == "True", done.stderr
    assert mode in held
    assert "landlock" in held or "user" in held


def test_the_folder_of_a_killed_supervisor_is_swept() -> None:
    code = (
        "import os, signal\nfrom kbstats.analytics.verify.runner.procs import Zygote\n"
        "z = Zygote(); print(z.scratch, z._process.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    scratch, pid = done.stdout.split()
    with Session("cpu"):
        assert not Path(scratch).exists()
        # Its zygote ends with it by a signal from the kernel; whoever adopted it reaps it when it comes to it.
        deadline = time.monotonic() + 30
        while Path("/proc", pid).exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not Path("/proc", pid).exists()


def test_a_session_leaves_no_process_and_no_folder() -> None:
    with Session("cpu") as opened:
        scratch, pid = Path(opened.zygote.scratch), opened.zygote._process.pid
        assert scratch.exists()
    assert not scratch.exists()
    assert not Path("/proc", str(pid)).exists()


def test_a_memory_file_cannot_be_cut() -> None:
    fd = wire.memory_file("t", 4096)
    with pytest.raises(PermissionError):
        os.ftruncate(fd, 0)
    os.close(fd)


@pytest.mark.parametrize("data", [b"", b"kbv1", b"x" * 64, b"kbv1" + b"\xff" * 200, b"kbv1" + b"\0" * 4000])
def test_garbage_on_the_wire_is_no_reply(data: bytes) -> None:
    with pytest.raises(wire.ForgedReplyError):
        wire.unpack_reply(data, 7)


def test_a_reply_survives_the_wire() -> None:
    out = wire.Output("bfloat16", (3, 0, 5), 0, wire.EXACT_TENSOR)
    sent = wire.Reply(7, wire.OK, wire.STATE_COPIED, 0.25, (out,), "ünïcode")
    assert wire.unpack_reply(wire.pack_reply(sent), 7) == sent


def test_interval_against_hand_computed_values() -> None:
    # logs -0.1, 0, 0.1: mean 0, s = 0.1, t(2) = 4.303, half = 4.303 * 0.1 / sqrt(3) = 0.24843
    mean, low, high = stats.log_interval([0.904837418, 1.0, 1.105170918])
    assert mean == pytest.approx(1.0, abs=1e-8)
    assert (low, high) == pytest.approx((0.780023, 1.282014), rel=1e-4)


@pytest.mark.parametrize(
    ("low", "high", "claim", "word"),
    [
        (1.9, 2.1, 2.0, "CONFIRMED"),
        (2.2, 2.4, 2.0, "CONFIRMED_FASTER"),
        (1.2, 1.4, 2.0, "SLOWER_THAN_CLAIMED"),
        (0.5, 1.0, 2.0, "NO_SPEEDUP"),
        (1.5, 2.5, 2.0, "INCONCLUSIVE"),
        (1.02, 1.1, None, "CONFIRMED"),
        (0.9, 1.2, None, "INCONCLUSIVE"),
    ],
)
def test_verdict_of_an_interval(low: float, high: float, claim: float | None, word: str) -> None:
    speed = verdict.Speed((low + high) / 2, low, high)
    assert verdict.judge_speed(speed, claim, precision_class="own", timed_pairs=8)[0] == word
