"""Waits for jobs of a thread pool so that Ctrl-C works, and leaves nothing running."""

from concurrent.futures import FIRST_COMPLETED, wait

import processes


def finish(pool, jobs):
    """Waits until all are done. An exception, of a job or an interruption, ends what the others
    started."""
    pending = set(jobs)
    try:
        while pending:
            # In slices: an unlimited wait does not see signals.
            done, pending = wait(pending, timeout=0.5, return_when=FIRST_COMPLETED)
            for job in done:
                job.result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        processes.stop_all()
        raise
