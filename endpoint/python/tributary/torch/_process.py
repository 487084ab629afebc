"""What a process has once: settings, the engine, hosts, the watch, counters; and how channels of torch's groups are set up.

Setting up a group is a collective of all its ranks, by the inner backend, in their first call that the network could make:

    1. identities   every rank's node, leader's process and settings; so all know the nodes, and what differs
    2. leaders      the first rank of each node joins a named group of the fabric, or makes a dup of one of the same
                    leaders; ranks of a node share memory
    3. agreement    all could, or none has the group, and all know the first reason

A host has a thread for progress, so that groups that exist do not wait for one that is being made.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import secrets
import socket
import sys
import threading
from typing import Any

import torch

from .._library import TributaryError
from ..host import Group, Host
from . import _node, _plan
from ._counters import Counters
from ._engine import Engine, FabricError
from ._fabric import GroupChannel
from ._settings import Settings, settings_from
from ._watch import Watch

IDENTITY_BYTES = 640
LEAVE_SECONDS = 10.0
# A rank that has ended in good order may have left a result on its way to a slower one.
GRACE_SECONDS = 5.0


def say(text: str) -> None:
    print(f"Tributary torch: {text}", file=sys.stderr, flush=True)


def node_identity() -> str:
    """The same for processes that share a network, and so their interface and their node's sockets."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
    except OSError:
        boot = ""
    network = os.readlink("/proc/self/ns/net")
    return hashlib.sha256(f"{boot} {socket.gethostname()} {network}".encode()).hexdigest()[:24]


class Setup:
    """The outcome of setting up a group: a channel, or the reason why there is none. `token`: the group's name, the same at
    all ranks; `members`: its ranks, as in the first group."""

    def __init__(self, channel: Any = None, reason: str = "", wide_frames: bool = False, token: str = "",
                 members: list[int] | None = None) -> None:
        self.channel, self.reason, self.wide_frames = channel, reason, wide_frames
        self.token, self.members = token, members or []


class Process:
    def __init__(self) -> None:
        self.settings: Settings = settings_from(os.environ)
        self.pid = os.getpid()
        self.token = secrets.token_hex(8)  # of this process
        self.counters = Counters()
        self.rank = 0  # in the first group
        self._engine: Engine | None = None
        self._watch: Watch | None = None
        self._hosts: dict[str, Host] = {}
        self._stems: dict[tuple[str, ...], Group] = {}  # by the leaders' processes; None where this one is not one
        self._channels: dict[int, tuple[str, Any, list[int]]] = {}  # token, channel, ranks in the first group
        self._ended: dict[int, tuple[str, bool]] = {}
        self._lock = threading.Lock()
        self._said_refusal = False
        self._over = False
        os.register_at_fork(after_in_child=self._forked)
        atexit.register(self.end)

    @property
    def engine(self) -> Engine:
        if self._engine is None:
            self._engine = Engine(say)
        return self._engine

    def check_alive(self) -> None:
        if os.getpid() != self.pid:
            raise RuntimeError("Tributary torch: this process was forked from one with process groups, which only the parent "
                               "may use; start processes that communicate by torchrun, tributary-run or spawn")
        if self._over:
            raise RuntimeError("Tributary torch: the program is ending, and its groups are left")

    def check_members(self, members: list[int]) -> None:
        """Raises if one of these has died."""
        if self._ended:
            for text, clean in (self._ended[each] for each in members if each in self._ended):
                if not clean:
                    raise RuntimeError(f"Tributary torch: {text}")

    def watch(self, store: Any, rank: int, size: int) -> None:
        """Of the first group, which has all processes."""
        if self._watch is None and size > 1:
            self.rank = rank
            self._watch = Watch(store, rank, size, self._has_ended, self._is_broken, say)

    # Setting up.

    def set_up(self, inner: Any, rank: int, size: int) -> Setup:
        identities = self._identities(inner, rank, size)
        reason = self._difference(identities)
        nodes = nodes_of([each["node"] for each in identities])
        members = [identity["world"] for identity in identities]
        token = identities[0]["group"]
        if reason:
            pass
        elif not self.settings.on:
            reason = _plan.SWITCHED_OFF
        elif len(nodes) == 1:
            reason = _plan.ONE_NODE
        if reason:
            return Setup(reason=reason, token=token, members=members)
        made: Any = None
        wide = False
        problem = ""
        try:
            made, wide = self._make(identities, nodes, rank)
        except (TributaryError, OSError, ValueError, ImportError) as error:
            problem = str(error) or type(error).__name__
        answers = exchange(inner, rank, size, _answer(problem, wide))
        failed = [(at, answer["problem"]) for at, answer in enumerate(map(json.loads, answers)) if answer["problem"]]
        if failed:
            if made is not None:
                self._give_back(made)
            at, why = failed[0]
            return Setup(reason=self._refused(f"rank {at} says: {why}", rank), token=token, members=members)
        self.enlist(made, token, members)
        return Setup(made, "", all(json.loads(answer)["wide"] for answer in answers), token, members)

    def enlist(self, channel: Any, token: str, members: list[int]) -> None:
        """From now on it is broken when one of these ranks ends, or has given it up."""
        with self._lock:
            self._channels[id(channel)] = (token, channel, members)
            gone = [self._ended[each] for each in members if each in self._ended]
        for text, clean in gone:
            self._break(channel, text, clean)

    def _identities(self, inner: Any, rank: int, size: int) -> list[dict[str, Any]]:
        mine = {"node": node_identity(), "process": self.token, "world": self.rank, "settings": self.settings.common,
                "version": version(), "group": secrets.token_hex(8) if rank == 0 else ""}
        return [json.loads(each) for each in exchange(inner, rank, size, json.dumps(mine))]

    def _difference(self, identities: list[dict[str, Any]]) -> str:
        """Why the ranks cannot use the network together; the same text at all."""
        for name, what in (("version", "versions of tributary"), ("settings", "settings")):
            for at, identity in enumerate(identities):
                if identity[name] != identities[0][name]:
                    text = (f"ranks 0 and {at} have different {what}: {identities[0][name]}, and {identity[name]}; "
                            "give all ranks the same environment")
                    return self._refused(text, self.rank)
        return ""

    def _make(self, identities: list[dict[str, Any]], nodes: list[list[int]], rank: int) -> tuple[Any, bool]:
        node = next(at for at, ranks in enumerate(nodes) if rank in ranks)
        local, own = nodes[node].index(rank), nodes[node]
        address = f"\0tributary-torch-{identities[0]['group']}-{node}"
        seconds = self.settings.join_seconds
        group = None
        if local == 0:
            leaders = tuple(identities[ranks[0]]["process"] for ranks in nodes)
            group = self._group(leaders, identities[0]["group"], node)
        wide = group is not None and group.membership()["payload"] > 32
        channel = None if group is None else GroupChannel(group)
        if all(len(ranks) == 1 for ranks in nodes):
            return channel, wide
        try:
            memory, sockets = (_node.lead(address, len(own), 2 * seconds) if local == 0
                               else _node.follow(address, local, len(own), 2 * seconds))
        except OSError as error:
            if channel is not None:
                self._give_back(channel)
            raise OSError(f"ranks {', '.join(map(str, own))} of one node cannot share memory: {error}") from error
        return _node.NodeChannel(nodes, rank, memory, sockets, channel), wide if local == 0 else True

    def _group(self, leaders: tuple[str, ...], name: str, node: int) -> Group:
        stem = self._stems.get(leaders)
        if stem is not None:
            return self.engine.call(stem.dup)  # type: ignore[no-any-return]
        host = self._hosts.get("")
        if host is None:
            host = self._hosts[""] = Host(self.settings.interface, progress="thread")
            # Handlers of the end run in reverse order: this one before the one that closes hosts.
            atexit.unregister(self.end)
            atexit.register(self.end)
        wait = int(self.settings.join_seconds * 1e6)
        group = self.engine.call(lambda: host.join_named(f"torch {name}", node, len(leaders), wait_usec=wait))
        self._stems[leaders] = group
        return group  # type: ignore[no-any-return]

    def _give_back(self, channel: Any) -> None:
        """A group that others could not join."""
        error = FabricError("the group was given back")

        def leave() -> None:
            channel.error = error
            channel.fail(error)
            channel.leave(0.0)
            for leaders, stem in list(self._stems.items()):
                if channel.group is stem:
                    del self._stems[leaders]

        self.engine.call(leave)

    def _refused(self, text: str, rank: int) -> str:
        """Says it once for the whole job; ends the program where the network is required."""
        if self.settings.require:
            raise RuntimeError(f"Tributary torch: no group of the fabric: {text} (TRIBUTARY_TORCH_REQUIRE)")
        if rank == 0 and not self._said_refusal:
            say(f"nothing is reduced in the network, but by gloo: {text}")
        self._said_refusal = True
        return _plan.NO_GROUP

    # Ends.

    def broke(self, channel: Any, error: BaseException) -> None:
        """A call of the channel has failed at this rank."""
        with self._lock:
            known = self._channels.pop(id(channel), None)
        if known is not None and self._watch is not None:
            self._watch.give_up(known[0], f"rank {self.rank} gave the group up: {error}")

    def _has_ended(self, rank: int, text: str, clean: bool) -> None:
        with self._lock:
            self._ended[rank] = (text, clean)
            concerned = [channel for _, channel, ranks in self._channels.values() if rank in ranks]
        for channel in concerned:
            self._break(channel, text, clean)

    def _break(self, channel: Any, text: str, clean: bool) -> None:
        if not clean:
            self.engine.break_channel(channel, FabricError(text))
            return
        later = threading.Timer(GRACE_SECONDS, self.engine.break_channel, (channel, FabricError(text)))
        later.daemon = True
        try:
            later.start()
        except RuntimeError:
            pass  # the interpreter ends, too

    def _is_broken(self, token: str, text: str) -> None:
        with self._lock:
            found = [channel for known, channel, _ in self._channels.values() if known == token]
        for channel in found:
            self.engine.break_channel(channel, FabricError(text))

    def drop(self, channel: Any) -> None:
        """Its torch group is gone. Groups that others share stay until the end."""
        with self._lock:
            known = self._channels.pop(id(channel), None)
        if known is None or self._over or os.getpid() != self.pid:
            return
        self.engine.submit(channel, _Leave(channel, channel.group in self._stems.values()))

    def end(self) -> None:
        """Once, at the program's end: leaves groups, as far as that takes no long wait."""
        if self._over or os.getpid() != self.pid:
            return
        self._over = True
        here, calls = self.counters.totals()
        if calls and self.rank == 0:
            say(self.counters.text())
            if self.settings.verbose:
                print(self.counters.table(), file=sys.stderr, flush=True)
        if self._engine is not None:
            with self._lock:
                channels = [channel for _, channel, _ in self._channels.values()]
            stems = list(self._stems.values())

            def leave() -> None:
                # Dups before what they are of; a group that is broken here is left at once.
                for channel in channels:
                    if channel.error is None:
                        channel.leave(LEAVE_SECONDS, channel.group in stems)
                for stem in stems:
                    GroupChannel(stem).leave(LEAVE_SECONDS)
                for host in self._hosts.values():
                    host.close()

            try:
                # On the engine's thread: from Python 3.12 on none can be started here any more.
                self._engine.call(leave, LEAVE_SECONDS)
            except (FabricError, TimeoutError):
                pass  # leases expire
        if self._watch is not None:
            self._watch.end()

    def _forked(self) -> None:
        if self._watch is not None:
            self._watch.abandon()
        if self._engine is not None:
            self._engine.abandon()


class _Leave:
    """The last operation of a channel."""

    name = "leave"
    deadline = float("inf")

    def __init__(self, channel: Any, keep_group: bool) -> None:
        self._channel, self._keep_group = channel, keep_group

    def issue(self, channel: Any) -> Any:
        return []
        yield

    def finish(self) -> None:
        self._channel.leave(LEAVE_SECONDS, self._keep_group)

    def fail(self, error: BaseException) -> None:
        pass


def nodes_of(names: list[str]) -> list[list[int]]:
    """Ranks by node, nodes in the order of their first ranks."""
    found: dict[str, list[int]] = {}
    for rank, name in enumerate(names):
        found.setdefault(name, []).append(rank)
    return list(found.values())


def _answer(problem: str, wide: bool) -> str:
    """Whether a rank could join, in no more than IDENTITY_BYTES."""
    while True:
        text = json.dumps({"problem": problem, "wide": wide}, ensure_ascii=False)
        if len(text.encode()) <= IDENTITY_BYTES:
            return text
        problem = problem[: len(problem) * 3 // 4]


def exchange(inner: Any, rank: int, size: int, text: str) -> list[str]:
    """Every rank's text, of at most IDENTITY_BYTES."""
    mine = torch.zeros(IDENTITY_BYTES, dtype=torch.uint8)
    data = text.encode()[:IDENTITY_BYTES]
    mine[: len(data)] = torch.tensor(list(data), dtype=torch.uint8)
    all_of_them = [torch.zeros(IDENTITY_BYTES, dtype=torch.uint8) for _ in range(size)]
    inner.allgather([all_of_them], [mine]).wait()
    return [bytes(each.tolist()).rstrip(b"\0").decode("utf-8", "replace") for each in all_of_them]


def version() -> str:
    from .. import __version__

    return __version__


_process: Process | None = None
_lock = threading.Lock()


def process() -> Process:
    global _process
    with _lock:
        if _process is None:
            _process = Process()
    return _process


__all__ = ["Process", "Setup", "process", "say"]
