"""A daemon as a child process, of whatever kind: started, waited for until it answers, and ended."""

import signal
import subprocess

from tributary.network import wait_until


class StartFailed(Exception):
    """The text is the daemon's output."""


class Daemon:
    """A kind of daemon has `log`, the path of the file for what it prints, and `_answers()`."""

    killed = False

    def run(self, command, what, log_mode="ab"):
        """Starts it and waits until it answers; `what` is waited for, as a message says it."""
        with self.log.open(log_mode) as log:
            self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_until(self._lives_and_answers, what, 60)
        except TimeoutError as late:
            self.kill()
            raise StartFailed(f"{late}\n{self.log_text()}") from None

    def _lives_and_answers(self):
        if not self.alive():
            raise StartFailed(f"it ended with exit code {self.child.returncode}:\n{self.log_text()}")
        return self._answers()

    def log_text(self):
        return self.log.read_text(encoding="utf-8", errors="replace")

    def alive(self):
        return self.child.poll() is None

    def stop(self, number=signal.SIGTERM, timeout_seconds=30):
        """Ends it by a signal, SIGTERM as a service manager does; the exit code."""
        if self.alive():
            self.child.send_signal(number)
        return self.child.wait(timeout_seconds)

    def kill(self):
        if self.alive():
            self.killed = True
        return self.stop(signal.SIGKILL)
