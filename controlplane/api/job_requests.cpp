#include "controlplane/api/job_requests.hpp"

#include "controlplane/api/json_body.hpp"
#include "controlplane/api/request_error.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <limits>
#include <set>

namespace tributary::api {

namespace json = boost::json;

namespace {

constexpr std::uint64_t most_counted = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t max_bytes = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t most_interfaces = 256;
constexpr std::size_t most_devices = 256;

const json::object& object_of(const json::value& value, std::string_view what) {
  const json::object* const object = value.if_object();
  if (object == nullptr) {
    throw RequestError(fmt::format("\"{}\" must have objects, not {}", what, shown(value)));
  }
  return *object;
}

void at_most(const json::array& list, std::string_view what, std::size_t most) {
  if (list.size() > most) {
    throw RequestError(
        fmt::format("\"{}\" must have at most {} entries, not {}", what, most, list.size()));
  }
}

std::uint32_t count_of(const Fields& fields, std::string_view name) {
  return static_cast<std::uint32_t>(fields.number(name, 0, most_counted).value_or(0));
}

bool flag_or_false(const Fields& fields, std::string_view name) {
  if (!fields.has(name)) {
    return false;
  }
  const json::value& value = fields.required(name);
  if (!value.is_bool()) {
    throw RequestError(fmt::format("\"{}\" must be true or false, not {}", name, shown(value)));
  }
  return value.get_bool();
}

/// A text field of the node itself, which may be empty.
std::string text_of(const Fields& fields, std::string_view name) {
  if (!fields.has(name)) {
    return {};
  }
  const json::value& value = fields.required(name);
  if (value.is_string() && value.get_string().empty()) {
    return {};
  }
  return fields.required_name(name);
}

job::Interface interface_of(const Fields& fields) {
  return {.name = fields.required_name("name"),
          .address = text_of(fields, "address"),
          .mtu = count_of(fields, "mtu"),
          .up = flag_or_false(fields, "up"),
          .driver = text_of(fields, "driver"),
          .speed_mbps = count_of(fields, "speed_mbps")};
}

job::NodeInventory inventory_of(const Fields& fields) {
  job::NodeInventory node;
  node.host = text_of(fields, "host");
  node.packages = count_of(fields, "packages");
  node.cores = count_of(fields, "cores");
  node.processors = count_of(fields, "processors");
  node.memory_nodes = count_of(fields, "memory_nodes");
  node.memory_bytes = fields.number("memory_bytes", 0, max_bytes).value_or(0);
  node.processor = text_of(fields, "processor");
  if (const json::array* const devices = fields.list("devices")) {
    at_most(*devices, "devices", most_devices);
    for (const json::value& device : *devices) {
      if (!device.is_string()) {
        throw RequestError(fmt::format("\"devices\" must have texts, not {}", shown(device)));
      }
      const std::string name(device.get_string());
      check_name("a device", name);
      node.devices.push_back(name);
    }
  }
  if (const json::array* const interfaces = fields.list("interfaces")) {
    at_most(*interfaces, "interfaces", most_interfaces);
    for (const json::value& interface : *interfaces) {
      node.interfaces.push_back(interface_of(Fields(object_of(interface, "interfaces"))));
    }
  }
  return node;
}

} // namespace

AllocationRequest allocation_request(const json::object& body) {
  const Fields fields(body);
  AllocationRequest request;
  request.job = fields.required_name("job");
  request.exists = flag_or_false(fields, "exists");
  if (const auto limit = fields.number("mcast_limit", 0, max_trees)) {
    request.multicast_limit = static_cast<std::uint32_t>(*limit);
  }
  request.interface = text_of(fields, "interface");
  request.lease_seconds = static_cast<std::uint32_t>(
      fields.number("lease_seconds", 0, AllocationRequest::longest_lease_seconds).value_or(0));
  const json::array& nodes = fields.required_list("nodes");
  at_most(nodes, "nodes", AllocationRequest::most_nodes);
  if (nodes.empty()) {
    throw RequestError("\"nodes\" must have at least one");
  }
  std::set<std::string> names;
  std::set<std::uint32_t> ranks;
  for (const json::value& each : nodes) {
    const Fields of_node(object_of(each, "nodes"));
    AllocationRequest::Node& node = request.nodes.emplace_back();
    node.name = of_node.required_name("name");
    if (!names.insert(node.name).second) {
      throw RequestError(fmt::format("node \"{}\" occurs twice", node.name));
    }
    for (const json::value& rank : of_node.required_list("ranks")) {
      json::error_code error;
      const auto number = rank.to_number<std::uint32_t>(error);
      if (error || number >= AllocationRequest::most_ranks || !ranks.insert(number).second) {
        throw RequestError(fmt::format(
            "\"ranks\" of node \"{}\" must be numbers below {}, each of one node, not {}",
            node.name, AllocationRequest::most_ranks, shown(rank)));
      }
      node.ranks.push_back(number);
    }
    node.inventory = inventory_of(Fields(of_node.required_object("inventory")));
  }
  return request;
}

NodeReport node_report(const std::string& name, const json::object& body) {
  check_name("the node in the path", name);
  const Fields fields(body);
  return {.name = name, .job = fields.name("job").value_or(""), .inventory = inventory_of(fields)};
}

json::object json_of(const job::NodeInventory& node) {
  json::array interfaces;
  for (const job::Interface& each : node.interfaces) {
    interfaces.push_back({{"name", each.name},
                          {"address", each.address},
                          {"mtu", each.mtu},
                          {"up", each.up},
                          {"driver", each.driver},
                          {"speed_mbps", each.speed_mbps}});
  }
  return {{"host", node.host},
          {"packages", node.packages},
          {"cores", node.cores},
          {"processors", node.processors},
          {"memory_nodes", node.memory_nodes},
          {"memory_bytes", node.memory_bytes},
          {"processor", node.processor},
          {"devices", json::array(node.devices.begin(), node.devices.end())},
          {"interfaces", std::move(interfaces)}};
}

} // namespace tributary::api
