"""torch.distributed with the backend of tributary, on stand-in nodes, through a real switch: DistributedDataParallel and
FullyShardedDataParallel, every function and type, reproducible training, and what goes wrong."""

import json
import os
import re
import signal
from pathlib import Path

import launching
from tributary.cases import Skip
from tributary.mpi_cluster import MpiCluster
from tributary.mpi_library import ROOT as OTHER_ROOT
from tributary.mpi_nodes import PLAIN
from tributary.network import wait_until

ALONE = True  # each rank computes
PYTHON = "/usr/bin/python3"
ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests/hosts/torch_check.py"


def torch_release(lab):
    """(1, 13), (2, 6). Raises Skip."""
    code, out, err = lab.run(PYTHON, "-c", "import numpy, cffi, torch, torch.distributed as d; print(torch.__version__ if d.is_available() else 0)")
    found = re.match(r"(\d+)\.(\d+)", out)
    if OTHER_ROOT or code != 0 or not found:
        raise Skip("python3-torch, with torch.distributed, is not installed: run 'scripts/setup --torch'")
    return int(found[1]), int(found[2])


class Stand(MpiCluster):
    def __init__(self, lab, nodes, **options):
        lab.need(lab.binaries.run)
        lab.need(lab.binaries.library)
        self.release = torch_release(lab)
        self.lab = lab
        super().__init__(lab, nodes, **options)

    def start(self, *words, nodes=None, each=1, backend="tributary", manager=True, options=("--require-offload",), command=None,
              **variables):
        """On the first `nodes` nodes; `command` in place of the program with these words."""
        names = self.nodes.hosts.names[:nodes]
        where = ["--manager", self.manager.url, *options] if manager else ["--no-offload"]
        environment = {
            "PYTHONPATH": str(ROOT / "endpoint" / "python"), "TRIBUTARY_LIBRARY": str(self.lab.binaries.library),
            "GLOO_SOCKET_IFNAME": PLAIN, "USE_LIBUV": "0", "OMP_NUM_THREADS": "1", "TRIBUTARY_TORCH_TUNING": "always",
            "PYTHONFAULTHANDLER": "1",
            **{key: str(value) for key, value in variables.items()},
        }  # fmt: skip
        return launching.start(self.lab, *where, "--mpi", "none", "--grace", "20s", "--namespaces",
                               ",".join(f"{name}:{each}" for name in names),
                               *(command or [PYTHON, PROGRAM, backend, *words]), env=environment)  # fmt: skip

    def run(self, *words, code=0, **options):
        """Lines of the ranks, by rank, and standard error."""
        ended = launching.finish(self.lab, self.start(*words, **options))
        assert ended.code == code, f"{words}: exit code {ended.code}\n{ended.out}\n{ended.err}"
        return ended.lines(), ended.err

    def nothing_left(self):
        wait_until(lambda: not self.manager.list("groups"), "all groups are gone")


def in_network(lines, share=0.5):
    for line in lines:
        counted = line["statistics"]
        assert counted["network"] > share * counted["calls"], line
        assert not counted["failed"], line


def test_every_function_and_type_is_right_with_one_and_with_several_ranks_on_a_node(lab):
    stand = Stand(lab, 2)
    for each in (1, 2):
        lines, err = stand.run("functions", each=each)
        in_network(lines)
        assert "calls of each rank were made in the network" in err, err
        assert all(line["statistics"]["reproducible"] == 0 for line in lines)
        lines, _ = stand.run("functions", "deterministic", each=each)
        assert all(line["statistics"]["reproducible"] >= 4 * 3 for line in lines), lines
    stand.nothing_left()


def test_groups_of_one_node_have_every_function_and_type_by_gloo(lab):
    stand = Stand(lab, 2)
    for words in (["functions"], ["functions", "deterministic"]):
        lines, err = stand.run(*words, nodes=1, each=3)
        for line in lines:
            assert {row["way"] for row in line["statistics"]["rows"] if row["call"] == "allreduce"} == {"its ranks are on one node"}, line
        assert "nothing is reduced in the network" not in err, err


def test_a_network_is_trained_as_by_gloo(lab):
    stand = Stand(lab, 4)
    lines, _ = stand.run("train", 200, 25)
    in_network(lines, 0.95)
    assert len({line["weights"] for line in lines}) == 1, lines
    plain, _ = stand.run("train", 200, 25, backend="gloo", manager=False)
    assert plain[0]["losses"][-1] < 0.9 * plain[0]["losses"][0], "it learns nothing, so the losses show nothing"
    fixed, _ = stand.run("train", 200, 25, "deterministic")
    for line, other, third in zip(lines, plain, fixed):
        for step, (ours, gloos, ours_fixed) in enumerate(zip(line["losses"], other["losses"], third["losses"])):
            assert abs(ours - gloos) < 1e-6, (step, ours, gloos)
            assert abs(ours_fixed - gloos) < 1e-6, (step, ours_fixed, gloos)
    stand.nothing_left()


def test_deterministic_training_has_the_same_bits_in_every_run_placement_and_bucket_size(lab):
    stand = Stand(lab, 4)
    weights, calls = set(), set()
    for words, more in (
        (["train", 20, 25, "deterministic"], {}), (["train", 20, 0.05, "deterministic"], {}), (["train", 20, 0.2, "deterministic"], {}),
        (["train", 20, 25, "deterministic"], {"nodes": 2, "each": 2}), (["train", 20, 25], {"TRIBUTARY_SUM": "reproducible"}),
        (["train", 20, 25, "deterministic"], {"nodes": 1, "each": 4}), (["train", 20, 25, "deterministic"], {"manager": False}),
    ):  # fmt: skip
        lines, _ = stand.run(*words, **more)
        if more.get("nodes") != 1 and more.get("manager", True):
            in_network(lines, 0.8)
        assert all(line["statistics"]["reproducible"] >= 20 for line in lines), lines
        weights |= {line["weights"] for line in lines}
        calls.add(sum(row["calls"] for row in lines[0]["statistics"]["rows"] if row["call"] == "allreduce"))
    assert len(weights) == 1, weights
    assert len(calls) > 1, "buckets were of one size"


def test_fully_sharded_training_reduces_in_the_network(lab):
    if torch_release(lab) < (2, 0):
        raise Skip("Debian 12's torch 1.13 cannot import FullyShardedDataParallel with Python 3.11")
    lines, _ = Stand(lab, 2).run("fsdp", each=2)
    for line in lines:
        ways = {row["way"] for row in line["statistics"]["rows"] if row["call"] == "reduce_scatter"}
        assert ways == {"network"}, line


def test_any_number_of_groups_share_the_trees_of_their_nodes(lab):
    stand = Stand(lab, 4)
    lines, _ = stand.run("groups", 40)
    in_network(lines, 0.9)
    stand.nothing_left()


def test_ranks_that_torchrun_starts_find_each_other(lab):
    stand = Stand(lab, 2)
    # --redirects and --tee: torch 1.13 does not take its own default for them (0) with Python 3.11.
    words = (f"exec {PYTHON} -m torch.distributed.run --nnodes 2 --nproc_per_node 2 --node_rank $RANK --master_addr $MASTER_ADDR "
             f"--master_port $MASTER_PORT --redirects 1 --tee 1 {PROGRAM} tributary functions")  # fmt: skip
    ended = launching.finish(lab, stand.start(command=["sh", "-c", words]))
    assert ended.code == 0, f"{ended.out}\n{ended.err}"
    lines = sorted((json.loads(found[1]) for found in re.finditer(r"^\[default\d\]:(\{.*)$", ended.out, re.MULTILINE)), key=lambda line: line["rank"])
    assert [line["rank"] for line in lines] == [0, 1, 2, 3], ended.out
    in_network(lines)


def test_an_installed_package_is_found_without_an_import(lab):
    if torch_release(lab) < (2, 5):
        raise Skip("torch has entry points for backends from 2.5 on")
    package = ROOT / "endpoint" / "python"
    installed = lab.place / "installed" / "tributary-0.1.0.dist-info"
    installed.mkdir(parents=True)
    for name, content in (("METADATA", "Metadata-Version: 2.1\nName: tributary\nVersion: 0.1.0\n"),
                          ("entry_points.txt", (package / "entry_points.txt").read_text(encoding="utf-8"))):  # fmt: skip
        (installed / name).write_text(content, encoding="utf-8")
    lines, _ = Stand(lab, 2).run("entry", PYTHONPATH=f"{package}:{installed.parent}")
    assert all(line["statistics"]["network"] for line in lines), lines


def test_a_rank_that_dies_is_named_by_all_others_and_no_wrong_sum_is_used(lab):
    stand = Stand(lab, 3)
    for each in (1, 2):
        lines, err = stand.run("die", each=each, code=137)
        assert len(lines) == 3 * each - 1, err
        for line in lines:
            assert f"rank {3 * each - 1} (process" in line["error"] and "has died" in line["error"], line
            print(f"rank {line['rank']} knew after {line['seconds']:.3f} s")


def test_ranks_that_disagree_about_a_shape_are_named(lab):
    stand = Stand(lab, 2)
    for each in (1, 2):
        lines, _ = stand.run("shapes", each=each)
        assert len(lines) == 2 * each and all("error" in line for line in lines), lines
        assert any("different c" in line["error"] or "COUNT_MISMATCH" in line["error"] for line in lines), lines


def test_a_rank_that_does_not_come_is_named_when_the_time_is_over(lab):
    lines, err = Stand(lab, 2).run("late")
    assert "timed out" in lines[0]["error"] and "allreduce of 10 float32 with SUM" in lines[0]["error"], lines
    assert "rank 1" in lines[0]["error"] and "has made no progress for 10 s" in err, f"{lines}\n{err}"


def test_forks_odd_tensors_and_ends_without_waiting_are_survived(lab):
    stand = Stand(lab, 2)
    for what in ("fork", "leave"):
        stand.run(what)
    lines, _ = stand.run("odd")
    for line in lines:
        assert "a tensor on meta" in line["error"], line
        ways = {row["way"] for row in line["statistics"]["rows"]}
        assert "its tensor is not dense" in ways, ways
    stand.nothing_left()


def test_without_a_fabric_it_trains_by_gloo_and_says_why_once_or_ends_if_required(lab):
    stand = Stand(lab, 2)
    for variables in ({"manager": False}, {"TRIBUTARY_TORCH_INTERFACE": "fabric7", "options": ()}):
        lines, err = stand.run("train", 3, 25, **variables)
        assert all(line["statistics"]["network"] == 0 for line in lines), lines
        assert len(re.findall("nothing is reduced in the network", err)) == 1, err
    ended = launching.finish(lab, stand.start("train", 3, 25, TRIBUTARY_TORCH_INTERFACE="fabric7"))
    assert ended.code not in (0, None) and "TRIBUTARY_TORCH_REQUIRE" in ended.err, ended.err
    lines, err = stand.run("train", 3, 25, options=(), TRIBUTARY_TORCH="off")
    assert all(line["statistics"]["network"] == 0 for line in lines) and "TRIBUTARY_TORCH=off" in err, err


def test_a_fabric_manager_that_refuses_further_groups_leaves_them_to_gloo(lab):
    lines, _ = Stand(lab, 4).run("groups", 2, options=("--group-limit", 1), TRIBUTARY_TORCH_JOIN_TIMEOUT=5)
    ways = {row["way"] for row in lines[0]["statistics"]["rows"]}
    assert {"network", "its ranks got no group of the fabric"} <= ways, ways


def test_control_c_ends_a_wait(lab):
    stand = Stand(lab, 2)
    child = stand.start("late")
    wait_until(lambda: len(launching.processes("torch_check.py")) >= 2, "ranks run", 60)
    os.kill(child.pid, signal.SIGINT)
    ended = launching.finish(lab, child)
    assert ended.code != 0
