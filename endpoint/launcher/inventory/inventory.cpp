#include "endpoint/launcher/inventory/inventory.hpp"

#include "lib/link/interface.hpp"
#include "lib/link/link_error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <hwloc.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

namespace tributary::launch::inventory {

namespace {

struct Destroyed {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, Destroyed>;

std::uint32_t count(hwloc_topology_t topology, hwloc_obj_type_t type) {
  const int number = hwloc_get_nbobjs_by_type(topology, type);
  return number < 0 ? 0 : static_cast<std::uint32_t>(number);
}

/// The first IPv4 address of each interface, by name.
std::map<std::string, std::string> ip_addresses() {
  std::map<std::string, std::string> found;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) {
    return found;
  }
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr != nullptr && each->ifa_addr->sa_family == AF_INET) {
      sockaddr_in address;
      std::memcpy(&address, each->ifa_addr, sizeof address);
      std::array<char, INET_ADDRSTRLEN> text{};
      ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
      found.try_emplace(each->ifa_name, text.data());
    }
  }
  ::freeifaddrs(all);
  return found;
}

std::string_view kind_of(const hwloc_obj& device) {
  switch (device.attr->osdev.type) {
  case HWLOC_OBJ_OSDEV_GPU: return "gpu";
  case HWLOC_OBJ_OSDEV_NETWORK: return "net";
  case HWLOC_OBJ_OSDEV_OPENFABRICS: return "rdma";
  case HWLOC_OBJ_OSDEV_COPROC: return "accelerator";
  default: return {};
  }
}

} // namespace

messages::Machine machine() {
  messages::Machine found;
  hwloc_topology_t made = nullptr;
  if (hwloc_topology_init(&made) != 0) {
    return found;
  }
  const Topology topology(made);
  hwloc_topology_set_io_types_filter(made, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (hwloc_topology_load(made) != 0) {
    return found;
  }
  found.set_packages(count(made, HWLOC_OBJ_PACKAGE));
  found.set_cores(count(made, HWLOC_OBJ_CORE));
  found.set_processors(count(made, HWLOC_OBJ_PU));
  found.set_memory_nodes(count(made, HWLOC_OBJ_NUMANODE));
  found.set_memory_bytes(hwloc_get_root_obj(made)->total_memory);
  if (const hwloc_obj_t package = hwloc_get_obj_by_type(made, HWLOC_OBJ_PACKAGE, 0)) {
    if (const char* const model = hwloc_obj_get_info_by_name(package, "CPUModel")) {
      found.set_processor(model);
    }
  }
  for (hwloc_obj_t device = nullptr;
       (device = hwloc_get_next_osdev(made, device)) != nullptr && found.devices_size() < 256;) {
    if (const std::string_view kind = kind_of(*device); !kind.empty() && device->name != nullptr) {
      found.add_devices(fmt::format("{} {}", kind, device->name));
    }
  }
  return found;
}

std::vector<messages::Interface> interfaces() {
  std::vector<messages::Interface> found;
  const std::map<std::string, std::string> ips = ip_addresses();
  struct if_nameindex* const all = if_nameindex();
  for (const struct if_nameindex* each = all; each != nullptr && each->if_name != nullptr; ++each) {
    const std::string name = each->if_name;
    if (name == "lo") {
      continue;
    }
    messages::Interface interface;
    interface.set_name(name);
    try {
      const link::InterfaceFacts facts = link::interface_facts(name, "taking the inventory");
      const wire::MacAddress& mac = facts.address;
      interface.set_address(fmt::format("{:02x}", fmt::join(mac, ":")));
      interface.set_mtu(facts.mtu);
      interface.set_up(facts.up);
      interface.set_driver(link::interface_driver(name));
      interface.set_speed_mbps(link::interface_speed_mbps(name));
      if (const auto ip = ips.find(name); ip != ips.end()) {
        interface.set_ip(ip->second);
      }
    } catch (const link::LinkError&) {
      continue; // gone since it was listed
    }
    found.push_back(std::move(interface));
  }
  if_freenameindex(all);
  return found;
}

} // namespace tributary::launch::inventory
