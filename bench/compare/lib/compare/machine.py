"""What a result depends on beside the programs: the machine and package versions."""

import datetime
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

HIDDEN_OPTIONS = ("--inside", "--huge")


def facts(huge):
    cpu = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    memory = re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())
    return {
        "date": str(datetime.date.today()),
        "cpu": cpu.group(1).strip() if cpu else platform.machine(),
        "cpus": os.cpu_count(),
        "tsc_mhz": round(tsc_hz() / 1e6),
        "memory_gib": round(int(memory.group(1)) / (1 << 20)) if memory else None,
        "pages": "2 MiB" if huge else "4 KiB",
        "kernel": platform.release(),
        "system": pretty_name(),
        "load": round(os.getloadavg()[0], 1),
    }


def tsc_hz():
    """Frequency of the time stamp counter as the kernel calibrated it; exact enough for tables of
    cycles."""
    info = Path("/proc/cpuinfo").read_text()
    bogomips = re.search(r"bogomips\s*:\s*([\d.]+)", info)
    return float(bogomips.group(1)) / 2 * 1e6 if bogomips else float("nan")


def pretty_name():
    release = Path("/etc/os-release")
    found = re.search(r'PRETTY_NAME="(.+)"', release.read_text()) if release.exists() else None
    return found.group(1) if found else platform.system()


def command_line(folder="bench/compare"):
    words = [Path(sys.argv[0]).name]
    skip = False
    for word in sys.argv[1:]:
        if skip or word in HIDDEN_OPTIONS:
            skip = False
        elif word in ("--result", "--json", "--build", "--folder"):
            skip = True
        else:
            words.append(word)
    return f"{folder}/" + " ".join(words)


def package_version(name):
    """Version of a Debian package; "" if it is not installed."""
    try:
        done = subprocess.run(["dpkg-query", "--show", "--showformat=${Version}", name],
                              capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip()
