"""What went where, and why not. Pure; used by the program's threads and the engine's."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

NETWORK = "network"


class Counters:
    """Calls and bytes, by kind of call, type, operator, and the way that they went: NETWORK or a reason."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: Counter[tuple[str, str, str, str]] = Counter()
        self._bytes: Counter[tuple[str, str, str, str]] = Counter()
        self.reproducible = 0  # calls
        self.failed = 0

    def count(self, kind: str, dtype: str, op: str, way: str, size: int) -> None:
        with self._lock:
            self._calls[kind, dtype, op, way] += 1
            self._bytes[kind, dtype, op, way] += size

    def totals(self) -> tuple[int, int]:
        """(calls in the network, all calls)"""
        with self._lock:
            here = sum(number for key, number in self._calls.items() if key[3] == NETWORK)
            return here, sum(self._calls.values())

    def rows(self) -> list[dict[str, Any]]:
        with self._lock:
            return [{"call": key[0], "type": key[1], "operator": key[2], "way": key[3], "calls": number,
                     "bytes": self._bytes[key]} for key, number in sorted(self._calls.items())]

    def text(self) -> str:
        """One line: how many calls were reduced in the network, and why the others were not."""
        here, calls = self.totals()
        why: Counter[str] = Counter()
        for row in self.rows():
            if row["way"] != NETWORK:
                why[row["way"]] += row["calls"]
        others = ", ".join(f"{number} ({reason})" for reason, number in why.most_common())
        return f"{here} of {calls} calls of each rank were made in the network{'; by gloo: ' if others else ''}{others}"

    def table(self) -> str:
        lines = [f"{'call':<16}{'type':<10}{'operator':<10}{'calls':>10}{'bytes':>16}  way"]
        lines += [f"{row['call']:<16}{row['type']:<10}{row['operator']:<10}{row['calls']:>10}{row['bytes']:>16}  {row['way']}"
                  for row in self.rows()]
        return "\n".join(lines)
