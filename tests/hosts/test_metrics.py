"""Metrics of a switch and of the manager, as Prometheus scrapes them; and whether the board and the
alerts in contrib use existing metrics."""

import http.client
import json
import re
import socket
import threading
import time
from pathlib import Path

from tributary.network import wait_until

CONTRIB = Path(__file__).resolve().parents[2] / "packaging"
BOARD, RULES = CONTRIB / "grafana/tributary.json", CONTRIB / "prometheus/tributary.rules.yml"


class _Local(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def scrape(connection):
    """The complete text of one scrape: http.client raises IncompleteRead where the end is
    missing."""
    try:
        connection.request("GET", "/metrics")
        answer = connection.getresponse()
        text = answer.read().decode()
        assert answer.status == 200 and answer.getheader("Content-Type").startswith("application/openmetrics-text")
        assert text.endswith("# EOF\n")
        return text
    finally:
        connection.close()


def samples(text):
    """{name of a sample: [{label: value}]}."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels = re.match(r"(\w+)(?:\{(.*)\})? \S+$", line).groups()
            found.setdefault(name, []).append(dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or "")))
    return found


def value_of(text, sample):
    return float(re.search(rf"^{re.escape(sample)} (\S+)$", text, re.M)[1])


def expressions():
    """(panel or alert, PromQL, text with labels) of all panels, of the variables, and of all alerts."""
    for name, expression, summary in re.findall(r"- alert: (\w+)\n +expr: (.*)\n(?: +\w+:.*\n)+? +summary: (.*)\n",
                                                RULES.read_text(encoding="utf-8")):
        yield name, expression, re.sub(r"\{\{ \$labels\.(\w+) \}\}", r"{{\1}}", summary)
    board = json.loads(BOARD.read_text(encoding="utf-8"))
    for panel in board["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"], target["legendFormat"]
    for variable in board["templating"]["list"]:
        if isinstance(variable["query"], dict):
            yield variable["name"], variable["query"]["query"], ""


def unanswered(text):
    """What board and alerts use and `text` lacks: (panel or alert, name or label)."""
    there, families = samples(text), set(re.findall(r"^# TYPE (\w+) ", text, re.M))
    for panel, expression, legend in expressions():
        names = re.findall(r"\b(?:tributary|process)_\w+", expression)
        assert names or expression.startswith("up{"), f"{panel}: {expression}"
        for name in names:
            # A counter that nothing was counted in has a family and no sample.
            if name not in there and not (name in families and name == re.sub(r"_(total|info)$", "", name)):
                yield panel, name
        wanted = re.findall(r"(\w+)=~?\"", expression) + re.findall(r"\{\{(\w+)\}\}", legend)
        for by in re.findall(r"by \(([^)]*)\)", expression):
            wanted += by.replace(" ", "").split(",")
        for label in set(wanted) - {"instance", "job"} if names else ():  # these are Prometheus's own
            if not any(label in labels for name in names for labels in there.get(name, [{label: ""}])):
                yield panel, label


def test_board_and_alerts_ask_for_what_switch_and_manager_print(lab):
    manager = lab.start_manager()
    lab.star(1, metrics=f"unix:{lab.place}/metrics.sock")
    lab.config.manager = manager.switches_address
    switch = lab.start()
    assert len({panel for panel, _, _ in expressions()}) > 20 + RULES.read_text(encoding="utf-8").count("- alert: ")
    missing = []

    def all_is_there():
        of_switch, of_manager = scrape(_Local(lab.place / "metrics.sock")), manager.get("/metrics")[1]
        assert not set(samples(of_switch)) & set(samples(of_manager)), "what both print would count twice"
        missing[:] = unanswered(of_switch + of_manager)
        return not missing

    # The manager has samples of switches and links once it knows them.
    try:
        wait_until(all_is_there, "switch and manager print what the board asks for")
    except TimeoutError:
        raise AssertionError(f"no program prints {missing}") from None
    assert switch.alive()


PAGE = Path(__file__).resolve().parents[2] / "docs/operate/metrics.md"


def documented():
    """{name of a sample: labels} of the manager's table in docs/operate/metrics.md."""
    section = PAGE.read_text(encoding="utf-8").split("\n## Of the manager\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]+`) \| ([^|]*)\|", section, re.M)
    return {name: set(labels.replace(",", " ").split()) for names, labels in rows for name in re.findall(r"`(\w+)`", names)}


def test_the_page_has_every_metric_of_the_manager(lab):
    manager = lab.start_manager()
    lab.star(1)
    lab.config.manager = manager.switches_address
    lab.start()
    wait_until(lambda: "tributary_port_sent_frames_total{" in manager.get("/metrics")[1], "the switch has reported")
    text, written = manager.get("/metrics")[1], documented()
    printed = samples(text)
    names = set(re.findall(r"^# TYPE (\w+) ", text, re.M))  # in this format with _total and _info
    assert names <= set(written), f"{PAGE.name} has no row of {names - set(written)}"
    assert names == set(written), f"{PAGE.name}: the manager has no {set(written) - names}"
    for name, given in printed.items():
        assert all(set(labels) == written[name] for labels in given), f"{PAGE.name}: {name} has other labels: {given[:1]}"


def test_counts_are_those_of_tributaryctl(lab):
    lab.star(2, metrics=":9464", workers=2)  # ":9464" is this machine alone
    switch = lab.start()
    lab.sh("ip link set lo up")
    lab.reduce(switch)
    lab.root.send(b"\x02" * 12 + b"\x88\xb5" + b"\x46" + bytes(79))
    lab.counter_reaches(switch, "leaf0.port.host0.drop.bad_version", 1)
    text, counters = scrape(http.client.HTTPConnection("127.0.0.1", 9464, timeout=30)), lab.counters(switch)
    port = 'switch="leaf0",port="host0"'
    for name, counter in (
        (f"port_received_frames_total{{{port}}}", "leaf0.port.host0.rx_frames"),
        (f'port_dropped_frames_total{{{port},reason="bad_version"}}', "leaf0.port.host0.drop.bad_version"),
        (f"engine_full_total{{{port}}}", "leaf0.engine.host0.full"),
    ):
        assert value_of(text, f"tributary_switch_{name}") == counters[counter] > 0, (name, counter)
    assert value_of(text, f"tributary_switch_port_up{{{port}}}") == 1
    assert value_of(text, "tributary_switch_resident_memory_bytes") > 1 << 20
    assert 0 < value_of(text, "tributary_switch_frame_buffers_free") <= value_of(text, "tributary_switch_frame_buffers")
    assert len(samples(text)["tributary_switch_worker_busy_ratio"]) == 2
    # No other machine can connect.
    listening = lab.sh("ss -ltnH")
    assert "127.0.0.1:9464" in listening and "0.0.0.0:9464" not in listening and "*:9464" not in listening, listening


def test_a_scrape_while_the_switch_restarts_is_whole_or_refused(lab):
    path = lab.place / "metrics.sock"
    lab.star(1, metrics=f"unix:{path}")
    switch = lab.start()
    outcomes, over = [], threading.Event()

    def scrape_on():
        while not over.is_set():
            try:
                outcomes.append(len(scrape(_Local(path))))
            except (OSError, http.client.HTTPException) as refused:
                outcomes.append(type(refused).__name__)
                time.sleep(0.01)

    scraper = threading.Thread(target=scrape_on)
    scraper.start()
    try:
        for _ in range(2):
            before = len(outcomes)
            wait_until(lambda: any(isinstance(one, int) for one in outcomes[before:]), "a whole scrape")
            assert switch.stop() == 0
            wait_until(lambda: any(isinstance(one, str) for one in outcomes), "a scrape is refused")
            switch = lab.start()
        before = len(outcomes)
        wait_until(lambda: any(isinstance(one, int) for one in outcomes[before:]), "a whole scrape")
    finally:
        over.set()
        scraper.join()


def test_an_address_in_use_is_named(lab):
    lab.sh("ip link set lo up")
    with socket.create_server(("127.0.0.1", 9464)):
        lab.star(1, metrics="127.0.0.1:9464")
        lab.config.write(lab.file("switch.toml"))
        code, _, err = lab.run_switch("--config", lab.file("switch.toml"))
    assert code == 1 and "127.0.0.1:9464" in err and "choose another" in err, err
