"""The fabric's events in the ranks of a job: the affected ranks are notified of a link that goes
down, once and soon."""

import json
import statistics

from launching import finish, start
from test_fabric_manager import Fabric
from tributary.network import wait_until

EVENTS = 60
NID = 3  # of h2


def job_of(lab, fabric, *command):
    """Two ranks on h0, whose link is of their job, and one on h2; all of them listen."""
    lab.need(lab.binaries.event_rank)
    child = start(lab, "--manager", fabric.manager.url, "--require-offload", "--namespaces", "h0:2,h2:1",
                  lab.binaries.event_rank, *command)  # fmt: skip
    for _ in range(3):
        line = child.stdout.readline()
        assert '"ready": true' in line, line + child.stderr.read()
    return child


def test_a_link_that_goes_down_is_heard_of_once(lab):
    fabric = Fabric(lab, guards=True)
    child = job_of(lab, fabric, "hear", 2)
    # The first event does not concern the job; only ranks that subscribed receive it.
    lab.sh("ip link set host1 down")
    wait_until(lambda: not [h for h in fabric.manager.list("hosts") if h["nid"] == 2 and h["up"]], "h1 is down")
    lab.sh("ip link set host0 down")
    wait_until(lambda: not [h for h in fabric.manager.list("hosts") if h["nid"] == 1 and h["up"]], "h0 is down")
    lab.sh("ip link set host0 up")
    ended = finish(lab, child)
    assert ended.code == 0, ended.err
    ranks = ended.lines()
    assert len(ranks) == 3, ended.out
    for rank in ranks:
        (epoch,) = {event[2] for event in rank["wide"] + rank["links"]}
        assert epoch > 0
        assert [event[:2] for event in rank["wide"]] == [["link_down", "environment"], ["link_down", "job"]], rank
        assert [event[:2] for event in rank["links"]] == [["link_down", "job"], ["link_up", "job"]], rank
        assert [event[3] for event in rank["wide"] + rank["links"]] == [1, 2, 2, 3], "in order, without holes"
        assert rank["late"] == [["link_down", "job", epoch, 2, 1]], "who comes late hears of it, too"
        assert rank["chains"] == 3 and rank["results"] == 4, rank


def test_what_nodes_have_is_known_and_what_changes_there_is_reported(lab):
    fabric = Fabric(lab, guards=True)
    child = job_of(lab, fabric, "latency", 1)
    (job,) = [job["job"] for job in fabric.manager.list("jobs") if job["job"].startswith("tributary-run")]
    nodes = {node["node"]: node for node in fabric.manager.list("nodes")}
    assert sorted(nodes) == ["h0", "h2"] and nodes["h2"]["job"] == job and nodes["h2"]["processors"] >= 1, nodes
    assert [each["address"] for each in nodes["h2"]["interfaces"]] == ["02:00:00:00:00:03"], nodes
    lab.sh("ip -n h2 link add name soft0 type veth peer name soft1")
    wait_until(lambda: "soft1" in fabric.manager.ctl_text("show", "nodes", "h2"), "its new interfaces are known")
    events = fabric.manager.get(f"/api/v1/events?follow=false&job={job}")[1]["events"]
    assert {event["code"] for event in events} == {"node_changed"}, events
    assert any("soft0 is new" in event["text"] for event in events), events
    child.terminate()
    finish(lab, child)


def test_events_reach_handlers_soon(lab):
    fabric = Fabric(lab, guards=True)
    child = job_of(lab, fabric, "latency", EVENTS)
    (job,) = [job for job in fabric.manager.list("jobs") if job["job"].startswith("tributary-run")]
    for number in range(EVENTS):
        method = "PUT" if number % 2 == 0 else "DELETE"
        answer = fabric.manager.request(method, f"/api/v1/rdma/quarantined/{job['vni']}/{NID}")
        assert answer[0] == 200, answer
    ended = finish(lab, child)
    assert ended.code == 0, ended.err
    ranks = [json.loads(line) for line in ended.out.splitlines()]
    assert [rank["events"] for rank in ranks] == [EVENTS] * 3, "each of them once"
    print(f"from the manager to a rank's handler: median {statistics.median(r['median_us'] for r in ranks)} us, "
          f"p90 {statistics.median(r['p90_us'] for r in ranks)} us")  # fmt: skip
