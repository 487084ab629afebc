"""tributary-hostd on nodes that are namespaces: ordinary users, what a hostile one tries, and restarts."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import test_rdma as rdma
from test_fabric_manager import Fabric
from tributary import frames
from tributary.cases import Skip
from tributary.host_agent import Refused
from tributary.network import RawPort, shell, wait_until

ALICE, BOB = 1000, 2000
VNI_A, VNI_B = 0x400, 0x401
TREE = 7
MAC = "02:00:00:00:00:12"
NID = 0x12
TRIBUTARY = 990
# As the unit has it; tests that say nothing run it as root with all that root may.
AS_THE_UNIT = (
    "setpriv", "--reuid", str(TRIBUTARY), "--regid", str(TRIBUTARY), "--clear-groups", "--no-new-privs",
    *(f"--{what}=-all,+net_raw,+net_admin" for what in ("bounding-set", "inh-caps", "ambient-caps")),
)  # fmt: skip
# What rootless containers have: a user namespace, in which the user is root, and a network of their own.
CONTAINER = ("unshare", "--user", "--map-root-user", "--net")
EVERYBODY = [{"name": "everybody", "vnis": [1024, 2047]}]


class Program:
    """host_program.py as a user in a namespace."""

    def __init__(self, lab, uid, namespace="h1", inside=()):
        code = lab.place / "host_program.py"
        if not code.exists():
            shutil.copy(Path(__file__).with_name("host_program.py"), code)
        # Not by ip, which mounts another /sys, without the cgroups that programs inside may ask for.
        self.child = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{namespace}", "setpriv", "--reuid", str(uid), "--regid", str(uid),
             "--clear-groups", "--inh-caps=-all", *inside, "python3", "-I", str(code)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.do("who") == (0 if inside else uid)

    def begin(self, action, /, **step):
        print(json.dumps({"do": action, **step}), file=self.child.stdin, flush=True)

    def answer(self):
        return json.loads(self.child.stdout.readline())

    def do(self, action, /, **step):
        self.begin(action, **step)
        return self.answer()

    def open(self, agent, **request):
        answer = self.do("open", path=str(agent.socket), request={"request": "open", **request})
        if not answer["ok"]:
            raise Refused(answer)
        return answer["result"]

    def send(self, frame, **to):
        return self.do("send", frame=bytes(frame).hex(), **to)

    def end(self):
        self.child.stdin.close()
        self.child.wait(30)
        self.child.stdout.close()


def need(lab):
    lab.need(lab.binaries.hostd)
    if shutil.which("nft") is None:
        raise Skip("nft is not installed: scripts/setup")


def node(lab, **settings):
    """A node h1 with the fabric's interface and another one; the agent; the far ends of both links."""
    need(lab)
    lab.network.host("h1")
    lab.network.cable("h1", "eth0", None, "fabric", MAC)
    lab.network.cable("h1", "other0", None, "outside")
    agent = lab.start_agent("h1", interface="eth0", **settings)
    return agent, RawPort(None, "fabric"), RawPort(None, "outside")


def right(cookie, vni=VNI_A, **fields):
    """A frame that a program of this node may send; the cookie tells it from others."""
    source = bytes.fromhex(MAC.replace(":", ""))
    return frames.Frame(**{"tree": TREE, "nid": NID, "vni": vni, "cookie": cookie, "source": source, **fields})


def cookies(port):
    """Cookies of the frames that have left, in their order; nothing but reduction frames and the agent's
    own hellos may be among them."""
    left = [raw for raw in port.nothing_more() if raw[14:18] != b"\0TRB" or raw[30:34] != NID.to_bytes(4, "big")]
    assert all(raw[6:12] == bytes.fromhex(MAC.replace(":", "")) for raw in left), "the host's own address"
    return [frames.parse(raw).cookie for raw in left]


def test_the_host_is_announced_without_a_program(lab):
    agent, fabric, _ = node(lab)
    hello = fabric.receive(1)[0]
    assert hello[14:18] == b"\0TRB" and hello[14 + 16 : 14 + 20] == NID.to_bytes(4, "big"), hello.hex()
    assert agent.ask(request="show")["host"] == "h1"


def test_a_hostile_program_sends_only_what_is_its_own(lab):
    agent, fabric, outside = node(lab)
    loop = RawPort("h1", "lo")
    agent.ask(request="add_job", job="a", vni=VNI_A, uid=ALICE)
    agent.ask(request="add_job", job="b", vni=VNI_B, uid=BOB)
    program = Program(lab, ALICE)
    assert program.do("try", what="own_socket") == "EPERM"
    tries_everything(agent, program, fabric, outside, loop)


def test_a_hostile_container_sends_only_what_is_its_own(lab):
    """Its user is root in there, with every capability, and has sockets of its own network."""
    agent, fabric, outside = node(lab)
    loop = RawPort("h1", "lo")
    agent.ask(request="add_job", job="a", vni=VNI_A, uid=ALICE)
    agent.ask(request="add_job", job="b", vni=VNI_B, uid=BOB)
    program = Program(lab, ALICE, inside=CONTAINER)
    assert program.do("try", what="own_socket") == "done"
    tries_everything(agent, program, fabric, outside, loop)


def tries_everything(agent, program, fabric, outside, loop):
    try:
        program.open(agent, job="b")
        raise AssertionError("it got a socket of another user's job")
    except Refused as refused:
        assert refused.reason == "no_job", refused
    given = program.open(agent)
    assert given["vni"] == VNI_A and given["nid"] == NID and given["interface"] == "eth0", given

    for attempt in ("mark", "mark_of_message", "detach_filter", "attach_filter", "unlock_filter"):
        assert program.do("try", what=attempt) == "EPERM", attempt
    assert program.do("try", what="have_the_kernel_change_frames") == "EINVAL"
    assert program.send(right(1)) == "done"
    hello = bytes.fromhex("0180c200000e") + bytes.fromhex(MAC.replace(":", "")) + bytes.fromhex("88b5")
    attempts = {
        "wrong_vni": right(2, vni=VNI_B),
        "wrong_nid": right(3, nid=NID + 1),
        "wrong_ethertype": right(5, ethertype=0x0800),
        "wrong_header": hello + b"\0TRB" + bytes([1, 2, 4, 0]) + bytes(60),
    }
    for attempt, frame in attempts.items():
        assert program.send(frame) == "ENOBUFS", attempt
    assert program.send(right(4, source=bytes.fromhex("020000000013"))) == "done", "from another address, which is not used"
    # Names are those of the socket's network, the node's, wherever the program is.
    assert program.send(right(6), to="other0") == "ENOBUFS"
    assert program.send(right(7), to="lo") == "ENOBUFS"
    assert program.do("bind", to="other0") == "done"
    assert program.send(right(8)) == "ENOBUFS"
    assert program.do("bind", to="eth0") == "done"
    assert program.do("bypass", on=1) == "done"
    assert program.send(right(9)) == "ENOBUFS"
    assert program.send(right(10), to="other0") == "ENOBUFS"
    assert program.do("bypass", on=0) == "done"
    assert program.send(right(11)) == "done"

    assert cookies(fabric) == [1, 4, 11]
    assert [raw for raw in outside.nothing_more() if raw[12:14] == b"\x88\xb5"] == []
    assert [raw for raw in loop.nothing_more() if raw[12:14] == b"\x88\xb5"] == []
    counted = agent.guard()
    assert counted["passed"] == 3 and counted["unreadable"] == 1 and counted["other_interface"] == 4, counted
    for attempt in attempts:
        assert counted[attempt] == 1, (attempt, counted)
    program.end()


def test_a_program_receives_only_its_own_vni(lab):
    receives_only_its_own(lab)


def test_a_program_receives_only_its_own_vni_by_an_agent_with_two_capabilities(lab):
    """Which is not root, either, as the unit starts it."""
    need(lab)
    lab.place = lab.place / "agent"
    lab.place.mkdir()
    os.chown(lab.place, TRIBUTARY, TRIBUTARY)
    copied = lab.place / "tributary-hostd"
    shutil.copy(lab.binaries.hostd, copied)
    lab.binaries.hostd = copied
    receives_only_its_own(lab, prefix=AS_THE_UNIT)


def test_a_socket_without_a_buffer_only_sends(lab):
    agent, fabric, _ = node(lab)
    agent.ask(request="add_job", job="a", vni=VNI_A, uid=ALICE)
    program = Program(lab, ALICE)
    program.open(agent, receive_buffer_bytes=0)
    fabric.send(bytes(right(1)))
    time.sleep(0.1)
    assert program.do("waiting") == []
    assert program.send(right(2)) == "done" and program.send(right(3, vni=VNI_B)) == "ENOBUFS"
    assert cookies(fabric) == [2]
    program.end()


def receives_only_its_own(lab, **settings):
    agent, fabric, outside = node(lab, **settings)
    agent.ask(request="add_job", job="a", vni=VNI_A, uid=ALICE)
    program = Program(lab, ALICE)
    program.open(agent)
    everything = 3  # ETH_P_ALL

    def arrives(port, frame):
        port.send(frame)
        time.sleep(0.1)
        return program.do("waiting")

    mine, theirs = bytes(right(1)), bytes(right(2, vni=VNI_B))
    assert arrives(fabric, mine) == [mine[14:].hex()]
    assert arrives(fabric, theirs) == []
    # Also frames that the kernel has in pieces.
    shell("ip -n h1 link set eth0 mtu 9000 && ip link set fabric mtu 9000")
    assert arrives(fabric, mine + bytes(8000)) == [(mine[14:] + bytes(8000)).hex()]
    assert arrives(fabric, theirs + bytes(8000)) == []
    # Whatever it is bound to.
    assert program.do("bind", to="eth0", ethertype=everything) == "done"
    assert program.do("try", what="promiscuous") == "done"
    assert arrives(fabric, theirs) == []
    assert arrives(fabric, bytes(right(3, ethertype=0x0800))) == []
    assert program.do("bind", to="other0", ethertype=everything) == "done"
    assert arrives(outside, mine) == []
    program.end()


def to_end_point(number):
    """A unicast frame of this job to a program of this node."""
    frame = bytearray(bytes(right(1)))
    frame[30:34] = (NID << 12 | number).to_bytes(4, "big")
    return bytes(frame)


def test_unicast_frames_reach_the_program_of_their_end_point_alone(lab):
    agent, fabric, _ = node(lab)
    agent.ask(request="add_job", job="a", vni=VNI_A, uid=ALICE)
    programs = [Program(lab, ALICE) for _ in range(2)]
    given = [program.open(agent)["end_point"] for program in programs]
    assert given[0] != given[1] and min(given) >= 256, given
    for number in (*given, 0, 1, max(given) + 1):
        fabric.send(to_end_point(number))
    fabric.send(bytes(right(2)))
    time.sleep(0.1)
    for number, program in zip(given, programs, strict=True):
        # Without their Ethernet headers, which are the kernel's.
        assert program.do("waiting") == [to_end_point(number)[14:].hex(), bytes(right(2))[14:].hex()]
    programs[0].end()
    # That of a program that has just ended is not given to the next one.
    another = Program(lab, ALICE)
    assert another.open(agent)["end_point"] not in given
    another.end()
    programs[1].end()


def test_two_users_on_a_node_have_a_vni_each(lab):
    agent, fabric, _ = node(lab)
    agent.ask(request="add_job", job="a", vni=VNI_A, uid=ALICE)
    agent.ask(request="add_job", job="b", vni=VNI_B, uid=BOB)
    alice, bob = Program(lab, ALICE), Program(lab, BOB)
    assert alice.open(agent)["vni"] == VNI_A
    assert bob.open(agent)["vni"] == VNI_B
    assert alice.send(right(1)) == "done" and bob.send(right(2, vni=VNI_B)) == "done"
    assert alice.send(right(3, vni=VNI_B)) == "ENOBUFS" and bob.send(right(4)) == "ENOBUFS"
    assert cookies(fabric) == [1, 2]
    # A job that has ended takes its sockets with it, and the other one stays.
    agent.ask(request="end_job", job="a")
    assert alice.send(right(5)) == "ENOBUFS" and bob.send(right(6, vni=VNI_B)) == "done"
    try:
        alice.open(agent, job="a")
        raise AssertionError("a job that has ended gave a socket")
    except Refused as refused:
        assert "ended on this node" in str(refused), refused
    # The VNI goes to bob. Alice's old socket does not come to life by that, but it would hear what he receives.
    agent.ask(request="add_job", job="c", vni=VNI_A, uid=BOB)
    try:
        bob.open(agent, job="c")
        raise AssertionError("another user's old socket hears what this one does")
    except Refused as refused:
        assert refused.reason == "unavailable" and f"user {ALICE} still holds" in str(refused), refused
    assert alice.send(right(8)) == "ENOBUFS"
    alice.end()
    assert bob.open(agent, job="c")["vni"] == VNI_A and bob.send(right(7)) == "done"
    assert cookies(fabric) == [6, 7]
    bob.end()


def test_a_restart_in_mid_job_is_not_noticed(lab):
    agent, fabric, _ = node(lab)
    agent.ask(request="add_job", job="a", vni=VNI_A, uid=ALICE, manager={"token": "secret"})
    program = Program(lab, ALICE)
    first = program.open(agent)
    for number, end in enumerate((signal.SIGTERM, signal.SIGKILL)):
        agent.stop(end)
        assert program.send(right(10 + number)) == "done", "it sends while the agent is away"
        assert program.send(right(20, vni=VNI_B)) == "ENOBUFS", "and is guarded"
        agent.start()
        assert program.send(right(30 + number)) == "done"
    assert cookies(fabric) == [10, 30, 11, 31]
    again = program.open(agent)
    assert again["mark"] == first["mark"] and again["manager"] == {"token": "secret"}, again
    assert agent.record.stat().st_mode & 0o077 == 0, "the record has tokens"
    other = agent.ask(request="add_job", job="b", vni=VNI_B, uid=BOB)
    assert other["new"]
    (entry,) = (job for job in agent.ask(request="show")["jobs"] if job["job"] == "b")
    assert int(entry["mark"], 16) > first["mark"], "marks of before are not given again"
    # Also where all that the agent wrote down is lost: the table in the kernel knows the marks.
    agent.ask(request="end_job", job="b")
    highest = int(entry["mark"], 16)
    agent.stop()
    agent.record.unlink()
    agent.start()
    assert program.send(right(40)) == "ENOBUFS", "its job is not known any more"
    agent.ask(request="add_job", job="c", vni=VNI_A, uid=ALICE)
    assert program.open(agent)["mark"] > highest
    program.end()


def test_rules_that_are_flushed_and_interfaces_that_appear_are_guarded(lab):
    agent, fabric, _ = node(lab)
    agent.ask(request="add_job", job="a", vni=VNI_A, uid=ALICE)
    program = Program(lab, ALICE)
    program.open(agent)
    assert program.send(right(1, vni=VNI_B)) == "ENOBUFS" and agent.guard()["wrong_vni"] == 1
    shell("ip netns exec h1 nft flush ruleset")
    wait_until(lambda: "tributary_host" in shell("ip netns exec h1 nft list tables"), "the rules are back", 10)
    assert program.send(right(2, vni=VNI_B)) == "ENOBUFS" and program.send(right(3)) == "done"
    assert agent.guard()["wrong_vni"] == 2, "counters survive"
    lab.network.cable("h1", "late0", None, "late")
    late = RawPort(None, "late")
    wait_until(lambda: 'device "late0"' in shell("ip netns exec h1 nft list table netdev tributary_host"), "late0 is guarded", 10)
    assert program.send(right(4), to="late0") == "ENOBUFS"
    assert [raw for raw in late.nothing_more() if raw[12:14] == b"\x88\xb5"] == []
    program.end()


def test_an_interface_that_goes_away_and_comes_back(lab):
    agent, _, _ = node(lab)
    agent.ask(request="add_job", job="a", vni=VNI_A, uid=ALICE)
    program = Program(lab, ALICE)
    program.open(agent)
    shell("ip -n h1 link del eth0")
    wait_until(lambda: agent.ask(request="show")["error"], "the agent sees that it is gone", 10)
    try:
        program.open(agent)
        raise AssertionError("a socket of no interface")
    except Refused as refused:
        assert refused.reason == "unavailable" and "'eth0' does not exist" in str(refused), refused
    lab.network.cable("h1", "eth0", None, "fabric", MAC)
    wait_until(lambda: not agent.ask(request="show")["error"], "the agent sees that it is back", 10)
    fabric = RawPort(None, "fabric")
    program.open(agent)
    assert program.send(right(5)) == "done" and program.send(right(6, vni=VNI_B)) == "ENOBUFS"
    assert cookies(fabric) == [5]
    assert any(raw[14:18] == b"\0TRB" for raw in fabric.receive(2, 3)), "it is announced again"
    program.end()


def test_root_of_a_container_is_no_administrator(lab):
    """As in Docker without user namespaces, or in a pod that runs as root: user 0, without the node's network."""
    agent, _, _ = node(lab)
    agent.ask(request="add_job", job="a", vni=VNI_A, uid=ALICE, manager={"token": "secret"})
    for inside in (("setpriv", "--bounding-set=-net_admin"), ("unshare", "--user", "--map-root-user")):
        guest = Program(lab, 0, inside=inside)
        try:
            guest.open(agent, job="a")
            raise AssertionError(f"root of a container has a user's socket and token: {inside}")
        except Refused as refused:
            assert refused.reason == "no_job", refused
        for request in ({"request": "end_job", "job": "a"}, {"request": "add_job", "job": "b", "vni": VNI_B, "uid": BOB}):
            answer = guest.do("open", path=str(agent.socket), request=request)
            assert answer.get("reason") == "not_permitted", answer
        guest.end()


def test_sockets_and_jobs_are_limited_and_what_is_closed_counts_no_more(lab):
    agent, _, _ = node(lab, services=EVERYBODY, limits={"sockets_per_user": 20, "jobs_per_user": 2})
    agent.ask(request="add_job", job="a", vni=VNI_A, uid=ALICE)
    hoarder, other = Program(lab, ALICE), Program(lab, ALICE)
    got = 0
    for _ in range(1000):
        try:
            hoarder.open(agent)
            got += 1
        except Refused as refused:
            assert refused.reason == "limit" and "sockets_per_user" in str(refused), refused
    assert got == 20, got
    hoarder.end()
    assert other.open(agent)["job"] == "a"
    other.end()
    bob = Program(lab, BOB)
    answers = [
        bob.do("open", path=str(agent.socket), request={"request": "add_job", "job": f"b{n}", "vni": 1100 + n})
        for n in range(3)
    ]
    assert [answer["ok"] for answer in answers] == [True, True, False], answers
    assert answers[2]["reason"] == "limit"
    foreign = bob.do("open", path=str(agent.socket), request={"request": "add_job", "job": "x", "vni": VNI_A})
    assert foreign["reason"] in ("taken", "limit"), foreign
    bob.end()


def test_without_nft_no_socket_is_handed_out(lab):
    agent, _, _ = node(lab, nft="/nonexistent/nft")
    agent.ask(request="add_job", job="a", vni=VNI_A, uid=ALICE)
    program = Program(lab, ALICE)
    try:
        program.open(agent)
        raise AssertionError("a socket without a guard")
    except Refused as refused:
        assert refused.reason == "unavailable" and "nftables" in str(refused), refused
    program.end()


def test_a_stopped_agent_is_waited_for_a_while_and_then_goes_on(lab):
    agent, fabric, _ = node(lab)
    lab.need(lab.binaries.host)
    agent.ask(request="add_job", job="a", vni=VNI_A, uid=ALICE)
    program = Program(lab, ALICE)
    program.open(agent)
    late = lab.place / "tributary-host"
    shutil.copy(lab.binaries.host, late)
    agent.child.send_signal(signal.SIGSTOP)
    assert program.send(right(1)) == "done" and program.send(right(2, vni=VNI_B)) == "ENOBUFS"
    done = subprocess.run(
        ["ip", "netns", "exec", "h1", "setpriv", "--reuid", str(ALICE), "--regid", str(ALICE), "--clear-groups", "--inh-caps=-all",
         str(late), "--interface", "eth0", "--tree", str(TREE), "--vni", str(VNI_A), "--rank", "0", "--size", "1"],
        env=agent.environment, capture_output=True, text=True, check=False, timeout=60, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 1 and "does not answer within" in done.stderr, done
    agent.child.send_signal(signal.SIGCONT)
    assert program.open(agent)["job"] == "a"
    assert cookies(fabric) == [1]
    program.end()


def test_a_socket_that_is_handed_on_stays_one_of_its_job(lab):
    """Another user who gets it from its own may send what the job may, and that ends with the job."""
    agent, fabric, _ = node(lab)
    agent.ask(request="add_job", job="a", vni=VNI_A, uid=ALICE)
    alice, bob = Program(lab, ALICE), Program(lab, BOB)
    alice.open(agent)
    path = lab.place / "hand"
    path.mkdir()
    path.chmod(0o777)
    alice.begin("hand_on", path=str(path / "socket"))
    wait_until(lambda: (path / "socket").exists(), "it waits for the other one")
    assert bob.do("take_over", path=str(path / "socket")) == "done"
    assert alice.answer() == "done"
    assert bob.send(right(1)) == "done" and bob.send(right(2, vni=VNI_B)) == "ENOBUFS"
    agent.ask(request="end_job", job="a")
    assert bob.send(right(3)) == "ENOBUFS"
    assert cookies(fabric) == [1]
    # The mark is in use as long as it lives.
    agent.ask(request="add_job", job="b", vni=VNI_A, uid=ALICE)
    assert bob.send(right(4)) == "ENOBUFS" and cookies(fabric) == []
    alice.end()
    bob.end()


def test_bad_lines_are_answered_and_jobs_come_and_go_by_hand(lab):
    agent, _, _ = node(lab)
    for line, reason in (("{", "bad_request"), ('{"request": "steal"}', "bad_request"), ("x" * 20_000, "limit")):
        done = subprocess.run(
            ["python3", "-c", "import socket,sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]);"
             "s.sendall(sys.argv[2].encode() + b'\\n'); print(s.makefile().readline())", str(agent.socket), line],
            capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        assert json.loads(done.stdout)["reason"] == reason, (line[:20], done.stdout)
    code, out, err = agent.ctl("host", "show")
    assert code == 0 and "No jobs." in out, (code, out, err)
    code, _, err = agent.ctl("host", "job", "end", "nosuch")
    assert code == 1 and "nosuch" in err, (code, err)
    code, out, err = agent.ctl("host", "job", "add", "j", "--vni", "7", "--user", str(ALICE), "--lifetime", "1s")
    assert code == 0 and "VNI 7" in out, (code, out, err)
    wait_until(lambda: not agent.ask(request="show")["jobs"], "its time is over", 10)


def test_an_ordinary_users_whole_way(lab):
    """tributary-host as uid 1000: without an agent the message says what to do, with one it reduces."""
    whole_way(lab)


def test_a_user_reduces_in_a_container_that_has_the_agents_socket_and_nothing_else(lab):
    whole_way(lab, CONTAINER)


def whole_way(lab, inside=()):
    lab.star(2)
    need(lab)
    lab.start()
    lab.need(lab.binaries.host)
    program = lab.place / "tributary-host"
    shutil.copy(lab.binaries.host, program)

    def run(rank, agent=None):
        environment = agent.environment if agent else dict(os.environ)
        return subprocess.Popen(
            ["ip", "netns", "exec", f"h{rank}", "setpriv", "--reuid", str(ALICE), "--regid", str(ALICE),
             "--clear-groups", "--inh-caps=-all", *inside, str(program), "--interface", "eth0", "--tree", str(TREE),
             "--vni", str(VNI_A), "--cookie", "5", "--rank", str(rank), "--size", "3", "--operations", "50",
             "--json"],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    alone = run(1)
    _, err = alone.communicate(timeout=60)
    # In a container the interface is not there; otherwise there is no privilege for it.
    assert alone.returncode == 1 and ("'eth0' does not exist" if inside else "tributary-hostd") in err, err
    assert "setcap" not in err, err
    agents = [lab.start_agent(f"h{n}", interface="eth0", services=EVERYBODY) for n in range(3)]
    refused = run(1, agents[1])
    _, err = refused.communicate(timeout=60)
    assert refused.returncode == 1 and "no job of user 1000" in err, err
    for agent in agents:
        agent.ask(request="add_job", job="a", vni=VNI_A, uid=ALICE)
    members = [run(rank, agent) for rank, agent in enumerate(agents)]
    for member in members:
        out, err = member.communicate(timeout=200)
        assert member.returncode == 0, out + err
        assert json.loads(out)["wrong"] == 0
    for agent in agents:
        counted = agent.guard()
        assert counted["passed"] > 50 and sum(counted.values()) == counted["passed"], counted


def test_a_user_joins_a_group_by_what_the_agent_knows_of_his_job(lab):
    """No variable, no token on the command line: the nodes are known without a program, and the program by them."""
    need(lab)
    fabric = Fabric(lab)
    os.chmod(fabric.manager.socket, 0o666)
    program = lab.place / "tributary-host"
    shutil.copy(lab.binaries.host, program)
    agents = [lab.start_agent(f"h{n}", interface="eth0") for n in range(fabric.hosts)]
    wait_until(lambda: len(fabric.manager.get("/api/v1/topology")[1]["hosts"]) == fabric.hosts, "all hosts are known")
    status, job = fabric.manager.request(
        "POST", "/fabric/collectives/jobs", {"jobID": "users", "mcastLimit": 4, "assignVni": True}
    )
    assert status == 201, job
    access = {"url": fabric.manager.url, "token": job["sessionToken"]}
    for agent in agents:
        agent.ask(request="add_job", job="users", vni=job["vni"], uid=ALICE, manager=access)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("TRIBUTARY_", "FI_CXI_"))}
    members = [
        subprocess.Popen(
            ["ip", "netns", "exec", f"h{rank}", "setpriv", "--reuid", str(ALICE), "--regid", str(ALICE),
             "--clear-groups", "--inh-caps=-all", str(program), "--interface", "eth0", "--group", "g",
             "--rank", str(rank), "--size", str(fabric.hosts), "--operations", "50", "--json"],
            env={**clean, "TRIBUTARY_HOST_AGENT": str(agent.socket)}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank, agent in enumerate(agents)
    ]  # fmt: skip
    fabric.finish(members)
    wait_until(lambda: not fabric.manager.list("groups"), "the group is gone")
    assert len(fabric.manager.get("/api/v1/topology")[1]["hosts"]) == fabric.hosts, "no program says that its host leaves"


def test_a_user_writes_and_reads_memory_of_other_hosts_by_the_agents(lab):
    need(lab)
    switch = rdma.hosts(lab)
    for port in ("host0", "host1"):
        switch.ctl("impair", "set", "--port", port, "--direction", "sent", "--seed", "7", "--loss", "1%")
    agents = [lab.start_agent(f"h{n}", interface="eth0") for n in range(3)]
    for agent in agents:
        agent.ask(request="add_job", job="a", vni=VNI_A, uid=ALICE)
    program = lab.place / "tributary-host"
    shutil.copy(lab.binaries.host, program)
    # As a user of each node starts it, who finds the agent where the node has it.
    lab.binaries.host = lab.file("as-user", f"""#!/bin/sh
TRIBUTARY_HOST_AGENT={lab.place}/$(ip netns identify $$)-host.sock exec setpriv --reuid {ALICE} --regid {ALICE} \\
  --clear-groups --inh-caps=-all {program} "$@"
""")
    lab.binaries.host.chmod(0o755)
    own = lab.place / "own"
    own.mkdir()
    os.chown(own, ALICE, ALICE)
    length = 2**20 + 3
    data = lab.file("data")
    data.write_bytes(bytes(7 * n & 0xFF for n in range(length)))
    served = rdma.Served(lab, 1, "--length", length, "--output", own / "there")
    wrote = rdma.ask(lab, 0, "write", "--region", served.region, "--input", data)
    read = rdma.ask(lab, 2, "read", "--region", served.region, "--length", length, "--output", own / "back")
    served.end()
    assert wrote["bytes"] == read["bytes"] == length, (wrote, read)
    assert (own / "there").read_bytes() == (own / "back").read_bytes() == data.read_bytes()
    for agent in agents:
        counted = agent.guard()
        assert counted["passed"] > 0 and sum(counted.values()) == counted["passed"], counted
    # Several programs of a node have an end point each.
    given = rdma.of_two_programs_each_has_its_own(lab, own)
    assert given[0] != given[1] and min(given) >= 256, given
    # One host is not another, whatever its program says.
    words = rdma.command(lab, 2, "read", "--region", served.region, "--length", 1)
    words[words.index("--nid") + 1] = "1"
    code, _, err = lab.run(*words)
    assert code == 1 and "may not be" in err, (code, err)
