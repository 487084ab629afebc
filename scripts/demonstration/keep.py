"""The demo that stays: `scripts/demo --keep` leaves the fabric running in its private world, `--enter` opens a shell in
there, `--stop` ends it. One at a time on a machine.

    outside                                  inside, process 1 of the world
    start()  --- unshare, no parent ---> stay(): builds the fabric, says READY, waits for SIGTERM
    enter()  --- nsenter ------------->      a shell, or one command, with the programs in its PATH
    look()   --- nsenter ------------->      passes a browser's connections on to the manager (view.py)
    stop()   --- SIGTERM ------------->      stops everything in good order

The state file records the id and start time of process 1, so that a reused process id is not
mistaken for it.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import view  # noqa: E402

STATE = Path("/run/tributary-demo-kept.json")
PLACE = Path("/run/tributary-demo")  # inside
READY = "kept: ready"
STOP_SECONDS = 30

TOUR = """
The fabric stays: sixteen hosts, six switches, one manager, in a world of their own. What to see:

  scripts/demo --view                           the manager's page in a browser: the fabric drawn, live
  scripts/demo --enter                          a shell inside; the lines below are typed there
  tributaryctl fabric show topology             the links, as hellos report them
  reduce 2000                                   all hosts join a group by its name and reduce; as often as you like
  reduce 100000 &                               for longer, beside what follows
  tributaryctl fabric show groups               who is in it, and its tree
  tributaryctl fabric tree draw 1               that tree; its number stands in the table of groups
  tributaryctl show engines                     what leaf0's engines hold, and whom they wait for
  tributaryctl --socket spine0.sock show ports  the same of another switch
  tributaryctl capture --count 20 -o leaf0.pcapng
  tshark -X lua_script:$TRIBUTARY/packaging/wireshark/tributary.lua -r leaf0.pcapng
  ip -n leaf0 link set l0up0 down               cut an uplink while they reduce ...
  tributaryctl fabric show faults               ... and see when it was noticed, and which trees were rerouted
  ip -n leaf0 link set l0up0 up
  ip netns exec h3 bash                         one of the hosts: its eth0 is all that it has
  curl -s --unix-socket fabricd.sock http://demo/metrics | grep -v '^#' | head
  exit

  scripts/demo --stop                           ends it; nothing remains
"""


def _started(pid):
    """Start time of the process, in the kernel's ticks; None if it does not exist."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


def kept():
    """The state of the demo that runs, or None."""
    try:
        state = json.loads(STATE.read_text())
    except (OSError, ValueError):
        return None
    return state if _started(state["pid"]) == state["started"] is not None else None


def start(command, _descriptors):
    """Runs `command` in a world that outlives this program; returns the exit code."""
    if kept():
        print("demo: one is kept already; scripts/demo --stop ends it", file=sys.stderr)
        return 1
    outer = subprocess.Popen(
        ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--", *command],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        for line in outer.stdout:
            if line.strip() == READY:
                children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()
                state = {"pid": int(children[0]), "started": _started(children[0])}
                STATE.write_text(json.dumps(state))
                print(TOUR)
                return 0
            print(line, end="", flush=True)
    except BaseException:
        outer.kill()
        raise
    return outer.wait() or 1


def stay(fabric, lay, say):
    """Inside: until SIGTERM, which `isolation.prepare` makes a SystemExit."""
    addresses = [f"unix:{PLACE}/fabricd.sock", f"127.0.0.1:{view.PORT}"]
    lay(SimpleNamespace(kind=fabric.kind), fabric, say, rest={"listen": addresses}, manager={"open_view": True})
    commands = PLACE / "bin"
    commands.mkdir()
    for program in (fabric.binaries.ctl, fabric.binaries.host, fabric.binaries.pktgen):
        (commands / program.name).symlink_to(program.absolute())
    build = fabric.binaries.switch.absolute().parents[1]
    reduce = commands / "reduce"
    reduce.write_text(f'#!/bin/sh\nexec {sys.executable} {HERE / "keep.py"} "{build}" "${{1:-1000}}"\n')
    reduce.chmod(0o755)
    usual = Path("/run/tributary")  # so that tributaryctl needs no address
    usual.mkdir()
    (usual / "fabricd.sock").symlink_to(fabric.manager.socket)
    (usual / "switch.sock").symlink_to(PLACE / "leaf0.sock")
    print(READY, flush=True)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    while True:
        time.sleep(1)
        with contextlib.suppress(ChildProcessError):  # orphaned processes become children of
                                                      # process 1
            while os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                break


def _as_root(arguments):
    if os.geteuid() != 0 and shutil.which("sudo"):
        os.execvp("sudo", ["sudo", sys.executable, str(HERE), *arguments])


def enter(command):
    """A shell inside, or a command; returns only if no demo is running."""
    _as_root(["--enter", *command])
    state = kept()
    if not state:
        print("demo: none is kept; scripts/demo --keep starts one", file=sys.stderr)
        return 1
    environment = {
        **os.environ,
        "PATH": f"{PLACE}/bin:{os.environ.get('PATH', '/usr/sbin:/usr/bin:/sbin:/bin')}",
        "TRIBUTARY": str(HERE.parents[1]),
        "PS1": "demo# ",
    }
    shell = ["bash", "--norc", "-i"] if not command else command
    inside = ["sh", "-c", f'cd {PLACE} && exec "$@"', "sh", *shell]
    os.execvpe("nsenter", ["nsenter", "--target", str(state["pid"]), "--net", "--mount", "--pid", "--", *inside],
               environment)  # fmt: skip


def look(port):
    """The manager's page, for a browser of this machine; the exit code."""
    _as_root(["--view", str(port)])
    state = kept()
    if not state:
        print("demo: none is kept; scripts/demo --keep starts one", file=sys.stderr)
        return 1
    return view.serve(state["pid"], port)


def stop():
    """Ends the demo that is kept, in good order if it can; the exit code."""
    _as_root(["--stop"])
    state = kept()
    if not state:
        STATE.unlink(missing_ok=True)
        print("demo: none is kept")
        return 0
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(state["pid"], number)
        until = time.monotonic() + STOP_SECONDS
        while kept() and time.monotonic() < until:
            time.sleep(0.05)
        if not kept():
            break
    STATE.unlink(missing_ok=True)
    print("demo: ended; everything it made is removed")
    return 0


def reduce(build, reductions):
    """Inside: all hosts join a group and reduce; the exit code."""
    import workload
    from fabric import Fabric
    from tributary.switch import Binaries

    fabric = Fabric(Binaries(build), PLACE, False, "af_xdp")
    fabric.manager = SimpleNamespace(url=f"unix:{PLACE}/fabricd.sock", alive=lambda: True)
    try:
        outcome = workload.run(fabric, "demo", reductions, True, 1, lambda done: None)
    except workload.Failed as failure:
        print(f"reduce: {failure}", file=sys.stderr)
        return 1
    exact = "all exact" if outcome.wrong == 0 else f"{outcome.wrong} WRONG"
    print(f"{outcome.iterations:,} allreduces in {outcome.seconds:.1f} s, {exact}; median {outcome.p50:,.0f} us, "
          f"{outcome.root_frames:.2f} frames at the root for each")  # fmt: skip
    return 1 if outcome.wrong else 0


if __name__ == "__main__":
    try:
        count = int(sys.argv[2])
    except ValueError:
        sys.exit(f"reduce: {sys.argv[2]!r} is not a number; try `reduce 2000`")
    sys.exit(reduce(Path(sys.argv[1]), count))
