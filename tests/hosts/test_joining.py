"""docs/guide/host-library.md, "Trying it without a program": root joins over the manager's Unix socket as it says there."""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

from test_fabric_manager import JOB, Fabric
from tributary.network import wait_until

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "host-library.md"
SIZE = 4


def documented_command():
    text = PAGE.read_text(encoding="utf-8")
    block = re.search(r"With a fabric manager:\n\n<!--.*-->\n```sh\n((?:.*\n)+?)```", text)
    assert block, "the page has lost its command"
    words = shlex.split(block[1].replace("\\\n", " "))
    assert words[0] == "tributary-host" and "--job" not in words and "--token-file" not in words, words
    return words


class Members(Fabric):
    """Root's own programs, on the manager's usual socket."""

    def __init__(self, lab):
        self.command = documented_command()
        url = self.command[self.command.index("--manager") + 1]
        Path(url.removeprefix("unix:")).parent.mkdir(exist_ok=True)
        super().__init__(lab, rest={"listen": [f"unix:{lab.place}/fabricd.sock", url]})
        assert os.geteuid() == 0

    def join(self, **environment):
        """(exit code, output, errors) of each."""
        words = [str(self.lab.binaries.host), *self.command[1:], "--operations", "20", "--json"]
        words[words.index("--size") + 1] = str(SIZE)
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("TRIBUTARY_", "FI_CXI_"))}
        members = []
        for rank in range(SIZE):
            words[words.index("--rank") + 1] = str(rank)
            members.append(subprocess.Popen(
                ["ip", "netns", "exec", f"h{rank}", *words], env={**clean, **environment},
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            ))  # fmt: skip
        ends = [member.communicate(timeout=200) for member in members]
        return [(member.returncode, *end) for member, end in zip(members, ends, strict=True)]

    def works(self, job, **environment):
        for code, out, err in self.join(**environment):
            assert code == 0, out + err
            report = json.loads(out)
            assert report["wrong"] == 0 and report["iterations"] == 20
        wait_until(lambda: not self.manager.list("groups"), "the group is gone")
        events = self.manager.get("/api/v1/events?follow=false")[1]["events"]
        assert {event["job"] for event in events if event["event"] == "group"} == {job}

    def is_refused(self, reason, **environment):
        for code, out, err in self.join(**environment):
            assert code != 0 and re.search(reason, err), f"{code} {out} {err}"
        assert not self.manager.list("groups"), "a member that was refused is in no group"


def test_root_joins_over_the_unix_socket_as_the_guide_says(lab):
    fabric = Members(lab)
    token = fabric.manager.ctl_text("job", "create", "j1").strip()
    fabric.works("j1", TRIBUTARY_FABRIC_MANAGER_TOKEN=token)
    fabric.works("j1", TRIBUTARY_FABRIC_MANAGER_TOKEN=token, TRIBUTARY_JOB_ID="j1")
    fabric.works("j1", TRIBUTARY_JOB_ID="j1")


def test_root_over_the_unix_socket_has_the_role_of_its_token(lab):
    fabric = Members(lab)
    fabric.is_refused('an administrator must name the "job"')
    fabric.is_refused("unknown|no job's", TRIBUTARY_FABRIC_MANAGER_TOKEN="made-up", TRIBUTARY_JOB_ID=JOB)
    other = fabric.manager.ctl_text("job", "create", "other").strip()
    fabric.is_refused('job "other"\'s', TRIBUTARY_FABRIC_MANAGER_TOKEN=other, TRIBUTARY_JOB_ID=JOB)


def test_a_member_without_a_manager_says_what_it_waits_for(lab):
    lab.star(1)
    lab.need(lab.binaries.host)
    child = subprocess.run(
        ["ip", "netns", "exec", "h0", str(lab.binaries.host), "--interface", "eth0", "--group", "g", "--rank", "0", "--size",
         "2", "--wait", "5s", "--manager", "unix:/run/none.sock"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert child.returncode == 1, child.stderr
    assert "is not joined after 3 s; waiting for the fabric manager (unix:/run/none.sock)" in child.stderr, child.stderr
