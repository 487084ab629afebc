"""`scripts/demo --view`: the page of the kept fabric's manager, for a browser of this machine.

The listening socket is made here; a process in the fabric's network namespace passes each
connection on to the manager, which gives callers without a token read access only (`open_view`).
"""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys

PORT = 7580  # of the manager's address inside, and by default of the one outside


def serve(pid, port):
    """Runs until Ctrl-C; returns the exit code. `pid` is a process of the fabric's world; port 0:
    any free port."""
    try:
        listener = socket.create_server(("127.0.0.1", port))
    except OSError as why:
        print(f"demo: cannot listen at 127.0.0.1:{port}: {why.strerror}; --view PORT takes another port",
              file=sys.stderr)  # fmt: skip
        return 1
    listener.set_inheritable(True)
    forwarder = subprocess.Popen(
        ["nsenter", "--target", str(pid), "--net", "--", sys.executable, __file__, str(listener.fileno())],
        close_fds=False, start_new_session=True,
    )  # fmt: skip
    print(f"demo: http://127.0.0.1:{listener.getsockname()[1]}/ until Ctrl-C", flush=True)
    listener.close()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = forwarder.wait()
        # Otherwise it has reported the cause itself, such as missing permission to enter.
        print("demo: the fabric has ended" if code == 0 else "demo: the page cannot be passed on", file=sys.stderr)
        return code
    except KeyboardInterrupt:
        forwarder.terminate()
        forwarder.wait()
        return 0


async def _pump(reader, writer):
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.close()


async def _pass_on(reader, writer):
    try:
        there, to_there = await asyncio.open_connection("127.0.0.1", PORT)
    except OSError:
        writer.close()
        return
    await asyncio.gather(_pump(reader, to_there), _pump(there, writer))


async def _forward(descriptor):
    listener = socket.socket(fileno=descriptor)
    server = await asyncio.start_server(_pass_on, sock=listener)
    # Ends with the fabric: no other process has the manager's address.
    while True:
        await asyncio.sleep(1)
        try:
            _, probe = await asyncio.open_connection("127.0.0.1", PORT)
            probe.close()
        except OSError:
            server.close()
            return


if __name__ == "__main__":
    asyncio.run(_forward(int(sys.argv[1])))
    os._exit(0)  # connections that are still open have no peer left
