"""Roots of other releases of Debian are made while the first build compiles: most of that waits for
the network."""

import sys
from concurrent.futures import ThreadPoolExecutor, wait

import processes
from building import BuildFailed


class Roots:
    def __init__(self, tree, lists, on_line):
        """`lists`: of packages, as scripts/setup has them, None to install none; `on_line` receives
        what is done."""
        self._program = tree / "scripts" / "platforms" / "ready.py"
        self._options = ["--no-setup"] if lists is None else lists
        self._on_line = on_line
        self._pool = ThreadPoolExecutor()
        self._begun = {}

    def begin(self, platform):
        command = [sys.executable, str(self._program), platform.name, *self._options]
        if platform not in self._begun:
            self._begun[platform] = self._pool.submit(processes.run, command, self._on_line)

    def wait(self, platform):
        """Raises BuildFailed with the output if it could not be made."""
        if platform in self._begun:
            ended = self._begun[platform].result()
            if ended.code:
                raise BuildFailed(f"{platform.name}: {processes.how_it_ended(ended.code)}\n{ended.tail}")

    def settle(self):
        """Waits for all, also those that cannot be made: some tests use one where it is."""
        wait(self._begun.values())
