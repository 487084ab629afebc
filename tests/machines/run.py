#!/usr/bin/env python3
"""The tier `machines`: a switch on emulated NICs with DPDK's drivers for them, in a guest for each kind of NIC.

    run.py --build DIRECTORY [--kinds KIND,KIND]

Kinds are in kinds.py, cases in cases.py; without --kinds, TRIBUTARY_MACHINES names them, or all run. GTEST_FILTER selects
(`virtio_2.two_workers`). Everything runs in a private world of namespaces and ends with it. Logs of a kind with a failure stay
in `artefacts/machines` of the build, or in TRIBUTARY_ARTEFACTS.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "scripts"), str(ROOT / "tests/docs")]

import guest  # noqa: E402
from cases import cases_of  # noqa: E402
from guest import CannotRun, Guest, Kernel  # noqa: E402
from kinds import KINDS, Nics, emulated  # noqa: E402
from machine import Machine  # noqa: E402
from platforms.names import release_in  # noqa: E402
from tributary import isolation  # noqa: E402
from tributary.cases import Cases, Failed, Skip, wanted  # noqa: E402
from tributary.network import Network  # noqa: E402
from tributary.switch import Binaries  # noqa: E402

KIND_SECONDS = 900


def place_for(build, kind):
    place = Path(os.environ.get("TRIBUTARY_ARTEFACTS", build / "artefacts")) / "machines" / kind.name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    return place


def run_case(case, machine, impossible, place, said):
    if impossible:
        raise Skip(impossible)
    if not machine.guest.alive():
        raise Failed("the guest is gone, see the cases before")
    try:
        case(machine, said)
    except CannotRun as reason:
        raise Skip(str(reason)) from None
    except Exception:
        said.append(f"logs of the guest and its switches: {place}, {place}/out")
        raise


def run_kind(report, kind, kernel, build, impossible):
    """All cases of a kind, in one guest."""
    release = release_in("/")[0]
    chosen = [case for case in cases_of(kind, release) if wanted(f"{kind.name}.{case.__name__}")]
    if not chosen:
        return
    place, started = place_for(build, kind), time.monotonic()
    nics, machine = Nics(kind), None
    try:
        if not impossible:
            try:
                nics.create()
                booting = Guest(kernel, build, place, nics.devices(), KIND_SECONDS)
                machine = Machine(kind, nics, booting, Binaries(build), release)
            except CannotRun as reason:
                impossible = str(reason)
        booted = time.monotonic() - started
        for case in chosen:
            with report.case(kind.name, case.__name__) as said:
                run_case(case, machine, impossible, place, said)
        print(f"{kind.name}: {time.monotonic() - started:.0f} s; the guest booted in {booted:.0f} s", flush=True)
    finally:
        if machine:
            machine.guest.stop()
        nics.remove()
    if not report.failed(kind.name):
        shutil.rmtree(place)


def inside(chosen, build):
    isolation.prepare()
    Network()
    report = Cases("machines", side_by_side=True)
    impossible = kernel = None
    try:
        guest.check()
        kernel = Kernel.unpacked()
    except CannotRun as reason:
        impossible = str(reason)
    devices = "" if impossible else emulated(guest.QEMU)
    for kind in chosen:
        missing = f'this QEMU does not emulate {kind.device}' if f'name "{kind.device}"' not in devices else None
        run_kind(report, kind, kernel, build, impossible or missing)
    return report.finish()


def kinds_of(text, release):
    """The kinds that are named, joined by commas; without any, all that this release of Debian emulates."""
    if not text:
        return [kind for kind in KINDS.values() if kind.runs_on(release)]
    unknown = set(text.split(",")) - KINDS.keys()
    if unknown:
        raise ValueError(f"unknown kind {', '.join(sorted(unknown))}; there are: {', '.join(KINDS)}")
    return [KINDS[name] for name in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--kinds", default=os.environ.get("TRIBUTARY_MACHINES", ""))
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    try:
        chosen = kinds_of(options.kinds, release_in("/")[0])
    except ValueError as reason:
        parser.error(str(reason))
    if options.inside:
        return inside(chosen, options.build.resolve())
    try:
        isolation.check()
    except isolation.NotPossible as reason:
        report = Cases("machines")
        with report.case("machines", "can_run_here"):
            raise Skip(str(reason))
        return report.finish()
    return subprocess.run(isolation.command([sys.executable, *sys.argv, "--inside"]), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
