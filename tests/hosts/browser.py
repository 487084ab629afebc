"""Headless Chromium, in the test's own world, through chromedriver (W3C WebDriver).

    browser = Browser(lab)                        skips the test without Chromium
    browser.open("http://127.0.0.1:7580/")
    browser.run("return document.title")          JavaScript
    browser.wait(lambda: browser.text("#stream") == "live", "the page is live")
    browser.click("#login")
    browser.screenshot("a-cut-link")              kept: see Lab.artefact
"""

import base64
import http.client
import json
import shutil
import signal
import subprocess

from tributary.cases import Skip
from tributary.network import wait_until

PORT = 9515
TIMEOUT_SECONDS = 60
SCRIPT_SECONDS = 120


class Browser:
    def __init__(self, lab, width=1400, height=900):
        for program in ("chromium", "chromedriver"):
            if not shutil.which(program):
                raise Skip(f"{program} is not here; scripts/setup installs it")
        self.lab = lab
        home = lab.place / "chromium"
        home.mkdir()
        self.log = lab.place / "chromedriver.log"
        with self.log.open("wb") as log:
            self.driver = subprocess.Popen(
                ["chromedriver", f"--port={PORT}"], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                env={"HOME": str(home), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR": str(home)},
            )
        lab.browsers.append(self)
        wait_until(self._answers, "chromedriver answers", TIMEOUT_SECONDS)
        options = {
            # Everything runs as root here, and nothing is to be fetched from elsewhere.
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync",
                     "--disable-extensions", "--disable-default-apps", "--mute-audio",
                     f"--user-data-dir={home}/profile", f"--window-size={width},{height}"],
        }  # fmt: skip
        timeout = {"script": SCRIPT_SECONDS * 1000, "pageLoad": SCRIPT_SECONDS * 1000}
        capabilities = {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options, "timeouts": timeout,
                                        "goog:loggingPrefs": {"browser": "ALL"}}}  # fmt: skip
        self.session = self._ask("POST", "/session", {"capabilities": capabilities})["sessionId"]

    def _answers(self):
        try:
            return self._ask("GET", "/status")["ready"]
        except OSError:
            return False

    def _ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=2 * SCRIPT_SECONDS)
        try:
            text = json.dumps(body) if body is not None else None
            connection.request(method, path, text, {"Content-Type": "application/json"} if text else {})
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value and "stacktrace" in value:
            raise RuntimeError(f"{method} {path}: {value['error']}: {value['message']}")
        return value

    def _do(self, path, body=None):
        return self._ask("POST", f"/session/{self.session}{path}", body or {})

    def open(self, url):
        self._do("/url", {"url": url})

    def run(self, script, *arguments):
        """The script's `return`."""
        return self._do("/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        """The result of the script, an async function of `args`."""
        text = f"""const [args, done] = [[...arguments].slice(0, -1), arguments[arguments.length - 1]];
            (async () => {{ {script} }})().then((value) => done({{value}}), (error) => done({{error: String(error)}}));"""
        result = self._do("/execute/async", {"script": text, "args": list(arguments)})
        assert "error" not in result, result["error"]
        return result["value"]

    def devtools(self, command, **parameters):
        return self._do("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def text(self, selector):
        """Text of the first such element; "" without one."""
        return self.run("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def count(self, selector):
        return self.run("return document.querySelectorAll(arguments[0]).length", selector)

    def data(self, name):
        """A data-NAME of the drawing."""
        return self.run("return document.querySelector('#fabric').dataset[arguments[0]] ?? ''", name)

    def click(self, selector):
        """Immediately, wherever it is: a list may be rebuilt between locating an element and
        clicking there."""
        assert self.run("const one = document.querySelector(arguments[0]); one?.click(); return Boolean(one)", selector), (
            f"no {selector}"
        )

    def wait(self, condition, what, seconds=TIMEOUT_SECONDS):
        try:
            wait_until(condition, what, seconds)
        except TimeoutError as late:
            raise AssertionError(f"{late}; the page says:\n{self.page_text()}\nthe browser complains: {self.complaints()}") from None

    def page_text(self):
        return self.run("return document.body.innerText")

    def complaints(self):
        """Errors that the browser has logged since the last call: of scripts, and of the page's
        policy."""
        entries = self._do("/se/log", {"type": "browser"})
        errors = [entry["message"] for entry in entries if entry["level"] == "SEVERE"]
        return [error for error in errors if "Failed to load resource" not in error]  # blocked
                                                                                      # requests

    def screenshot(self, name):
        image = self._ask("GET", f"/session/{self.session}/screenshot")
        path = self.lab.artefact(f"{name}.png")
        path.write_bytes(base64.b64decode(image))
        print(f"screenshot: {path}")

    def close(self):
        """Ends it and its browser; any remains end with the test's world."""
        if self.driver.poll() is None:
            self.driver.send_signal(signal.SIGTERM)
            try:
                self.driver.wait(10)
            except subprocess.TimeoutExpired:
                self.driver.kill()
                self.driver.wait()
