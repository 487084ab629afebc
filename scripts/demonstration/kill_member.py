"""The demo's other part: a host is killed while all reduce. The others are notified which one, and
continue without it in a group of their own.

A group that lost a member ends, because its contribution cannot be replaced. The times after which
its calls end are a table in docs/protocol/collective.md, "Who learns what within how long".
"""

import json
import random

import workload
from fabric import HOSTS, lay
from tributary.network import wait_until

LEASE = 8.0
# The lease, a tenth of it until a waiting member asks again, and a call of the manager.
DOCUMENTED = LEASE + LEASE / 10 + 1.5
TIMEOUT = 60.0  # to see how late it is, if it is late


def show(options, fabric, say):
    lay(options, fabric, say, groups={"lease_ms": int(1000 * LEASE), "leave_limit_ms": 5000})
    rank = random.Random(options.seed).randrange(1, HOSTS)
    say(f"allreduces of every operator on every host, leases of {LEASE:g} s; seed {options.seed}")

    def at_work(done):
        in_use = done > 0 and fabric.tree_of("demo") is not None
        if in_use:
            say(f"  armed     {done:,} allreduces so far\n\nkilling rank {rank} on h{rank}, without notice to the others")
        return in_use

    crash = workload.crash(fabric, "demo", rank, options.seed, at_work, TIMEOUT)
    named = f"rank {rank} (host h{rank}"
    right = [one for one in crash.notified if named in one[2]]
    for host, seconds, said in crash.notified:
        say(f"  {seconds:5.2f} s  {host.namespace:<4} {said}")
    slowest = max((seconds for _, seconds, _ in crash.notified), default=TIMEOUT)
    wait_until(lambda: not fabric.manager.list("groups"), "the group is gone", 60)
    left = fabric.trees_left()
    say("\nthe others in a group of their own, without it")
    survivors = [host for host in fabric.hosts if host.number != rank]
    after = workload.run(
        fabric, "survivors", max(1, options.reductions // 10), True, options.seed, lambda done: None, survivors
    )
    say(f"  armed     {after.iterations:,} allreduces in {after.seconds:.1f} s")
    wait_until(lambda: not fabric.manager.list("groups"), "all groups are gone", 60)
    in_time = len(right) == HOSTS - 1 and slowest <= DOCUMENTED
    say("")
    rows = [
        ("hosts that name the one that was killed", f"{len(right)} of {HOSTS - 1}"),
        ("the last of them after", f"{slowest:.2f} s (documented: {DOCUMENTED:.1f} s at most)"),
        ("the group", "has ended; a group cannot continue without a member"),
        ("trees it left behind in the switches", "none" if not left else str(left)),
        ("the survivors' results", "all exact, bit for bit" if after.wrong == 0 else f"{after.wrong} WRONG"),
    ]
    for name, value in rows:
        say(f"  {name:<40} {value}")
    if options.result is not None:
        with open(options.result, "w", encoding="utf-8") as out:
            json.dump(
                {
                    "hosts": HOSTS, "killed_rank": rank, "notified": len(right), "slowest_seconds": slowest,
                    "documented_seconds": DOCUMENTED, "wrong": after.wrong, "survivor_reductions": after.iterations,
                },
                out, indent=1,
            )  # fmt: skip
            out.write("\n")
    return 0 if in_time and not left and after.wrong == 0 else 1
