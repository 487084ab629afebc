"""Numbered unicast frames between hosts, and the fate of each.

Every pair of hosts sends; the watched pairs send in every tick, so that it is known to a tick when
frames stopped arriving and when they arrived again. All hosts' interfaces are in this program's
namespace.
"""

import struct
import threading
import time
from bisect import bisect_left
from collections import defaultdict

from tributary import frames
from tributary.network import RawPort

TICK_SECONDS = 0.002
GRACE_SECONDS = 0.2  # a frame that has not arrived by then is late, or lost
_PAYLOAD = struct.Struct(">IIQ24x")  # source, destination, number: at least 60 bytes with the headers
_OFFSET = 34


class Flow:
    """What one host sends to another. `sent` has a time for each frame, `arrived` their numbers."""

    def __init__(self, source, nid_of_source, destination, nid):
        self.source = source
        self.key = (nid_of_source, nid)
        self.destination = destination
        self.sent = []
        self.arrived = set()

    def frame(self, now):
        self.sent.append(now)
        payload = _PAYLOAD.pack(*self.key, len(self.sent) - 1)
        return frames.unicast(*self.key, payload)

    def fates(self, begin, end):
        """(moment it was sent, whether it arrived) of each frame sent in between."""
        first, last = bisect_left(self.sent, begin), bisect_left(self.sent, end)
        return [(self.sent[n], n in self.arrived) for n in range(first, last)]


class Flows:
    """`hosts`: (interface, NID) by name; `watched`: pairs of names; `rate`: frames a second over all pairs."""

    def __init__(self, hosts, watched, rate):
        self._ports = {name: RawPort(None, interface, frames.ETHERTYPE) for name, (interface, _) in hosts.items()}
        self.flows = {
            (a, b): Flow(a, hosts[a][1], b, hosts[b][1]) for a in hosts for b in hosts if a != b
        }  # fmt: skip
        self.watched = [self.flows[pair] for pair in watched]
        self._by_key = {flow.key: flow for flow in self.flows.values()}
        self._others = [flow for pair, flow in self.flows.items() if pair not in set(watched)]
        self._per_tick = max(1, round(rate * TICK_SECONDS) - len(self.watched))
        self._arrivals = defaultdict(int)  # frames, by tenths of a second
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        turn, due = 0, time.time()
        while not self._stopping.is_set():
            for flow in self.watched:
                self._send(flow)
            for _ in range(self._per_tick if self._others else 0):
                self._send(self._others[turn % len(self._others)])
                turn += 1
            self._take()
            # Delays by the machine are not made up for: that would cause a burst.
            due = max(due + TICK_SECONDS, time.time())
            self._stopping.wait(due - time.time())
        self._wait_for_the_last()

    def _send(self, flow):
        self._ports[flow.source].send(flow.frame(time.time()))

    def _take(self):
        for port in self._ports.values():
            for raw in port.waiting():
                if len(raw) < _OFFSET + _PAYLOAD.size:
                    continue  # a hello of the switch
                source, nid, number = _PAYLOAD.unpack_from(raw, _OFFSET)
                if flow := self._by_key.get((source, nid)):
                    flow.arrived.add(number)
                    self._arrivals[int(10 * time.time())] += 1

    def _wait_for_the_last(self):
        until = time.time() + 2 * GRACE_SECONDS
        while time.time() < until:
            self._take()
            time.sleep(TICK_SECONDS)

    def stop(self):
        self._stopping.set()
        self._thread.join()

    def rate(self, now):
        """Frames per second that arrived in the last whole second."""
        last = int(10 * now)
        return sum(self._arrivals[last - n] for n in range(1, 11))

    def lost(self):
        return sum(len(flow.sent) - len(flow.arrived) for flow in self.flows.values())

    def sent(self):
        return sum(len(flow.sent) for flow in self.flows.values())

    def share(self, begin, end, step=0.02):
        """The share of the watched frames that arrived, in the worst `step` by time of sending."""
        steps = defaultdict(list)
        for flow in self.watched:
            for when, has_arrived in flow.fates(begin, end):
                steps[int((when - begin) / step)].append(has_arrived)
        return min((sum(fates) / len(fates) for fates in steps.values()), default=0.0)

    def outage(self, begin, end):
        """(first, last) moment at which a lost watched frame was sent, or None, and the number of
        lost ones."""
        lost = [when for flow in self.watched for when, arrived in flow.fates(begin, end) if not arrived]
        return ((min(lost), max(lost)) if lost else None), len(lost)
