"""Hugepages that are free when a program looks and gone when it takes them. Which process took them
does not matter, so no page is needed: files with other numbers are mounted over the kernel's
counters."""

import json
from pathlib import Path

from tributary.cases import Skip
from tributary.switch import EXIT_FAILED, EXIT_OK, QuickConfig

COUNTERS = Path("/sys/kernel/mm/hugepages")
TAKEN = "another process took"


def promise_hugepages(lab):
    """Reports pages that do not exist. Only this test's mount namespace sees them. Returns the MiB
    that the machine has: the number of free ones changes with every switch that starts or ends
    beside this one."""
    pages = COUNTERS / "hugepages-2048kB"
    if not pages.is_dir():
        raise Skip("the kernel has no hugepages of 2 MiB")
    has = 2 * int((pages / "nr_hugepages").read_text())
    lab.sh(f"mount -t tmpfs tmpfs {COUNTERS}")
    pages.mkdir()
    count = has + 1024
    promised = {"nr": count, "free": count, "resv": 0, "surplus": 0, "nr_overcommit": 0}
    for name, count in promised.items():
        (pages / f"{name}_hugepages").write_text(f"{count}\n")
    return has


def quiet_switch(lab, **process):
    lab.config = QuickConfig(lab.place / "switch.sock", **process)
    lab.config.switch("leaf0").port("nothing", kind="null")
    return lab.config


def test_a_switch_whose_hugepages_were_taken_runs_on_ordinary_pages(lab):
    # Somewhat more than exist, free or not: DPDK refuses that without taking any.
    quiet_switch(lab, memory_mib=promise_hugepages(lab) + 256)
    switch = lab.start()
    log = switch.log_text()
    assert TAKEN in log and "memory: ordinary pages" in log, log
    name = Path(f"/proc/{switch.child.pid}/comm").read_text().strip()
    assert "tributary-switch".startswith(name), name


def test_a_switch_that_requires_hugepages_does_not_start_without_them(lab):
    has = promise_hugepages(lab)
    config = quiet_switch(lab, hugepages="require", memory_mib=has + 256)
    code, _, error = lab.run_switch("--config", lab.file("switch.toml", config.text()))
    assert code == EXIT_FAILED, error
    assert TAKEN not in error and "hugepages" in error, error


def test_a_generator_whose_hugepages_were_taken_measures_on_ordinary_pages(lab):
    lab.need(lab.binaries.pktgen)
    if promise_hugepages(lab):
        raise Skip("the machine has hugepages: the generator would take them")
    code, out, error = lab.run(
        lab.binaries.pktgen, "unicast", "--in-process", "--no-busy", "--no-calibrate", "--warmup",
        "50ms", "--operations", "1000", "--seed", "7", "--json",
    )
    assert code == EXIT_OK, error
    assert error.count("seed 7") == 1, error
    assert json.loads(out)["repeats"][0]["figures"]["lost"]["value"] == 0
