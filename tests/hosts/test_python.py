"""The Python package through a real switch: every form and operator against numpy, at every rank; and its example."""

import json
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lab import COOKIE, TREE, VNI
from test_fabric_manager import JOB, Fabric
from test_rdma import hosts as rdma_star
from test_vectors import LIMIT, vector_star
from tributary.cases import Skip
from tributary.network import wait_until

ROOT = Path(__file__).resolve().parents[2]
SIZE, SLOTS = 3, 16


def python():
    """One that has numpy and cffi: Debian's packages are for Debian's Python."""
    for candidate in ("/usr/bin/python3", shutil.which("python3")):
        if not candidate:
            continue
        needs = "import cffi, matplotlib, numpy, pandas"
        tried = subprocess.run([candidate, "-c", needs], capture_output=True, check=False)
        if tried.returncode == 0:
            return candidate
    raise Skip("no Python with cffi, matplotlib, numpy and pandas; scripts/setup installs them")


def beside(lab):
    """The environment in which a program finds the package of these sources and the library of this build."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "endpoint" / "python"),
            "TRIBUTARY_LIBRARY": str(lab.binaries.library)}


def outputs_of(running, seconds=120):
    """What each rank wrote; all must end successfully, each within this time of the one before."""
    said = []
    try:
        for rank, child in enumerate(running):
            out, err = child.communicate(timeout=seconds)
            assert child.returncode == 0, f"rank {rank} ended with {child.returncode}:\n{out}{err}"
            said.append(out)
    finally:
        for child in running:
            child.kill()
    return said


def ranks(lab, *program, **variables):
    """Runs it at all ranks concurrently; returns their output. `program`: path and arguments, with
    {rank} and {nid}; `variables`: of the environment."""
    interpreter = python()
    environment = {**beside(lab), **variables}
    running = []
    for rank in range(SIZE):
        words = [str(word).format(rank=rank, nid=rank + 1) for word in program]
        running.append(subprocess.Popen(
            ["ip", "netns", "exec", f"h{rank}", "unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', f"h{rank}",
             interpreter, *words], env=environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    return outputs_of(running)


def test_every_form_and_operator_is_as_numpy_has_it(lab):
    vector_star(lab, leaves=SIZE - 1, slots=SLOTS)
    said = ranks(lab, ROOT / "tests/hosts/python_rank.py", "eth0", "{nid}", "{rank}", SIZE, TREE, VNI, COOKIE, LIMIT,
                 SLOTS)
    for rank, line in enumerate(said):
        result = json.loads(line)
        assert result["rank"] == rank and result["checked"] == 8 * 6 + 3 * 5, result
    said = ranks(lab, ROOT / "endpoint/python/examples/tour.py", "eth0", "{rank}", SIZE, "--nid", "{nid}", "--tree", TREE,
                 "--vni", VNI, "--cookie", COOKIE + 1, "--payload", LIMIT, "--slots", SLOTS)
    assert "four at once: [0, 3, 6, 9]" in said[0] and "sum of bfloat16: [4.5 4.5]" in said[0], said[0]
    assert said[1] == said[2] == ""


def test_all_types_are_reduced_on_a_fabric_whose_files_say_nothing_of_frames(lab):
    fabric = Fabric(lab)
    said = ranks(lab, ROOT / "endpoint/python/examples/tour.py", "eth0", "{rank}", SIZE, "--group", "demo",
                 TRIBUTARY_FABRIC_MANAGER_URL=fabric.manager.url, TRIBUTARY_JOB_ID=JOB,
                 TRIBUTARY_FABRIC_MANAGER_TOKEN=fabric.token)
    for words in ("sum of int64", "sum of float32: [1.5 1.5]", "greatest float16: [2. 2.]", "sum of bfloat16: [4.5 4.5]"):
        assert words in said[0], said[0]


def here(lab, text, **variables):
    """Runs Python source with the built package; returns its output."""
    environment = {**beside(lab), **variables}
    done = subprocess.run([python(), "-c", text], env=environment, capture_output=True, text=True, check=False,
                          timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_manager_is_asked_and_followed(lab):
    manager = lab.start_manager()
    said = here(lab, """
import tributary
manager = tributary.Manager()
token = manager.create_job("j1", mcastLimit=4)
job = next(job for job in manager.list("jobs") if job.get("job") == "j1" or job.get("jobID") == "j1")
frame = manager.frame("jobs")
assert len(frame) == 1 and len(token) > 10, frame
for event in manager.events(follow=True):
    if event["event"] == "job":
        break
assert event["number"] > 0 and "j1" in event["text"], event
assert any(one["event"] == "job" for one in manager.events())
assert manager.frame("links").empty
for ask, status, words in ((lambda: manager.get("/api/v1/groups/j1/none"), 404, "none"),
                           (lambda: tributary.Manager(token="wrong").list("jobs"), 401, ""),
                           (lambda: tributary.Manager("unix:/run/nobody.sock").list("jobs"), 0, "does not answer"),
                           (lambda: tributary.Manager("ftp://x").list("jobs"), 0, "is not an address of a manager")):
    try:
        ask()
    except tributary.ManagerError as error:
        assert error.status == status and words in str(error), (error.status, str(error))
    else:
        raise AssertionError(f"{status} was expected")
several = tributary.Manager(f"unix:/run/nobody.sock,{manager.url}")
assert several.list("jobs") == manager.list("jobs") and several.list("groups") == []
manager.delete_job("j1")
print(len(manager.list("jobs")), "jobs")
""", TRIBUTARY_FABRIC_MANAGER_URL=manager.url)
    assert said == "0 jobs\n", said


def test_of_several_managers_the_one_that_leads_is_asked(lab):
    said = here(lab, """
import json, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import tributary

def serve(status, answer):
    class Handler(BaseHTTPRequestHandler):
        asked = 0
        def do_GET(self):
            type(self).asked += 1
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        def log_message(self, *words):
            pass
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return Handler, f"http://127.0.0.1:{server.server_port}"

leader, leads = serve(200, {"jobs": [{"job": "j1"}]})
other, stands_by = serve(421, {"message": "this manager stands by"})
naming, names = serve(421, {"message": "this manager stands by", "leader": leads})
unready, full = serve(503, {"message": "the disk is full"})
manager = tributary.Manager(f"{names},{stands_by},{leads}")
for _ in range(2):
    assert manager.list("jobs") == [{"job": "j1"}]
assert (naming.asked, other.asked, leader.asked) == (1, 0, 2), "the one that is named is asked, and asked again"
assert tributary.Manager(f"unix:/nowhere,{stands_by},{leads}").list("jobs")
for urls, status, words in ((f"{full},{stands_by}", 503, "the disk is full"), (f"{stands_by},{full}", 503, "full"),
                            (f"unix:/nowhere,{stands_by}", 421, "stands by"), (names, 421, "stands by"),
                            ("unix:/nowhere,unix:/nobody", 0, "does not answer")):
    try:
        tributary.Manager(urls).list("jobs")
    except tributary.ManagerError as error:
        assert error.status == status and words in str(error), (urls, error.status, str(error))
    else:
        raise AssertionError(f"{urls}: {status} was expected")
print("asked")
""")
    assert said == "asked\n", said


def test_results_of_the_generator_are_data_frames(lab):
    said = here(lab, """
import tributary
from tributary import results
result = results.run("reduce", leaves=4, in_process=True, operations=20, duration="60s", warmup="1ms", repeats=2)
assert result.problems == [], result.problems
repeats, latencies = result.repeats(), result.latencies()
assert len(repeats) == 2 and (repeats["operations_per_second"] > 0).all(), repeats
assert latencies.loc["operation_at_root", "count"] == result.histogram("operation_at_root")["count"].sum()
result.plot().savefig("/dev/null", format="svg")
for ask, words in ((lambda: results.run("reduce", leaves="many"), "tributary-pktgen ended with 2"),
                   (lambda: results.read({"format": "x"}), "not a result of tributary-pktgen"),
                   (lambda: results.read({**result.document, "format_version": 99}), "format version 99")):
    try:
        ask()
    except results.ResultError as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)
print("good")
""", TRIBUTARY_PKTGEN=str(lab.binaries.pktgen))
    assert said == "good\n", said


def test_what_cannot_be_is_said(lab):
    said = here(lab, """
import re, numpy as np, tributary
from tributary import _library as own
header = "".join((own._FOLDERS[1] / name).read_text(encoding="utf-8") for name in own._HEADERS)
functions = re.findall(r"(tributary_\\w+)\\(", own.declarations(header)[0])
assert len(functions) >= 30 and all(hasattr(own.lib, name) for name in functions), functions
assert len(own.DEFINED) == 7 and own.DEFINED["TRIBUTARY_IN_SWITCH_RESULTS_AUTO"] == -1, own.DEFINED
for dtype, struct in ((tributary.MINMAXLOC_INT64, "tributary_minmaxloc_int64"),
                      (tributary.MINMAXLOC_DOUBLE, "tributary_minmaxloc_double"),
                      (tributary.REPSUM_STATE, "tributary_repsum_state")):
    assert dtype.itemsize == own.ffi.sizeof(f"struct {struct}"), struct
halves = tributary.from_bfloat16(tributary.bfloat16([1.0, 1 + 2**-8, 1 + 3 * 2**-8, -0.0, np.nan, np.inf, 3.4e38]))
assert np.array_equal(halves, [1.0, 1.0, 1 + 2**-6, -0.0, np.nan, np.inf, np.inf], equal_nan=True), halves
for call, kind, words in ((lambda: tributary.Host("nowhere"), tributary.TributaryError, "'nowhere' does not exist"),
                          (lambda: tributary.Host("lo", speed=3), TypeError, "known are interface, ethertype")):
    try:
        call()
    except kind as error:
        assert words in str(error), error
        assert kind is TypeError or error.name == "NO_INTERFACE"
    else:
        raise AssertionError(words)
print("good")
""")
    assert said == "good\n", said
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "endpoint" / "python"), "TRIBUTARY_LIBRARY": "/nowhere/libtributary.so.0"}
    done = subprocess.run([python(), "-c", "import tributary"], env=environment, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 1 and "/nowhere/libtributary.so.0 cannot be loaded" in done.stderr, done.stderr


def test_what_programs_do_that_no_example_does(lab):
    words = [python(), str(ROOT / "tests/hosts/python_pair.py")]
    cases = subprocess.run(words, env=beside(lab), capture_output=True, text=True, check=True).stdout.split()
    assert len(cases) > 10, cases

    def fault_of(case):
        try:
            done = subprocess.run(["unshare", "--net", *words, case], env=beside(lab), capture_output=True, text=True,
                                  check=False, stdin=subprocess.DEVNULL, timeout=60)
        except subprocess.TimeoutExpired:
            return f"{case} did not end within 60 s"
        good = done.returncode == 0 and done.stdout == "good\n"
        return "" if good else f"{case} ended with {done.returncode}: {done.stdout}{done.stderr}"

    with ThreadPoolExecutor(4) as side_by_side:
        faults = [fault for fault in side_by_side.map(fault_of, cases) if fault]
    assert not faults, "\n\n".join(faults)


def test_an_array_of_another_host_is_written_and_read(lab):
    rdma_star(lab)
    file = lab.place / "handle"
    environment = beside(lab)

    def started(number, *words):
        return subprocess.Popen(
            ["ip", "netns", "exec", f"h{number}", python(), str(ROOT / "endpoint/python/examples/rdma.py"), *map(str, words)],
            env=environment, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    server = started(1, "serve", "eth0", 2, VNI, file)
    try:
        wait_until(lambda: file.exists() or server.poll() is not None, "the region is registered", 60)
        assert server.poll() is None, server.communicate()
        user = started(0, "use", "eth0", 1, file)
        try:
            out, err = user.communicate(timeout=120)
        finally:
            user.kill()
        assert user.returncode == 0, out + err
        result = json.loads(out)
        assert (result["kind"], result["error"], result["length"]) == ("write", None, 800_000), result
        assert result["back"] == [float(i) for i in range(90, 100)], result
        assert result["beyond"] in ("PEER_REFUSED", "ARGUMENT"), result
        assert (result["nid"], result["writable"]) == (2, True), result
        out, err = server.communicate(timeout=120)
        assert server.returncode == 0, out + err
        arrival = json.loads(out)
        assert arrival == {"kind": "arrival", "immediate": 1, "nid": 1, "sum": sum(range(100_000))}, arrival
    finally:
        server.kill()
