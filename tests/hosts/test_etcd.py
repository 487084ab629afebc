"""Managers that share an etcd, with a real cluster of three: the leader is killed, stopped, cut off and
changed, etcd loses members, its majority and its space. Switches have a list of the managers; for
requests of the tests a link leads to the socket of the manager that leads, as an address would that
moves with it."""

import contextlib
import ctypes
import json
import os
import signal
import ssl
import subprocess
import threading
import time
import urllib.error
from http.client import HTTPException

from test_fabric_manager import JOB, Fabric
from tributary.cases import Skip
from tributary.manager import _UnixConnection
from tributary.network import shell, wait_until
from tributary.site import FIRST_PEER_PORT, PREFIX, Cluster, Site, etcd_binary, text
from tributary.switch import Config

JOBS = "/fabric/collectives/jobs"
CLONE_NEWTIME = 0x80


def cluster_of(lab, *arguments, **named):
    if not etcd_binary():
        raise Skip("etcd is not installed: scripts/setup")
    shell("ip link set lo up")
    return Cluster(lab.place, *arguments, **named)


class Shared(Fabric):
    """Members act through HTTP: no host runs."""

    def __init__(self, lab, names=("a", "b"), members=3, quota=None, cluster=None, **sections):
        lab.need(lab.binaries.fabricd)
        self.cluster = cluster or cluster_of(lab, members, quota)
        lab.start_manager = lambda **tables: self._site(lab, names, **tables)
        further = [f"unix:{lab.place}/{name}-switches.sock" for name in names[1:]]
        super().__init__(lab, guards=True, also=further, **sections)

    @property
    def site(self):
        return self.manager

    def _site(self, lab, names, **sections):
        site = Site(lab.binaries, lab.place, self.cluster, names, **sections)
        lab.managers.append(site)
        return site

    def join(self, group, wait=60_000, hosts=(0, 2)):
        for rank, host in enumerate(hosts):
            answer = self.site.request(
                "POST", f"/api/v1/groups/{group}/members?wait={wait if rank + 1 == len(hosts) else 0}",
                {"rank": rank, "size": len(hosts), "mac": f"0:00:{host + 1:02x}", "job": JOB},
            )  # fmt: skip
        return answer

    def wait_until_found(self):
        def found():
            self.site.follow()
            topology = self.site.get("/api/v1/topology")[1]
            return (
                sum(switch["connected"] for switch in topology.get("switches", ())) == 4
                and sum(link["up"] for link in topology["links"]) == 4
            )

        wait_until(Site.survives(found), "the manager that leads finds four switches and four links", 60)

    def join_until_it_works(self, group):
        def ready():
            self.site.follow()
            return self.join(group)[0] == 200

        wait_until(Site.survives(ready), f"group {group} is ready", 60)

    def trees(self):
        trees = self.site.trees()
        numbers = [number for each in trees.values() for number in each]
        assert len(set(numbers)) == len(numbers), f"one tree is two groups': {trees}"
        return trees


def test_groups_outlive_a_leader_that_is_killed_and_new_ones_form(lab):
    fabric = Shared(lab)
    site = fabric.site
    for n in range(5):
        assert fabric.join(f"before{n}")[0] == 200
    before, epoch = fabric.trees(), site.epoch()
    site.signal("a", signal.SIGKILL)
    begin = time.monotonic()
    site.wait_for("b")
    fabric.join_until_it_works("after")
    print(f"{time.monotonic() - begin:.2f} s from kill -9 to a new group that is ready")
    after = fabric.trees()
    assert {name: after[name] for name in before} == before, "a group has lost its tree, or has another"
    assert site.epoch() == epoch + 1
    site.children["a"].wait()
    site.begin("a")
    wait_until(lambda: site.log_of("a").count("standby: manager b leads"), "the old leader follows", 60)


def replaced_without_its_lease(lab, sign):
    fabric = Shared(lab, store={"lease_ms": 60_000})
    site = fabric.site
    assert fabric.join("before")[0] == 200
    begin = time.monotonic()
    site.signal("a", sign)
    site.wait_for("b")
    fabric.join_until_it_works("after")
    took = time.monotonic() - begin
    print(f"{took:.2f} s from {sign.name} to a new group that is ready")
    assert took < 30, "it waited for the lease"
    assert "does not answer any more: its lease is ended" in site.log_of("b")
    assert "before" in fabric.trees()


def test_a_leader_that_is_dead_is_replaced_long_before_its_lease_ends(lab):
    replaced_without_its_lease(lab, signal.SIGKILL)


def test_a_leader_that_is_silent_is_replaced_long_before_its_lease_ends(lab):
    replaced_without_its_lease(lab, signal.SIGSTOP)


def test_a_standby_sends_clients_and_switches_to_the_leader(lab):
    fabric = Shared(lab)
    site = fabric.site
    wait_until(lambda: site.socket_of("b").exists(), "the standby listens", 60)
    status, body = site.ask("b", "/api/v1/groups")
    assert (status, body["leader"]) == (421, site.address_of("a")), body
    assert '"b", stands by; "a" leads' in body["message"]
    assert site.ask("b", "/leader")[0] == 421 and site.ask("a", "/leader")[0] == 200
    assert site.ask("b", "/readyz")[0] == 503
    done = lab.run(lab.binaries.ctl, "fabric", "--manager", site.addresses(), "show", "managers", "--json")
    assert done[0] == 0, done
    shown = {one["name"]: one["role"] for one in json.loads(done[1])["managers"]}
    assert shown == {"a": "leader", "b": "standby"}
    fabric.finish(fabric.start_hosts("through", 20, manager=site.addresses()))
    # A switch that asks the standby first.
    config = Config(lab.place / "lone.sock", {"address": [site.switches_of("b"), site.switches_of("a")]})
    config.switch("lone").port("p", kind="null")
    lab.start(config, name="lone")
    wait_until(lambda: any(s["name"] == "lone" for s in site.list("switches")), "the leader has the switch", 30)


def test_the_operator_changes_the_leader_and_no_request_is_lost(lab):
    fabric = Shared(lab)
    site, epoch = fabric.site, fabric.site.epoch()
    assert fabric.join("lasting")[0] == 200
    trees = fabric.trees()
    assert site.request("POST", "/api/v1/failovers", {"to": "c"})[0] == 404

    def fail_over(*words):
        return lab.run(lab.binaries.ctl, "fabric", "--manager", site.addresses(), "failover", *words)

    for number, (old, new, words) in enumerate((("a", "b", ("--to", "b")), ("b", "a", ()))):
        wait_until(lambda new=new: new in {one["name"] for one in site.get("/api/v1/managers")[1]["managers"]},
                   "it stands by", 60)
        joins = fabric.start_hosts(f"group{number}", 20, manager=site.addresses())
        code, said, errors = fail_over(*words)
        assert code == 0 and f"manager {old} gives the lead up for {new}" in said, said + errors
        wait_until(lambda new=new: site.leader() == new, f"{new} leads", 60)
        site.wait_for_answers()
        fabric.finish(joins)
        wait_until(lambda old=old, new=new: f"standby: manager {new} leads" in site.log_of(old), "the other follows", 60)
        assert fabric.trees()["lasting"] == trees["lasting"]
    assert site.epoch() == epoch + 2


def test_a_leader_that_ends_hands_over_at_once(lab):
    fabric = Shared(lab)
    site = fabric.site
    assert fabric.join("lasting")[0] == 200
    begin = time.monotonic()
    site.signal("a", signal.SIGTERM)
    assert site.children["a"].wait(60) == 0
    wait_until(lambda: site.leader() == "b", "the other leads", 60)
    took = time.monotonic() - begin
    assert took < 1.9, f"{took:.2f} s: it waited for the lease"
    site.wait_for("b")
    fabric.join_until_it_works("lasting")


def test_a_leader_that_goes_on_after_a_pause_answers_no_request_that_was_queued(lab):
    fabric = Shared(lab)
    site = fabric.site
    assert fabric.join("demo")[0] == 200
    old = _UnixConnection(site.socket_of("a"))
    old.request("GET", "/healthz")
    assert old.getresponse().read() is not None
    site.signal("a", signal.SIGSTOP)
    # In the socket of the old leader, which is not there for it.
    body = json.dumps({"rank": 0, "size": 2, "mac": "0:00:01", "job": JOB})
    old.request("POST", "/api/v1/groups/demo/members?wait=0", body, {"Content-Type": "application/json"})
    site.wait_for("b")
    assert site.request("DELETE", f"/api/v1/groups/{JOB}/demo")[0] == 202
    site.signal("a", signal.SIGCONT)
    try:
        status = old.getresponse().status
    except OSError:
        status = None  # it closed the connection
    assert status != 200, "it answered for a group that the new leader has deleted"
    wait_until(lambda: "follows as a standby again" in site.log_of("a"), "the old leader follows", 60)
    assert site.leader() == "b"


def test_a_leader_that_is_cut_off_is_suspended_and_another_takes_over(lab):
    fabric = Shared(lab)
    site = fabric.site
    assert fabric.join("demo")[0] == 200
    connection = _UnixConnection(site.socket_of("a"))
    site.cut_off("a")
    wait_until(lambda: "suspended: etcd has not answered" in site.log_of("a"), "it is suspended", 30)
    connection.request("GET", f"/api/v1/groups/{JOB}/demo")
    assert connection.getresponse().status == 503
    site.wait_for("b")
    fabric.join_until_it_works("after")
    site.join_again()
    wait_until(lambda: "follows as a standby again" in site.log_of("a"), "the old leader follows", 60)
    assert "demo" in fabric.trees()


def test_without_a_majority_of_etcd_views_are_answered_and_nothing_else(lab):
    fabric = Shared(lab)
    site, cluster = fabric.site, fabric.cluster
    assert fabric.join("demo")[0] == 200
    epoch = site.epoch()
    cluster.kill(0)
    fabric.join_until_it_works("with_two_members")
    assert site.leader() == "a" and site.epoch() == epoch, "one member of etcd is no reason for a takeover"
    cluster.kill(1)
    wait_until(lambda: site.get("/readyz")[0] == 503, "it is suspended", 60)
    assert site.get("/api/v1/groups")[0] == 200
    assert site.request("POST", JOBS, {"jobID": "lost"})[0] == 503
    assert "tributary_manager_suspended 1" in site.get("/metrics")[1]
    cluster.start(0)
    cluster.start(1)
    wait_until(cluster.has_leader, "etcd has a majority", 60)
    fabric.join_until_it_works("again")
    assert "demo" in fabric.trees() and site.epoch() <= epoch + 1


def test_an_etcd_without_space_refuses_changes_until_it_has_some(lab):
    fabric = Shared(lab, names=("a",), members=1, quota=16 * 1024 * 1024)
    site, cluster = fabric.site, fabric.cluster
    assert fabric.join("demo")[0] == 200
    number = 0
    try:
        while number < 1000:
            cluster.call("kv/put", {"key": text(f"/filler/{number}"), "value": text("x" * 500_000)})
            number += 1
    except OSError:
        pass  # mvcc: database space exceeded
    wait_until(lambda: site.request("POST", JOBS, {"jobID": f"lost{time.monotonic()}"})[0] == 503, "it has no space", 30)
    assert "database space exceeded" in site.get("/readyz")[1]["message"]
    assert site.get(f"/api/v1/groups/{JOB}/demo")[0] == 200, "what is only read is confirmed all the same"
    revision = cluster.call("kv/deleterange", {"key": text("/filler/"), "range_end": text("/filler0")})["header"]["revision"]
    cluster.call("kv/compaction", {"revision": revision})
    cluster.call("maintenance/defragment", {})
    cluster.call("maintenance/alarm", {"action": "DEACTIVATE", "alarm": "NOSPACE"})
    wait_until(lambda: site.get("/readyz")[0] == 200, "there is space again", 60)
    assert site.request("POST", JOBS, {"jobID": "kept"})[0] == 201


def test_two_managers_of_one_name_are_not_possible(lab):
    fabric = Shared(lab, names=("a",))
    site = fabric.site
    # It runs on another machine, so to speak: its address for other managers is free there.
    config = lab.file("second.toml", site.file_of("a").read_text().replace(":17582", ":17599"))
    second = subprocess.run(
        [str(lab.binaries.fabricd), "--config", str(config)],
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=60,
    )
    assert second.returncode == 1
    assert f"another manager named a runs, at {site.address_of('a')}" in second.stderr, second.stderr
    assert fabric.join("demo")[0] == 200


def test_records_move_from_etcd_to_a_file_and_back(lab):
    fabric = Shared(lab, names=("a",))
    site = fabric.site
    assert fabric.join("demo")[0] == 200
    exported = lab.file("fabric.export")

    def store(*words):
        return lab.run(lab.binaries.ctl, "store", *words)

    code, _, errors = store("export", "--config", site.file_of("a"), "--output", exported)
    assert code == 0, errors
    assert exported.stat().st_mode & 0o077 == 0, "it holds tokens"
    code, _, errors = store("import", "--config", site.file_of("a"), "--replace", exported)
    assert code == 1 and "manager a leads" in errors, errors
    assert site.end() == 0
    one = lab.file("file.toml", f'[store]\nfile = "{lab.place}/moved.db"\n')
    code, said, errors = store("import", "--config", one, exported)
    assert code == 0 and "1 group" in said, said + errors
    code, again, errors = store("export", "--config", one)
    assert code == 0, errors
    assert again.splitlines()[1:] == exported.read_text().splitlines()[1:]
    code, _, errors = store("import", "--config", site.file_of("a"), exported)
    assert code == 1 and "--replace" in errors, errors
    epoch = site.epoch()
    code, _, errors = store("import", "--config", site.file_of("a"), "--replace", exported)
    assert code == 0, errors
    site.begin("a")
    site.wait_for("a")
    assert "demo" in fabric.trees() and site.epoch() == epoch + 1


def certificates(lab):
    """An authority, and one certificate for the members of etcd and their clients."""
    ca, own = lab.place / "etcd-ca", lab.place / "etcd"
    key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
    places = ",".join(f"IP:127.0.0.{n}" for n in range(1, 6))
    lab.file("etcd.ext", f"subjectAltName={places}\nextendedKeyUsage=serverAuth,clientAuth\n")
    lab.sh(f"openssl req -x509 {key} -subj /CN=etcd-ca -keyout {ca}.key -out {ca}.pem")
    # No common name: with users, etcd's gateway takes no certificate that has one.
    lab.sh(f"openssl req {key} -subj /O=etcd -keyout {own}.key -out {own}.csr")
    lab.sh(f"openssl x509 -req -in {own}.csr -CA {ca}.pem -CAkey {ca}.key -CAcreateserial -extfile {own}.ext -out {own}.pem")
    return {"ca": f"{ca}.pem", "certificate": f"{own}.pem", "key": f"{own}.key"}


def with_users(cluster, password):
    """etcd has the users of the page: the managers' may use their own keys alone."""
    end = text(PREFIX[:-1] + chr(ord(PREFIX[-1]) + 1))
    for name, of_name in (("root", "superuser"), ("tributary", password)):
        cluster.call("auth/user/add", {"name": name, "password": of_name})
        cluster.call("auth/role/add", {"name": name})
        cluster.call("auth/user/grant", {"user": name, "role": name})
    allowed = {"permType": "READWRITE", "key": text(PREFIX), "range_end": end}
    cluster.call("auth/role/grant", {"name": "tributary", "perm": allowed})
    cluster.call("auth/enable", {})
    cluster.token = cluster.call("auth/authenticate", {"name": "root", "password": "superuser"})["token"]


def refused_start(lab, site, name, change):
    """What a manager says that ends at once; `change` makes its configuration from that of `name`."""
    config = lab.file("refused.toml", change(site.file_of(name).read_text()))
    done = subprocess.run(
        [str(lab.binaries.fabricd), "--config", str(config)],
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stderr


def test_managers_share_an_etcd_with_tls_and_users(lab):
    tls, password = certificates(lab), lab.file("etcd.password", "of the managers\n")
    password.chmod(0o600)
    cluster = cluster_of(lab, 1, tls=tls)
    try:
        with_users(cluster, "of the managers")
    except BaseException:
        cluster.stop()
        raise
    store = {"etcd_ca": tls["ca"], "etcd_certificate": tls["certificate"], "etcd_key": tls["key"],
             "etcd_user": "tributary", "etcd_password_file": str(password)}
    fabric = Shared(lab, cluster=cluster, store=store)
    site = fabric.site
    assert fabric.join("before")[0] == 200
    site.signal("a", signal.SIGKILL)
    site.wait_for("b")
    fabric.join_until_it_works("after")
    assert "before" in fabric.trees()
    said = refused_start(lab, site, "a", lambda file: file.replace(str(password), str(lab.file("wrong.password", "wrong\n"))))
    assert "check store.etcd_user" in said, said
    # Below keys that its role may not read.
    said = refused_start(lab, site, "a", lambda file: file.replace("[store]", '[store]\netcd_prefix = "/somewhere"'))
    assert "permission denied" in said, said
    no_certificate = ssl.create_default_context(cafile=tls["ca"])
    cluster.context = no_certificate
    try:
        cluster.call("kv/range", {"key": text(PREFIX)})
        raise AssertionError("etcd takes clients without a certificate: nothing was shown")
    except (OSError, urllib.error.URLError):
        pass


def test_keys_that_are_not_a_fabrics_are_refused_and_left_alone(lab):
    fabric = Shared(lab, names=("a",), members=1)
    site, cluster = fabric.site, fabric.cluster
    assert site.end() == 0

    def elsewhere(prefix):
        return lambda file: file.replace("[store]", f'[store]\netcd_prefix = "{prefix}"')

    cluster.call("kv/put", {"key": text("/others/key"), "value": text("value")})
    said = refused_start(lab, site, "a", elsewhere("/others"))
    assert "below /others in etcd are keys that are not a fabric manager's, such as /others/key" in said, said
    cluster.call("kv/put", {"key": text("/newer/format"), "value": text("2")})
    said = refused_start(lab, site, "a", elsewhere("/newer"))
    assert 'have format version "2"' in said, said
    cluster.call("kv/put", {"key": text(f"{PREFIX}/import"), "value": text("begun, and not ended")})
    said = refused_start(lab, site, "a", lambda file: file)
    assert "records of an import that did not end" in said, said
    for prefix, count in (("/others", 1), ("/newer", 1)):
        found = cluster.call("kv/range", {"key": text(prefix), "range_end": text(prefix + "0")})
        assert int(found["count"]) == count, found
    cluster.call("kv/deleterange", {"key": text(f"{PREFIX}/import")})
    site.begin("a")
    site.wait_for("a")
    assert site.create_job("later")


class Jobs(threading.Thread):
    """Creates one job after the other, at whichever manager takes it."""

    def __init__(self, site):
        super().__init__(daemon=True)
        self.site, self.created, self.at, self.ended = site, [], [], False
        self.start()

    def run(self):
        number = 0
        while not self.ended:
            for name in self.site.names:
                connection = _UnixConnection(self.site.socket_of(name))
                connection.timeout = 2
                with contextlib.closing(connection), contextlib.suppress(OSError, ValueError, HTTPException):
                    connection.request("POST", JOBS, json.dumps({"jobID": f"j{number}"}), {"Content-Type": "application/json"})
                    # Created: now, or by a request whose answer was lost.
                    if connection.getresponse().status in (201, 409):
                        self.created.append(f"j{number}")
                        self.at.append(time.monotonic())
                        number += 1
            time.sleep(0.02)

    def stop(self):
        self.ended = True
        self.join()

    def longest_gap(self):
        return max(after - before for before, after in zip(self.at, self.at[1:], strict=False))

    def lost(self):
        return set(self.created) - {job["job"] for job in self.site.list("jobs")}


def test_a_site_is_upgraded_one_manager_after_the_other(lab):
    fabric = Shared(lab)
    site = fabric.site
    assert fabric.join("lasting")[0] == 200
    trees = fabric.trees()
    jobs = Jobs(site)

    def upgrade(name, leader):
        follows = site.log_of(name).count(f"standby: manager {leader} leads")
        site.signal(name, signal.SIGTERM)
        assert site.children[name].wait(60) == 0
        site.begin(name)
        wait_until(lambda: site.log_of(name).count(f"standby: manager {leader} leads") > follows, f"{name} follows", 60)

    upgrade("b", "a")
    assert lab.run(lab.binaries.ctl, "fabric", "--manager", site.addresses(), "failover", "--to", "b")[0] == 0
    wait_until(lambda: site.leader() == "b", "b leads", 60)
    upgrade("a", "b")
    made = len(jobs.created)
    wait_until(lambda: len(jobs.created) > made + 5, "jobs are created on", 60)
    jobs.stop()
    site.wait_for_answers()
    print(f"{len(jobs.created)} jobs, {jobs.longest_gap():.2f} s without one at most")
    assert not jobs.lost(), "an acknowledged job is gone"
    assert fabric.trees()["lasting"] == trees["lasting"]


def an_hour_ahead():
    """In a child that is about to become a manager: its clocks were started an hour earlier."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWTIME):
        raise OSError(ctypes.get_errno(), "unshare")
    with open("/proc/self/timens_offsets", "w", encoding="ascii") as offsets:
        offsets.write("monotonic 3600 0\nboottime 3600 0\n")
    namespace = os.open("/proc/self/ns/time_for_children", os.O_RDONLY)
    if libc.setns(namespace, CLONE_NEWTIME):
        raise OSError(ctypes.get_errno(), "setns")
    os.close(namespace)


def test_clocks_that_are_an_hour_apart_do_not_matter(lab):
    if not os.path.exists("/proc/self/ns/time"):
        raise Skip("the kernel has no time namespaces")
    fabric = Shared(lab, names=("a", "b"))
    site = fabric.site
    assert fabric.join("lasting")[0] == 200
    trees = fabric.trees()
    site.signal("b", signal.SIGTERM)
    assert site.children["b"].wait(60) == 0
    site.begin("b", an_hour_ahead)
    wait_until(lambda: site.log_of("b").count("standby: manager a leads") == 2, "b follows", 60)
    epoch = site.epoch()
    time.sleep(3)
    assert (site.leader(), site.epoch()) == ("a", epoch), "the standby took the lead by its own clock"
    site.signal("a", signal.SIGKILL)
    site.wait_for("b")
    fabric.join_until_it_works("after")
    assert fabric.trees()["lasting"] == trees["lasting"]
    site.children["a"].wait()
    site.begin("a")
    wait_until(lambda: "standby: manager b leads" in site.log_of("a"), "a follows", 60)
    site.signal("b", signal.SIGKILL)
    site.wait_for("a")
    assert fabric.trees()["lasting"] == trees["lasting"]


def test_an_etcd_with_a_slow_disk_is_slow_and_nothing_is_lost(lab):
    fabric = Shared(lab, members=1)
    site, cluster = fabric.site, fabric.cluster
    assert fabric.join("lasting")[0] == 200
    trees, epoch = fabric.trees(), site.epoch()
    jobs, ended = Jobs(site), threading.Event()

    def stutter():
        while not ended.is_set():
            cluster.signal(signal.SIGSTOP)
            time.sleep(0.15)
            cluster.signal(signal.SIGCONT)
            time.sleep(0.05)

    thread = threading.Thread(target=stutter, daemon=True)
    thread.start()
    try:
        wait_until(lambda: len(jobs.created) > 20, "jobs are created", 60)
    finally:
        ended.set()
        thread.join()
        jobs.stop()
    fabric.join_until_it_works("after")
    longest = float(next(line.split()[1] for line in site.get("/metrics")[1].splitlines()
                         if line.startswith("tributary_store_write_longest_seconds ")))
    assert longest > 0.1, "etcd was not slow"
    assert not jobs.lost(), "an acknowledged job is gone"
    assert fabric.trees()["lasting"] == trees["lasting"]
    print(f"{len(jobs.created)} jobs; the longest write took {longest:.2f} s; {site.epoch() - epoch} takeovers")


def test_a_standby_that_reaches_etcd_and_not_the_leader_takes_nothing_over(lab):
    fabric = Shared(lab, names=("a", "b"))
    site = fabric.site
    site.signal("b", signal.SIGTERM)
    assert site.children["b"].wait(60) == 0
    shell(
        "nft add table ip cut; nft 'add chain ip cut out { type filter hook output priority 0; }'; "
        f"nft 'add rule ip cut out tcp dport {FIRST_PEER_PORT} drop'"
    )
    site.begin("b")
    wait_until(lambda: site.log_of("b").count("standby: manager a leads") == 2, "b follows", 60)
    epoch = site.epoch()
    time.sleep(4)
    assert (site.leader(), site.epoch()) == ("a", epoch), "it took the lead from one that serves"
    assert fabric.join("demo")[0] == 200
    site.signal("a", signal.SIGKILL)
    site.wait_for("b")  # when the lease has ended
    fabric.join_until_it_works("after")
    assert "demo" in fabric.trees()
