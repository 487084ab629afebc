"""Hosts behind a bridge that is a wire: one host on one side, a port of a switch on the other. As
docs/operate/where-the-switch-goes.md has it."""

from test_fabric_manager import Fabric
from tributary.network import wait_until

MAC = "02:00:00:00:00:{:02x}"


def put_behind_a_bridge(lab, number):
    """Puts a bridge between eth0 of this host and its port; hellos do not pass it."""
    name = f"h{number}"
    for words in ("set eth0 down", "set eth0 name outside", "set outside address 02:00:00:00:ff:01",
                  f"add eth0 address {MAC.format(number + 1)} type veth peer name inside",
                  "add wire type bridge mcast_snooping 0", "set outside master wire", "set inside master wire",
                  "set outside up", "set inside up", "set eth0 up", "set wire up"):  # fmt: skip
        lab.sh(f"ip -n {name} link {words}")


def let_hellos_pass(lab, number):
    lab.sh(f"ip -n h{number} link set wire type bridge group_fwd_mask 0x4000")


def test_a_member_behind_a_bridge_is_waited_for_until_hellos_pass_and_then_reduces(lab):
    fabric = Fabric(lab)
    put_behind_a_bridge(lab, 1)
    hosts = fabric.start_hosts("across", 300, "--elements", "3000")
    wait_until(lambda: len(fabric.manager.list("hosts")) == 3, "the manager finds the hosts without a bridge")
    waits = "waits for the host of 1 member, which no switch has learned of"
    wait_until(lambda: waits in fabric.group("across")["text"], "the group says for whom it waits")
    let_hellos_pass(lab, 1)
    assert all(report["iterations"] == 300 for report in fabric.finish(hosts))
    assert len(fabric.manager.list("hosts")) == 4


def test_a_root_behind_a_bridge_reduces(lab):
    fabric = Fabric(lab)
    put_behind_a_bridge(lab, 0)
    let_hellos_pass(lab, 0)
    fabric.finish(fabric.start_hosts("root", 300))
