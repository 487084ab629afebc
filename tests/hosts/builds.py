"""In which builds .ci/run runs a module of tests on real namespaces.

Each runs in one build of a change; `.ci/nightly` runs every module in every build, and sets
TRIBUTARY_EVERY_BUILD for that. A filter, which selects tests by name, does the same.

Under a sanitizer a module runs where it can find most: under the thread sanitizer tests of several
threads or processes that come and go, under the address sanitizer tests of frames, texts and
memory, under both those not in this table. The others run as a release, in a third of the time:
programs of others, the demonstrations, which start the programs that other tests start and have
nothing of their own in C++, and tests that mostly wait, or compute much, through the same code. A
run without sanitizers runs all of them.

In a second release build of one run, on another release of Debian, only tests of third-party
programs with their own libraries run: the runner sets TRIBUTARY_GUESTS_ONLY. To a release, it says
in TRIBUTARY_BESIDE which sanitizers the run's other builds have."""

import os

ADDRESS = {"address"}
THREAD = {"thread"}
# Not at night either: a sanitizer's runtime must be the first library of a program, and these are
# third-party programs.
NEVER = frozenset()

UNDER = {
    "bad_frames": ADDRESS,
    "bridge": ADDRESS,
    "communicators": NEVER,
    "configuration": ADDRESS,
    "containers": NEVER,
    "contexts": NEVER,
    "control_channel": THREAD,
    "demo": set(),
    "demo_faults": set(),
    "demo_member": set(),
    "demo_mpi": NEVER,
    "demo_rdma": set(),
    "demo_torch": NEVER,
    "demo_vector": set(),
    "dissector": set(),
    "endpoint": THREAD,
    "exit_codes": ADDRESS,
    "fabric_events": NEVER,
    "fabric_manager": set(),
    "first_steps": set(),
    "foreign": ADDRESS,
    "harness": ADDRESS,
    "held_job": set(),
    "host_agent": ADDRESS,
    "host_agent_guests": NEVER,
    "hugepages": set(),
    "impairments": ADDRESS,
    "independent_host": NEVER,
    "job_ports": NEVER,
    "joining": THREAD,
    "launch": NEVER,
    "launch_groups": NEVER,
    "launch_nodes": NEVER,
    "lifecycle": THREAD,
    "links": THREAD,
    "lldp": ADDRESS,
    "long_frames": set(),
    "manager_reload": set(),
    "members": set(),
    "metrics": ADDRESS,
    "mpi": NEVER,
    "mpi4py": NEVER,
    "mpi_elsewhere": NEVER,
    "one_root": NEVER,
    "pktgen": set(),
    "pktgen_queues": set(),
    "pktgen_rdma": set(),
    "pktgen_transport": THREAD,
    "pktgen_vectors": set(),
    "ports": set(),
    "python": NEVER,
    "queues": THREAD,
    "rdma": THREAD,
    "rdma_manager": set(),
    "reduction": THREAD,
    "slurm": NEVER,
    "slurm_script": set(),
    "slurm_slingshot": set(),
    "steering": ADDRESS,
    "torch": NEVER,
    "tributaryctl": set(),
    "trimming": set(),
    "in_switch": set(),
    "in_switch_groups": set(),
    "vectors": set(),
    "view": set(),
    "wide": ADDRESS,
    "wide_groups": set(),
}


def runs_under(module, sanitizers):
    """`sanitizers`: of the build, joined by commas; empty for a release."""
    under = UNDER.get(module, ADDRESS | THREAD)
    asked_for = "TRIBUTARY_EVERY_BUILD" in os.environ or os.environ.get("GTEST_FILTER", "*") != "*"
    if not sanitizers:
        beside = set(os.environ.get("TRIBUTARY_BESIDE", "").split(","))
        left_out = "TRIBUTARY_GUESTS_ONLY" in os.environ or under & beside
        return under is NEVER or asked_for or not left_out
    return under is not NEVER and bool(asked_for or under & set(sanitizers.split(",")))
