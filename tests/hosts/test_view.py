"""The fabric manager's view in a real browser: what it shows, how soon, and what it permits to
whom.

Times are printed; their bounds are generous, and only end hangs. Screenshots are kept
(Lab.artefact)."""

from contextlib import contextmanager
from datetime import datetime

from browser import Browser
from drawn_fabric import dragonfly, drawn, fat_tree
from test_fabric_manager import JOB, Fabric
from tributary.network import wait_until

ADDRESS = "127.0.0.1:7580"
PAGE = f"http://{ADDRESS}/"
ADMINISTRATOR = "a-token-of-the-administrator"


def served(lab, **manager):
    """Sections of a manager whose page can be opened, by anyone unless overridden. Its time-outs
    for switches and members suit a busy machine."""
    token = lab.file("administrator.token", ADMINISTRATOR + "\n")
    return {
        "manager": {"open_view": True, **manager},
        "rest": {"listen": [f"unix:{lab.place}/fabricd.sock", ADDRESS], "administrator_token_file": str(token)},
        "switches": {"keepalive_ms": 60_000},
        "groups": {"join_limit_ms": 600_000},
    }


@contextmanager
def drawn_and_seen(lab, switches, **manager):
    """A manager, these switches, and a browser that has opened the page."""
    with drawn(lab.start_manager(**served(lab, **manager)), switches) as fabric:
        browser = Browser(lab)
        browser.open(PAGE)
        yield fabric, browser
        browser.close()


def wait_drawn(browser, shape, switches):
    browser.wait(lambda: (browser.data("shape"), browser.data("switches")) == (shape, str(switches)),
                 f"{switches} switches are drawn as a {shape}")  # fmt: skip


def keep_picture(browser, name):
    browser.wait(lambda: browser.data("painted") == "whole", "all links are painted")
    browser.screenshot(name)


def wait_live(browser):
    browser.wait(lambda: browser.text("#stream") == "live", "the page is live")


def note_times(browser):
    """From now on the page records when a link that is down, and a fault, became visible."""
    browser.run("""
        window.seen = {};
        const look = () => {
          if (document.querySelector('#fabric').dataset.down !== '0') window.seen.link ??= Date.now();
          if (document.querySelector('#faults li[data-fault]')) window.seen.fault ??= Date.now();
        };
        new MutationObserver(look).observe(document.body, {subtree: true, childList: true, attributes: true});""")


def latest_fault(fabric):
    return fabric.manager.get("/api/v1/faults")[1]["faults"][0]


def print_delays(browser, fault):
    """How long after the manager detected the fault the page showed it, in ms."""
    detected = datetime.fromisoformat(fault["time"]).timestamp() * 1000
    seen = browser.run("return window.seen")
    delays = {what: round(at - detected) for what, at in seen.items()}
    print(f"after the manager detected the fault, the page showed the link down in {delays['link']} ms, "
          f"the fault and its timeline in {delays['fault']} ms")  # fmt: skip
    # Every half minute the page reloads everything; a longer delay would come from that.
    assert max(delays.values()) < 20_000, delays


def test_a_fabric_of_real_switches_shows_its_groups_who_is_waited_for_and_a_cut_link(lab):
    fabric = Fabric(lab, routes={"enabled": True, "vcs": 1}, **served(lab))
    manager = fabric.manager
    hosts = fabric.start_hosts("demo", 10_000_000)
    fabric.wait_for_state("demo", "ready")
    late = {"rank": 0, "size": 2, "mac": "02:00:00:00:00:01", "job": JOB}
    assert manager.request("POST", "/api/v1/groups/late/members?wait=0", late, fabric.token)[0] == 202
    browser = Browser(lab)
    browser.open(PAGE)
    wait_drawn(browser, "fat tree", 4)
    wait_live(browser)
    browser.wait(lambda: "rank 1: has not joined" in browser.text('#waits li[data-group="late"]'), "rank 1 is waited for")
    group = f'#groups li[data-group="{JOB}/demo"]'
    browser.wait(lambda: browser.run("return document.querySelector(arguments[0])?.dataset.state", group) == "ready",
                 "the group is there")  # fmt: skip
    browser.click(f"{group} button")
    (tree,) = manager.list("trees")
    assert browser.data("marked") == str(tree["tree"])
    browser.wait(lambda: "Mbit/s" in browser.run("""
        document.querySelector('#tables').open = true;
        return document.querySelector('#link-table').innerText"""), "the load of links is shown")  # fmt: skip
    keep_picture(browser, "view-real-fabric")

    note_times(browser)
    inner = next(part for part in tree["parts"] if part["switch"].startswith("leaf") and
                 part["parent"]["to"].startswith("spine"))  # fmt: skip
    leaf, spine = inner["switch"][-1], inner["parent"]["to"][-1]
    lab.sh(f"ip link set l{leaf}s{spine} down")
    browser.wait(lambda: browser.data("down") == "1", "the link is down on the page")
    browser.wait(lambda: "installed +" in browser.text("#faults li[data-fault]"), "the fault's timeline is there")
    print_delays(browser, latest_fault(fabric))
    assert f"leaf{leaf}" in browser.text('#link-table tr[data-state="down"]')
    keep_picture(browser, "view-cut-link")
    assert browser.count(".changes") == 0, "no user is logged in, and the page offers to change something"
    assert browser.complaints() == []
    for host in hosts:
        host.kill()
        host.communicate()


def test_a_page_whose_event_stream_is_held_back_says_so_and_continues(lab):
    with drawn(lab.start_manager(**served(lab)), fat_tree(pods=2, leaves=3, ups=2, cores=2, hosts=2)) as fabric:
        browser = Browser(lab)
        browser.devtools("Network.enable")
        browser.devtools("Network.setBlockedURLs", urls=["*follow=true*"])
        browser.open(PAGE)
        wait_drawn(browser, "fat tree", 14)
        browser.wait(lambda: "no event stream" in browser.text("#stream"), "the page says that it has no stream")
        assert browser.run("return document.querySelector('#stream').dataset.state") == "polling"
        fabric.set_link(("leaf0.0", 0), ("agg0.0", 0), up=False)
        browser.wait(lambda: browser.data("down") == "1", "the fault shows all the same")
        browser.wait(lambda: browser.count("#faults li[data-fault]") == 1, "and in the list of faults")
        browser.wait(lambda: browser.count('#events li[data-kind="link"]') > 0, "and among the events")
        keep_picture(browser, "view-no-stream")
        browser.devtools("Network.setBlockedURLs", urls=["*api/v1/events*"])
        browser.wait(lambda: "no events at all" in browser.text("#stream"), "the page says that it has no events")
        fabric.set_link(("leaf0.0", 0), ("agg0.0", 0), up=True)
        browser.wait(lambda: browser.data("down") == "0", "without any events the fabric is looked at all the same")


def test_a_manager_that_ends_and_comes_back_is_waited_for(lab):
    with drawn_and_seen(lab, dragonfly(groups=4, routers=3, hosts=1)) as (fabric, browser):
        wait_drawn(browser, "dragonfly", 12)
        wait_live(browser)
        dark = {"name": "prefers-color-scheme", "value": "dark"}
        browser.devtools("Emulation.setEmulatedMedia", features=[dark])
        keep_picture(browser, "view-dragonfly-dark")
        fabric.manager.kill()
        browser.wait(lambda: browser.text("#stream") != "live", "the page says that the stream is lost")
        browser.wait(lambda: "does not answer" in browser.text("#trouble"), "and that the manager is away")
        assert browser.data("switches") == "12", "what was seen is kept"
        fabric.manager.start()
        wait_live(browser)
        browser.wait(lambda: browser.text("#trouble") == "", "the page is well again")


def ask_openly(browser, method, path):
    """The status of a request as anyone may make it from the page, without a token."""
    return browser.run_async("return (await fetch(args[1], {method: args[0]})).status", method, path)


def log_in(browser, token):
    browser.click("#login")
    browser.run("document.querySelector('#token').value = arguments[0]", token)
    browser.click("#login-go")


def find(browser, name):
    browser.run("""
        const search = document.querySelector('#search');
        search.value = arguments[0];
        search.dispatchEvent(new Event('input'));""", name)


def test_nothing_is_shown_without_a_token_or_changed_without_the_right_one(lab):
    manager_has = served(lab, open_view=False)
    with drawn(lab.start_manager(**manager_has), fat_tree(pods=2, leaves=2, ups=2, cores=1, hosts=1)) as fabric:
        token = fabric.manager.create_job(JOB)
        browser = Browser(lab)
        browser.open(PAGE)
        browser.wait(lambda: "only to those who log in" in browser.text("#trouble"), "the page asks for a token")
        assert browser.data("switches") in ("", "0") and browser.count(".changes") == 0
        for method, path in (("GET", "api/v1/topology"), ("GET", "api/v1/loads"), ("GET", "api/v1/events")):
            assert ask_openly(browser, method, path) == 401, path
        assert ask_openly(browser, "POST", "api/v1/switches/agg0.0/drain") == 403

        log_in(browser, "made-up")
        browser.wait(lambda: browser.text("#login-message") != "", "a wrong token is refused")
        browser.click('#login-dialog button[value="cancel"]')
        log_in(browser, token)
        wait_drawn(browser, "fat tree", 10)
        find(browser, "agg0.0")
        assert browser.text("#selected h2") == "switch agg0.0"
        assert browser.count("#selected .changes") == 0, "draining is the administrator's"
        browser.click("#login")
        assert browser.text("#login") == "Log in"

        log_in(browser, ADMINISTRATOR)
        browser.wait(lambda: browser.text("#login") == "Log out", "the administrator is logged in")
        browser.wait(lambda: browser.count("#selected .changes") == 1, "the administrator may drain")
        browser.click("#selected .changes")
        assert browser.text("#confirm-title") == "Drain agg0.0?"
        browser.click('#confirm button[value="cancel"]')
        assert not fabric.manager.get("/api/v1/switches/agg0.0/drain")[1]["drained"]
        browser.click("#selected .changes")
        keep_picture(browser, "view-drain")
        browser.click("#confirm-go")
        browser.wait(lambda: "Take into use again" in browser.text("#selected .changes"), "it is drained")
        assert fabric.manager.get("/api/v1/switches/agg0.0/drain")[1]["drained"]

        assert fabric.manager.request("POST", "/api/v1/groups", {"name": "unwanted", "job": JOB, "size": 2})[0] == 201
        group = f'#groups li[data-group="{JOB}/unwanted"]'
        browser.wait(lambda: browser.count(f"{group} .changes") == 1, "the administrator may destroy a group")
        find(browser, "unwanted")
        assert browser.count(f'{group} [aria-pressed="true"]') == 1
        browser.click(f"{group} .changes")
        assert browser.text("#confirm-title") == f"Destroy group {JOB}/unwanted?"
        browser.click("#confirm-go")
        browser.wait(lambda: browser.count(group) == 0, "it is gone from the page")
        assert not fabric.manager.list("groups")
        assert browser.run("return [localStorage.length, document.cookie]") == [0, ""]


FRAMES_WHILE_MOVED = """
    const canvas = document.querySelector('#fabric');
    const box = canvas.getBoundingClientRect();
    const say = (type, x, y) => canvas.dispatchEvent(new PointerEvent(type,
      {pointerId: 1, clientX: box.left + x, clientY: box.top + y, bubbles: true}));
    canvas.setPointerCapture = () => {};
    const [x, y] = [box.width / 2, box.height / 2];
    say('pointerdown', x, y);
    const times = [];
    let last = null;
    while (times.length < args[0]) {
      const now = await new Promise(requestAnimationFrame);
      if (last !== null) times.push(now - last);
      last = now;
      const turn = times.length / 10;
      say('pointermove', x + 250 * Math.sin(turn), y + 120 * Math.sin(2 * turn));
    }
    say('pointerup', x, y);
    return times;"""


def test_two_thousand_switches_stay_fluid(lab):
    switches = fat_tree(pods=40, leaves=40, ups=8, cores=10, hosts=1)
    with drawn_and_seen(lab, switches) as (fabric, browser):
        wait_drawn(browser, "fat tree", 2000)
        wait_live(browser)
        for report in range(2):
            for pod in range(40):
                sent = {"sent": 1 + report, "sent_bytes": 10**6 * (pod + 1) * report}
                fabric.carry(f"leaf{pod}.0", {port: sent for port in range(8)})
            fabric.carry("leaf3.1", {0: {"received": 1 + report, "drops": {"queue_full": 499 * report + 1},
                                         "pauses_received": 3}})  # fmt: skip
            wait_until(lambda: len(fabric.manager.list("loads")) == 41, "the manager has the first report of each")
        browser.wait(lambda: "500 drops so far" in browser.text("#drops"), "drops are shown")
        assert "3 pauses so far" in browser.text("#drops")
        assert browser.data("used") == str(40 * 8)
        keep_picture(browser, "view-2000-switches")
        times = sorted(browser.run_async(FRAMES_WHILE_MOVED, 90))
        print(f"2000 switches, {len(fabric.speakers.sockets)} channels, moved by hand: frames every "
              f"{times[len(times) // 2]:.1f} ms (median), {times[int(len(times) * 0.95)]:.1f} ms (95 %), "
              f"{times[-1]:.1f} ms (longest)")  # fmt: skip
        note_times(browser)
        fabric.set_link(("leaf7.5", 0), ("agg7.0", 5), up=False)
        browser.wait(lambda: browser.data("down") == "1", "a cut link shows")
        browser.wait(lambda: browser.count("#faults li[data-fault]") == 1, "and the fault")
        print_delays(browser, latest_fault(fabric))
        assert browser.complaints() == []


def in_red(browser):
    """The texts of everything on the page in the red of problems."""
    return browser.run("""
        const red = getComputedStyle(document.documentElement).getPropertyValue('--down').trim();
        const probe = document.body.appendChild(document.createElement('i'));
        probe.style.color = red;
        const colour = getComputedStyle(probe).color;
        probe.remove();
        return [...document.querySelectorAll('body *:not(dialog *)')].filter((one) => one.children.length === 0 && one.textContent
          && one.getClientRects().length && !one.closest('#legend')
          && [getComputedStyle(one).color, getComputedStyle(one).backgroundColor].includes(colour)).map((one) => one.textContent);""")


def red_in_the_drawing(browser):
    """Number of pixels of the drawing in the red of down links."""
    browser.wait(lambda: browser.data("painted") == "whole", "all is painted")
    return browser.run("""
        const red = getComputedStyle(document.documentElement).getPropertyValue('--down').trim();
        const [r, g, b] = [1, 3, 5].map((at) => parseInt(red.slice(at, at + 2), 16));
        const canvas = document.querySelector('#fabric');
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        let found = 0;
        for (let at = 0; at < data.length; at += 4) {
          found += Math.abs(data[at] - r) + Math.abs(data[at + 1] - g) + Math.abs(data[at + 2] - b) < 8 && data[at + 3] > 200 ? 1 : 0;
        }
        return found;""")


def carry_twice(fabric, name, ports):
    """Two reports, so that rates exist; the drops occur between them."""
    drops = {port: figures.get("drops", {}) for port, figures in ports.items()}
    fabric.carry(name, {port: {**figures, "drops": dict.fromkeys(drops[port], 1)} for port, figures in ports.items()})
    wait_until(lambda: any(one["switch"] == name for one in fabric.manager.list("loads")), "the first report is there")
    fabric.carry(name, ports)


def test_a_fabric_where_nothing_is_to_be_done_shows_nothing_in_red(lab):
    switches = fat_tree(pods=2, leaves=2, ups=2, cores=2, hosts=2)
    with drawn_and_seen(lab, switches, open_view=True) as (fabric, browser):
        wait_drawn(browser, "fat tree", 12)
        wait_live(browser)
        # A link that was down and is up again, and a job that is over: its hosts are silent.
        fabric.set_link(("leaf0.0", 0), ("agg0.0", 0), up=False)
        browser.wait(lambda: browser.count("#faults li[data-fault]") == 1, "the fault is listed")
        fabric.set_link(("leaf0.0", 0), ("agg0.0", 0), up=True)
        browser.wait(lambda: browser.data("down") == "0", "the link is up")
        for name, hosts, cables in switches:
            for port in range(len(cables), len(cables) + hosts):
                fabric.silence(name, port)
        # Values that a correct run repeats, and heavily loaded ports.
        carry_twice(fabric, "leaf0.0", {2: {"sent": 9, "received": 9, "sent_bytes": 10**10, "drops": {"stale_sequence": 40, "counted_twice": 2}}})
        browser.run("document.querySelector('#tables').open = true")
        browser.wait(lambda: browser.count('#host-table tr[data-state="quiet"]') == 8, "all hosts are quiet")
        browser.wait(lambda: "42 contributions arrived twice" in browser.text("#drops"), "repeats are shown as such")
        browser.wait(lambda: "came back" in browser.text("#recoveries") or browser.count("#recoveries li[data-fault]") == 1,
                     "the link that came up is listed apart")  # fmt: skip
        assert browser.count("#faults li[data-fault]") == 1, "a link that came up is listed as a fault"
        assert in_red(browser) == []
        assert red_in_the_drawing(browser) == 0
        keep_picture(browser, "view-nothing-to-do")

        fabric.set_link(("leaf0.1", 0), ("agg0.0", 1), up=False)
        browser.wait(lambda: red_in_the_drawing(browser) > 0, "a link that is down is red")
        assert browser.complaints() == []


SEEN = """
    const canvas = document.querySelector('#fabric');
    const { width, height } = canvas;
    const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
    let [left, right, top, bottom] = [width, -1, height, -1];
    for (let y = 0; y < height; y += 1) {
      for (let x = 0; x < width; x += 1) {
        if (data[4 * (y * width + x) + 3] === 0) continue;
        left = Math.min(left, x); right = Math.max(right, x); top = Math.min(top, y); bottom = Math.max(bottom, y);
      }
    }
    const legend = document.querySelector('#legend').offsetTop / canvas.clientHeight;
    return [left / width, right / width, top / height, bottom / height, legend];"""


def test_the_drawing_is_seen_whole_whatever_becomes_of_the_window(lab):
    with drawn_and_seen(lab, fat_tree(pods=4, leaves=4, ups=2, cores=2, hosts=2)) as (_, browser):
        wait_drawn(browser, "fat tree", 28)

        def is_whole():
            if browser.data("painted") != "whole":
                return False
            left, right, top, bottom, legend = browser.run(SEEN)
            return 0.005 < left < right < 0.995 and 0.005 < top < bottom < max(legend, 0.5) and right - left > 0.3

        browser.wait(is_whole, "all is seen at the beginning")
        for width, height, scale in ((900, 600, 1), (700, 450, 2), (1600, 1000, 1)):  # smaller, 200 %, larger
            browser.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)
            browser.wait(is_whole, f"all is seen in {width} x {height} at {scale * 100} %")
            keep_picture(browser, f"view-{width}x{height}")


def test_tables_and_the_page_of_a_switch_have_what_operators_look_for(lab):
    switches = fat_tree(pods=2, leaves=2, ups=1, cores=1, hosts=2)
    with drawn_and_seen(lab, switches) as (fabric, browser):
        wait_drawn(browser, "fat tree", 7)
        wait_live(browser)
        fabric.manager.create_job(JOB)
        assert fabric.manager.request("POST", "/api/v1/groups", {"name": "waiting", "job": JOB, "size": 2})[0] == 201
        carry_twice(fabric, "leaf1.0", {1: {"sent": 5, "received": 5, "drops": {"queue_full": 7, "no_route": 1, "counted_twice": 3}}})
        fabric.silence("leaf1.1", 2)
        browser.run("document.querySelector('#tables').open = true")

        def has(table, *texts):
            browser.wait(lambda: all(text in browser.text(f"#{table}-table") for text in texts), f"{table} has {texts}")

        has("host", "h1", "leaf1.1", "2 (p2)", "quiet", "s ago", "now")
        has("drop", "leaf1.0 port 1 (p1)", "queue_full 7, no_route 1")
        has("link", "leaf0.0 port 0 (p0)")
        has("group", f"{JOB}/waiting", "0 of 2")
        has("job", JOB, "waiting")
        assert browser.count("#tree-table thead th") > 0
        find(browser, "leaf1.1")
        has("host", "leaf1.1")
        browser.wait(lambda: browser.count("#host-table tbody tr") == 2, "only the hosts of that switch")

        browser.run("location.hash = '#switch/leaf1.0'")
        browser.wait(lambda: "Switch leaf1.0" in browser.text("#switch-page h2"), "the page of a switch")
        for text in ("p1", "queue_full 7", "agg1.0", "connected"):
            browser.wait(lambda t=text: t in browser.text("#switch-page"), f"it has {text}")
        keep_picture(browser, "view-switch-page")
        browser.run("location.hash = ''")
        browser.wait(lambda: browser.run("return document.querySelector('#switch-page').hidden"), "and back")
        assert browser.complaints() == []


def test_events_have_a_severity_a_filter_and_the_last_hour(lab):
    with drawn_and_seen(lab, fat_tree(pods=2, leaves=2, ups=1, cores=1, hosts=1)) as (fabric, browser):
        wait_drawn(browser, "fat tree", 7)
        wait_live(browser)
        fabric.set_link(("leaf0.0", 0), ("agg0.0", 0), up=False)
        browser.wait(lambda: browser.count('#events li[data-severity="error"]') > 0, "a link that is down is an error")
        assert browser.count('#events li[data-severity="info"]') > 0
        browser.wait(lambda: browser.count("#hour .error") == 1, "the last hour has it")

        def choose(what, value):
            browser.run("""
                const one = document.querySelector(arguments[0]);
                one.value = arguments[1];
                one.dispatchEvent(new Event('input'));""", what, value)

        choose("#event-severity", "error")
        browser.wait(lambda: browser.count('#events li[data-severity="info"]') == 0, "only errors")
        assert browser.count('#events li[data-severity="error"]') > 0
        choose("#event-severity", "info")
        choose("#event-kind", "switch")
        browser.wait(lambda: browser.count('#events li[data-kind="link"]') == 0 < browser.count('#events li[data-kind="switch"]'),
                     "only switches")  # fmt: skip
        choose("#event-text", "core0.0")
        browser.wait(lambda: 0 < browser.count("#events li") < 7 and "leaf0.0" not in browser.text("#events"), "only one switch")
        keep_picture(browser, "view-events")
        assert browser.complaints() == []


SHAPES = """
    const { layOut } = await import('/view/layout.js');
    const { shape, parts, places, width, height } = layOut(...args);
    return { shape, parts, width, height, places: Object.fromEntries(places) };"""


def test_shapes_are_recognised_by_links_and_hosts(lab):
    lab.start_manager(**served(lab))
    browser = Browser(lab)
    browser.open(PAGE)

    def laid_out(switches):
        links = [[name, other] for name, _, cables in switches for other, _ in cables.values() if name < other]
        layout = browser.run_async(SHAPES, [{"name": name, "hosts": hosts} for name, hosts, _ in switches], links)
        places = layout["places"]
        assert places.keys() == {name for name, _, _ in switches}
        spots = {(round(place["x"], 3), round(place["y"], 3)) for place in places.values()}
        assert len(spots) == len(places), "two switches in one place"
        assert all(0 < place["x"] < layout["width"] and 0 < place["y"] < layout["height"] for place in places.values())
        return layout["shape"], layout["parts"], places

    shape, parts, places = laid_out(fat_tree(pods=4, leaves=3, ups=2, cores=2, hosts=2))
    assert (shape, parts) == ("fat tree", 3)
    assert {places[name]["tier"] for name in places if name.startswith("agg")} == {1}
    assert places["core0.0"]["y"] < places["agg0.0"]["y"] < places["leaf0.0"]["y"], "the cores are on top"
    shape, parts, places = laid_out(dragonfly(groups=9, routers=4, hosts=2))
    assert (shape, parts) == ("dragonfly", 9)
    assert all(places[f"g{g}r{n}"]["group"] == places[f"g{g}r0"]["group"] for g in range(9) for n in range(4))
    ring = [(f"s{n}", 1, {0: (f"s{(n + 1) % 8}", 1), 1: (f"s{(n - 1) % 8}", 0)}) for n in range(8)]
    assert laid_out(ring)[0] == "flat"
    assert laid_out([("alone", 1, {})])[0] == "flat"
    for pods, leaves, ups, cores in ((2, 2, 1, 1), (2, 3, 2, 2), (4, 4, 2, 2)):
        shape, parts, places = laid_out(fat_tree(pods, leaves, ups, cores, hosts=0))
        assert (shape, parts) == ("fat tree", 3), "without a host"
        assert all((name.startswith("leaf")) == (place["tier"] == 0) for name, place in places.items())
    # Only one pod has hosts so far: the leaves of the others are as low as its own.
    some = [(name, hosts if "f0." in name else 0, links) for name, hosts, links in fat_tree(4, 3, 2, 2, hosts=2)]
    shape, parts, places = laid_out(some)
    assert (shape, parts) == ("fat tree", 3)
    assert {name for name, place in places.items() if place["tier"] == 0} == {name for name in places if name.startswith("leaf")}
    silent_ring = [(name, 0, links) for name, _, links in ring]
    assert laid_out(silent_ring)[0] == "flat"


def test_hosts_stand_from_left_to_right(lab):
    lab.start_manager(**served(lab))
    browser = Browser(lab)
    browser.open(PAGE)
    for out in (1.5707963, -1.5707963, 0.5, 3.0):
        places = browser.run_async("""
            const { placesOfHosts } = await import('/view/layout.js');
            return placesOfHosts({x: 5, y: 5, out: args[0]}, 4, 64);""", out)
        assert [place["x"] for place in places] == sorted(place["x"] for place in places), (out, places)
