"""The next job is prepared while the one before it runs."""

from concurrent.futures import ThreadPoolExecutor

from background import Background
from pool import finish


class Ahead:
    def __init__(self, job, on_line):
        """`on_line` receives progress once a caller waits."""
        self._background = Background()
        self._pool = ThreadPoolExecutor(1)
        show = lambda line: on_line(line) if self._background.hurried else None  # noqa: E731
        self._done = self._pool.submit(job.prepare, self._background, show)

    def finish(self):
        """Waits, at normal priority from now on; raises what the preparation raised."""
        self._background.hurry()
        with self._pool:
            finish(self._pool, [self._done])
