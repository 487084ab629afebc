"""Exit codes as --help and man pages state them: of every command without a server, and of
refusals."""

import re

from lab import TREE

PORT = ("--switch", "leaf0", "--port", "host0")
# A complete command line for each command of tributaryctl that contacts a server.
OF_A_SWITCH = (
    ("show", "ports"), ("trace",), ("trace", "--follow"), ("capture", "-o", "frames.pcapng"), ("explain", *PORT, "00"),
    ("impair", "show"), ("impair", "set", "--port", "host0", "--loss", "1%"), ("impair", "clear", "--all"), ("reload",),
    ("version",),
)  # fmt: skip
OF_THE_MANAGER = (
    ("fabric", "show", "switches"), ("fabric", "show", "events"), ("fabric", "tree", "draw", "7"),
    ("fabric", "topology"), ("fabric", "rebalance"), ("fabric", "drain", "leaf0"), ("fabric", "undrain", "leaf0"),
    ("fabric", "job", "destroy", "j1"), ("rdma", "show", "peers"),
)  # fmt: skip


def ends(lab, code, *command):
    got, out, err = lab.run(*command)
    assert got == code, f"{command} ended with {got} and not {code}: {out}{err}"
    assert err.strip(), f"{command} ended with {code} and did not say why"
    return err


def stated(lab, *command):
    """The codes that --help states."""
    _, out, _ = lab.run(*command, "--help")
    text = re.split(r"exit codes?:?", out, flags=re.IGNORECASE)[-1]
    return {int(one) for one in re.findall(r"(?:^|[,;:\s])([0-9]{1,3})\b(?!%)", text)}


def test_no_server_at_the_socket_or_the_address_is_1(lab):
    lab.need(lab.binaries.ctl)
    ctl = lab.binaries.ctl
    for command in OF_A_SWITCH:
        assert "/run/none.sock" in ends(lab, 1, ctl, "--socket", "/run/none.sock", *command)
        assert {0, 1, 2} <= stated(lab, ctl, *command), command
    for command in OF_THE_MANAGER:
        assert "/run/none.sock" in ends(lab, 1, ctl, *command, "--manager", "unix:/run/none.sock")
        assert {0, 1, 2} <= stated(lab, ctl, *command), command


def test_what_a_switch_refuses_is_1_and_what_cannot_be_asked_2(lab):
    lab.star(1)
    switch = lab.start()
    ctl = (lab.binaries.ctl, "--socket", switch.socket)
    refused = (
        ("show", "ports", "--switch", "leaf9"), ("capture", "--switch", "leaf9", "-o", "-"),
        ("explain", "--switch", "leaf0", "--port", "host9", "00"), ("explain", *PORT, "0"),
        ("impair", "set", "--port", "host9", "--loss", "1%"),
    )  # fmt: skip
    for command in refused:
        ends(lab, 1, *ctl, *command)
    usage = (
        ("show", "prots"), ("show", "ports", "--port", "host0"), ("explain", *PORT, "what"), ("trace", "off", "--drops"),
        ("capture", "--port", "host0", "-o", "-"), ("impair", "set", "--port", "host0", "--kinds", "foo"),
        ("fabric", "tree", "draw", "x"), ("capture", "--tree", "8192", "-o", "-"),
        ("capture", "--kind", "rdma", "--cookie", str(TREE), "-o", "-"), ("impair", "set", "--port", "host0", "--loss", "2"),
    )  # fmt: skip
    for command in usage:
        ends(lab, 2, *ctl, *command)
    assert switch.alive()


def test_every_program_ends_with_2_where_its_file_or_command_line_is_wrong(lab):
    broken = lab.file("broken.toml", "[process\n")
    programs = (
        (lab.binaries.switch, "--config", broken), (lab.binaries.fabricd, "--config", broken),
        (lab.binaries.pktgen, "run", broken), (lab.binaries.host, "--rank", "many"), (lab.binaries.ctl, "frobnicate"),
    )  # fmt: skip
    for program in programs:
        lab.need(program[0])
        ends(lab, 2, *program)
        assert 2 in stated(lab, program[0]), program
