"""A program of an ordinary user on a node with a host agent: does what its standard input says, a line
of JSON each, and answers in one. Knows nothing of Tributary but the agent's socket; test_host_agent.py
runs it as another user, who cannot read this tree.

    {"do": "open", "path": "/run/...", "request": {...}}    gets a socket
    {"do": "declare", "path": "/run/...", "request": {...}} keeps the connection, and with it a job that is attached
    {"do": "try", "what": "mark"}                           one of `tries`
    {"do": "send", "frame": "02fe...", "to": "eth1"}        the kernel writes the header; absent `to`: where it is bound
    {"do": "bind", "to": "eth1", "ethertype": 3}
    {"do": "bypass", "on": 1}
    {"do": "waiting"}                                       the frames that have arrived, without their headers
    {"do": "hand_on", "path": "/run/..."}                   gives the socket to another program, which does
    {"do": "take_over", "path": "/run/..."}
"""

import errno
import json
import os
import socket
import struct
import sys

SO_MARK, SO_ATTACH_FILTER, SO_DETACH_FILTER, SO_LOCK_FILTER = 36, 26, 27, 44
SOL_PACKET, PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC, PACKET_QDISC_BYPASS, PACKET_VNET_HDR = 263, 1, 1, 20, 15
opened = None
held = []


def own_socket():
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)


def mark():
    opened.setsockopt(socket.SOL_SOCKET, SO_MARK, 0)


def mark_of_message():
    opened.sendmsg([b"\0" * 60], [(socket.SOL_SOCKET, SO_MARK, struct.pack("I", 0))])


def detach_filter():
    opened.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)


def unlock_filter():
    opened.setsockopt(socket.SOL_SOCKET, SO_LOCK_FILTER, 0)


def attach_filter():
    import ctypes

    everything = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0xFFFFFFFF))  # BPF_RET | BPF_K
    opened.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HxxxxxxP", 1, ctypes.addressof(everything)))


def promiscuous():
    index = struct.pack("IHH8s", socket.if_nametoindex("other0"), PACKET_MR_PROMISC, 0, b"")
    opened.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, index)


def have_the_kernel_change_frames():
    """A checksum that it writes, after the guard has looked, where the program wants it."""
    opened.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)


tries = {
    f.__name__: f
    for f in (own_socket, mark, mark_of_message, detach_filter, unlock_filter, attach_filter, promiscuous,
              have_the_kernel_change_frames)
}  # fmt: skip


def ask(path, request):
    """The answer, the socket if there is one, and the connection."""
    agent = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    agent.settimeout(30)
    agent.connect(path)
    agent.sendall(json.dumps(request).encode() + b"\n")
    text, descriptors = b"", []
    while not text.endswith(b"\n"):
        part, more, _, _ = socket.recv_fds(agent, 65536, 4)
        if not part:
            break
        text, descriptors = text + part, descriptors + more
    return json.loads(text), descriptors, agent


def do(step):
    global opened
    if step["do"] == "open":
        answer, descriptors, agent = ask(step["path"], step["request"])
        agent.close()
        if descriptors:
            opened = socket.socket(fileno=descriptors[0])
            held.append(opened)
        return answer
    if step["do"] == "declare":
        answer, _, agent = ask(step["path"], step["request"])
        held.append(agent)
        return answer
    if step["do"] == "try":
        tries[step["what"]]()
    elif step["do"] == "send":
        frame = bytes.fromhex(step["frame"])
        to = step.get("to") or opened.getsockname()[0]
        opened.sendto(frame[14:], (to, int.from_bytes(frame[12:14], "big"), 0, 0, frame[:6]))
    elif step["do"] == "bind":
        opened.bind((step["to"], step.get("ethertype", 0x88B5)))
    elif step["do"] == "bypass":
        opened.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, step["on"])
    elif step["do"] == "hand_on":
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as here:
            here.bind(step["path"] + ".new")
            os.chmod(step["path"] + ".new", 0o666)
            here.listen()
            os.rename(step["path"] + ".new", step["path"])
            with here.accept()[0] as there:
                socket.send_fds(there, [b"."], [opened.fileno()])
    elif step["do"] == "take_over":
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as there:
            there.connect(step["path"])
            opened = socket.socket(fileno=socket.recv_fds(there, 1, 1)[1][0])
            held.append(opened)
    elif step["do"] == "waiting":
        frames = []
        while True:
            try:
                frames.append(opened.recv(65536, socket.MSG_DONTWAIT).hex())
            except BlockingIOError:
                return frames
    elif step["do"] == "who":
        return os.getuid()
    else:
        raise ValueError(step)
    return "done"


for line in sys.stdin:
    try:
        said = do(json.loads(line))
    except OSError as error:
        said = errno.errorcode.get(error.errno, str(error))
    print(json.dumps(said), flush=True)
