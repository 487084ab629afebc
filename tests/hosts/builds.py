"""In which builds .ci/run runs a module of tests on real namespaces.

As a release it runs all of them. Under a sanitizer they take longer than all other tests together,
so there each module runs where it can find most: under the thread sanitizer tests of several
threads or processes that come and go, under the address sanitizer tests of frames, texts and
memory, under both those not in this table. The demonstrations start the programs that other tests
start, and have nothing of their own in C++. Those of vectors through hosts run as a release alone
until they have been seen under sanitizers: they compute too much for the time there.

In a second release build of one run, on another release of Debian, only tests of third-party
programs with their own libraries run: the runner sets TRIBUTARY_GUESTS_ONLY.

`.ci/nightly` runs every module under every sanitizer: it sets TRIBUTARY_EVERY_BUILD. A filter,
which selects tests by name, does the same."""

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
    "demo_vector": set(),
    "dissector": set(),
    "endpoint": THREAD,
    "exit_codes": ADDRESS,
    "fabric_events": NEVER,
    "fabric_manager": THREAD,
    "first_steps": ADDRESS,
    "foreign": ADDRESS,
    "harness": ADDRESS,
    "held_job": ADDRESS,
    "host_agent": ADDRESS,
    "host_agent_guests": NEVER,
    "hugepages": ADDRESS,
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
    "long_frames": ADDRESS,
    "manager_reload": ADDRESS,
    "members": THREAD,
    "metrics": ADDRESS,
    "mpi": NEVER,
    "mpi_elsewhere": NEVER,
    "one_root": NEVER,
    "pktgen": ADDRESS,
    "pktgen_queues": ADDRESS,
    "pktgen_rdma": THREAD,
    "pktgen_transport": THREAD,
    "pktgen_vectors": set(),
    "ports": ADDRESS,
    "python": NEVER,
    "queues": THREAD,
    "rdma": THREAD,
    "rdma_manager": ADDRESS,
    "reduction": THREAD,
    "slurm": NEVER,
    "slurm_script": set(),
    "slurm_slingshot": set(),
    "steering": ADDRESS,
    "tributaryctl": ADDRESS,
    "trimming": ADDRESS,
    "in_switch": set(),
    "in_switch_groups": THREAD,
    "vectors": set(),
    "view": set(),
    "wide": ADDRESS,
    "wide_groups": set(),
}


def runs_under(module, sanitizers):
    """`sanitizers`: of the build, joined by commas; empty for a release."""
    has_guests = UNDER.get(module) is NEVER
    asked_for = "TRIBUTARY_EVERY_BUILD" in os.environ or os.environ.get("GTEST_FILTER", "*") != "*"
    if not sanitizers:
        return has_guests or asked_for or "TRIBUTARY_GUESTS_ONLY" not in os.environ
    if has_guests:
        return False
    if asked_for:
        return True
    return module not in UNDER or bool(UNDER[module] & set(sanitizers.split(",")))
