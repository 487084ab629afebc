"""Groups of PMIx under tributary-run, over two stand-in nodes: what members get, and what fails at once."""

from launching import Nodes, run

PLAIN = "--no-offload"
MISSING = "PROC-TERMINATED-WO-SYNC", "PMIX_ERR_PROC_TERM_WO_SYNC", "PROC-TERMINATED-WITHOUT-SYNC"


def ranks_of(lab, nodes, *words, each=2, code=0, grace=10_000):
    ended = run(lab, PLAIN, "--grace", grace, *nodes.option(each), lab.binaries.group_rank, *words)
    assert ended.code == code, f"{words}: exit code {ended.code}\n{ended.out}\n{ended.err}"
    return ended.lines(), ended


def test_make(lab):
    nodes = Nodes(lab, 2)
    ended = run(lab, PLAIN, "--grace", 6000, *nodes.option(2), lab.binaries.group_rank, *"make".split())
    print(ended.code, ended.out, ended.err, ended.report["groups"])


def test_many2000(lab):
    nodes = Nodes(lab, 2)
    ended = run(lab, PLAIN, "--grace", 6000, *nodes.option(2), lab.binaries.group_rank, *"many 2000".split())
    print(ended.code, ended.out, ended.err, ended.report["groups"])


def test_odd(lab):
    nodes = Nodes(lab, 2)
    ended = run(lab, PLAIN, "--grace", 6000, *nodes.option(2), lab.binaries.group_rank, *"odd".split())
    print(ended.code, ended.out, ended.err, ended.report["groups"])


def test_local(lab):
    nodes = Nodes(lab, 2)
    ended = run(lab, PLAIN, "--grace", 6000, *nodes.option(2), lab.binaries.group_rank, *"local".split())
    print(ended.code, ended.out, ended.err, ended.report["groups"])


def test_die3(lab):
    nodes = Nodes(lab, 2)
    ended = run(lab, PLAIN, "--grace", 6000, *nodes.option(2), lab.binaries.group_rank, *"die 3".split())
    print(ended.code, ended.out, ended.err, ended.report["groups"])


def test_leave3(lab):
    nodes = Nodes(lab, 2)
    ended = run(lab, PLAIN, "--grace", 6000, *nodes.option(2), lab.binaries.group_rank, *"leave 3".split())
    print(ended.code, ended.out, ended.err, ended.report["groups"])


def test_fence3(lab):
    nodes = Nodes(lab, 2)
    ended = run(lab, PLAIN, "--grace", 6000, *nodes.option(2), lab.binaries.group_rank, *"fence 3".split())
    print(ended.code, ended.out, ended.err, ended.report["groups"])


def test_late3(lab):
    nodes = Nodes(lab, 2)
    ended = run(lab, PLAIN, "--grace", 6000, *nodes.option(2), lab.binaries.group_rank, *"late 3".split())
    print(ended.code, ended.out, ended.err, ended.report["groups"])

