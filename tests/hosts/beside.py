"""A background task of a test, in its own thread; its failure fails the test.

    with Beside(traffic, stop.set):     # `stop.set` ends an endless task
        ...
"""

import threading


class Beside:
    LONGEST_SECONDS = 200

    def __init__(self, work, end=lambda: None):
        self.end = end
        self.failure = None

        def run():
            try:
                work()
            except BaseException as failure:  # any exception: it is raised when the thread is
                                              # joined
                self.failure = failure

        self.thread = threading.Thread(target=run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, *_):
        self.end()
        self.thread.join(self.LONGEST_SECONDS)
        if kind is None:
            assert not self.thread.is_alive(), f"what went on beside has not ended after {self.LONGEST_SECONDS} s"
            if self.failure is not None:
                raise self.failure
