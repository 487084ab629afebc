#!/usr/bin/env python3
"""Runs the tests on real namespaces: every test in a private world of its own.

    run.py --build DIRECTORY [--sanitizers SET] [--list]
    run.py --build DIRECTORY --one test_steering.ping_still_passes     inside that world; by run.py only

A test is a function `test_...(lab)` in a module test_*.py here. It runs as the first process of its own
network, mount and process namespaces, so whatever it leaves, the kernel clears away, also after Ctrl-C.
It is skipped, with the reason, where the machine cannot do what it needs. GTEST_FILTER selects.

Several run side by side, for most of them wait most of the time. A module that needs the machine for
itself says `ALONE = True`; its tests run after the others, one by one. Which modules a build with sanitizers
runs is in builds.py.
"""

import argparse
import importlib
import inspect
import os
import re
import shutil
import signal
import subprocess
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "scripts"))
sys.path.insert(0, str(HERE))

from builds import UNDER, runs_under  # noqa: E402
from tributary import isolation  # noqa: E402
from tributary.cases import Cases, Failed, Skip, wanted  # noqa: E402

SIDE_BY_SIDE = 3
SKIP_CODE = 77  # meson's and automake's
HANG_SECONDS = 300
DRIVERS = ["bus_pci", "bus_vdev", "mempool_ring", "net_af_packet", "net_af_xdp", "net_memif", "net_null", "net_pcap",
           "net_ring"]  # fmt: skip

worlds = set()  # the first process of every current world


def tests_of(file):
    """(module, test, function) of every test in the module test_*, in any order."""
    module = importlib.import_module(file)
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if name.startswith("test_") and function.__module__ == file:
            yield file.removeprefix("test_"), name.removeprefix("test_"), function


def discover():
    """The tests of all modules, in source order."""
    found = [test for path in HERE.glob("test_*.py") for test in tests_of(path.stem)]
    return sorted(found, key=lambda test: (test[0], test[2].__code__.co_firstlineno))


def needs_the_machine(test):
    return getattr(inspect.getmodule(test[2]), "ALONE", False)


def show_drivers():
    """In the test's own world, only DPDK's drivers that tests use: every process opens all it
    finds, 128 in Debian, which takes half of a switch's start under the thread sanitizer."""
    for folder in Path("/usr/lib").glob("*/dpdk/pmds-*"):
        shown = Path("/run/drivers") / folder.name
        shown.mkdir(parents=True)
        for driver in DRIVERS:
            for file in folder.glob(f"librte_{driver}.so*"):
                shutil.copy(file, shown, follow_symlinks=False)
        subprocess.run(["mount", "--bind", shown, folder], check=True)


def copy_suppressions():
    """Of sanitizers, to where programs of ordinary users read them, also in worlds inside this one,
    which have a /run of their own."""
    place = Path("/mnt")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tributary-mnt", place], check=True)
    for name in ("LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
        found = re.search("suppressions=([^:]+)", os.environ.get(name, ""))
        if found:
            copy = shutil.copy(found[1], place)
            os.environ[name] = os.environ[name].replace(found[1], str(copy))


def run_one(full_name, build):
    """In the test's own world. The exit code is the outcome; the output gives the reason."""
    from lab import Lab

    isolation.prepare()
    show_drivers()
    wanted_module, wanted_name = full_name.split(".")
    (test,) = (function for _, name, function in tests_of(f"test_{wanted_module}") if name == wanted_name)
    place = Path("/run/lab")  # on the world's own tmpfs, so it goes with it
    place.mkdir()
    copy_suppressions()
    lab = Lab(Path(build).resolve(), place)
    try:
        test(lab)
        lab.finish()
    except Skip as reason:
        print(reason)
        return SKIP_CODE
    except Exception:
        lab.print_logs()
        traceback.print_exc(file=sys.stdout)  # last: the end of a long report is kept
        return 1
    finally:
        lab.close()
    return 0


def run_isolated(full_name, build):
    """Runs one test, from outside its world. Returns its output: a passed test prints figures
    only."""
    command = [sys.executable, str(HERE / "run.py"), "--build", str(build), "--one", full_name]
    child = subprocess.Popen(
        isolation.command(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
    )
    worlds.add(child)
    try:
        printed, _ = child.communicate(timeout=HANG_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        printed, _ = child.communicate()
        raise Failed(f"{printed}\nit did not end within {HANG_SECONDS} s") from None
    finally:
        child.kill()  # and with it, through --kill-child, everything in its world
        child.wait()
        worlds.discard(child)
    if child.returncode == SKIP_CODE:
        raise Skip(printed.strip().splitlines()[-1])
    if child.returncode:
        raise Failed(f"{printed}\nexit code {child.returncode}")
    return printed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--sanitizers", default="", metavar="SET", help="of the build, joined by commas")
    parser.add_argument("--one", metavar="MODULE.TEST")
    parser.add_argument("--list", "--gtest_list_tests", action="store_true")
    options = parser.parse_args()
    if options.one:
        return run_one(options.one, options.build)
    tests = discover()
    if unknown := UNDER.keys() - {module for module, _, _ in tests}:
        parser.error(f"builds.py names modules that are not there: {', '.join(sorted(unknown))}")
    tests = [test for test in tests if runs_under(test[0], options.sanitizers)]
    if options.list:
        for module in dict.fromkeys(module for module, _, _ in tests):
            print(f"{module}.", *(f"  {name}" for m, name, _ in tests if m == module), sep="\n")
        return 0

    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    impossible = None
    try:
        isolation.check()
    except isolation.NotPossible as reason:
        impossible = str(reason)
    report = Cases("hosts", side_by_side=True)

    def run(test):
        module, name, _ = test
        with report.case(module, name) as said:
            if impossible:
                raise Skip(impossible)
            said += run_isolated(f"{module}.{name}", options.build).splitlines()

    chosen = [test for test in tests if wanted(f"{test[0]}.{test[1]}")]
    alone = [test for test in chosen if needs_the_machine(test)]
    pool = ThreadPoolExecutor(SIDE_BY_SIDE)
    try:
        list(pool.map(run, [test for test in chosen if test not in alone]))
        for test in alone:
            run(test)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(worlds):
            child.kill()
        raise
    return report.finish()


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
