#!/usr/bin/env python3
"""The switch core is pure: proves from the compiler's own list of included files that nothing in
dataplane/core or include/tributary/{wire,reduce} reaches DPDK, XDP, BPF or sockets, and from the
sources themselves that none asks for threads, locks or clocks.

usage: purity.py SOURCE_ROOT COMPILER [COMPILER_ARGUMENT...]
"""

import pathlib
import re
import subprocess
import sys

FOLDERS = ["dataplane/core", "include/tributary/wire", "include/tributary/reduce"]

# Never, however indirectly.
REACHED = re.compile(r"/(rte_\w+\.h|bpf/|xdp/|sys/socket\.h|netinet/|arpa/|net/if|linux/if_)")
# Not named; the standard library may drag some of them in by itself.
NAMED = re.compile(
    r"#\s*include\s*[<\"](rte_|bpf/|xdp/|sys/|netinet/|arpa/|net/|linux/|unistd|fcntl|pthread|time\.h|"
    r"thread>|mutex>|shared_mutex>|condition_variable>|future>|semaphore>|latch>|barrier>|stop_token>|"
    r"chrono>|ctime>|csignal>|signal\.h|filesystem>|fstream>|iostream>|boost/asio)"
)


def main():
    root = pathlib.Path(sys.argv[1])
    compiler = sys.argv[2:]
    files = sorted(
        f for folder in FOLDERS for f in (root / folder).iterdir() if f.suffix in (".hpp", ".cpp")
    )
    if len(files) < 20:
        sys.exit(f"only {len(files)} files found under {root}: this test looks in the wrong place")
    wrong = []
    for file in files:
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if NAMED.search(line):
                wrong.append(f"{file.relative_to(root)}:{number}: {line.strip()}")
        dependencies = subprocess.run(
            [*compiler, "-std=c++20", "-M", "-x", "c++", "-I", str(root), "-I", str(root / "include"),
             str(file)],
            check=True, capture_output=True, text=True,
        ).stdout
        for path in dependencies.replace("\\\n", " ").split():
            if REACHED.search(path):
                wrong.append(f"{file.relative_to(root)} reaches {path}")
    for finding in wrong:
        print(finding, file=sys.stderr)
    if wrong:
        sys.exit(f"{len(wrong)} impure includes: move that work to dataplane/worker or dataplane/port")
    print(f"{len(files)} files are pure")


main()
