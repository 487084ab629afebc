"""Hosts as namespaces with two interfaces each: one to tributary-switch, one to a plain Linux bridge.

Only for use inside scripts/tributary/isolation.py's world. Host n is called by its address on the
bridge, 10.77.0.<n+1>, which is its namespace's name, too: MPI launchers use it as the host name.
"""

from tributary.network import Network, shell

SWITCH_SIDE, BRIDGE_SIDE = "fabric0", "eth0"
SUBNET, GATEWAY = "10.77.0.0/24", "10.77.0.254"


def host_name(number):
    return f"10.77.0.{number + 1}"


def port_name(number):
    """The switch's end of a host's link."""
    return f"h{number}"


def mac(number):
    """The low 20 bits are the host's NID."""
    return f"02:00:00:00:00:{number + 1:02x}"


def lay(hosts):
    """`hosts` namespaces; the bridge has an address, too, for the launchers here."""
    network = Network()
    shell("ip link add bridge0 type bridge forward_delay 0 && ip link set bridge0 up"
          f" && ip address add {GATEWAY}/24 dev bridge0")
    for number in range(hosts):
        name = network.host(host_name(number))
        network.cable(name, SWITCH_SIDE, None, port_name(number), mac_a=mac(number))
        network.cable(name, BRIDGE_SIDE, None, f"b{number}")
        shell(f"ip link set b{number} master bridge0"
              f" && ip -n {name} address add {name}/24 dev {BRIDGE_SIDE}")
