#include "dataplane/placement/port_steering.hpp"

#include "dataplane/placement/tree_hash.hpp"

#include <fmt/format.h>

namespace tributary::placement {
namespace {

/// Why the device's hash cannot be the bucket; empty: it can.
std::string hash_refused(const DeviceAbilities& device) {
  if (device.ethertype != ipv4_ethertype) {
    return fmt::format("its hash takes only EtherType {:#06x} for IPv4", ipv4_ethertype);
  }
  if (!device.hashes_ipv4_addresses) {
    return "it has no hash over IPv4 addresses";
  }
  if (device.key_bytes < fewest_key_bytes) {
    return "the key of its hash cannot be set";
  }
  if (device.table_entries < fewest_table_entries) {
    return fmt::format("its indirection table has {} entries, and {} are needed",
                       device.table_entries, fewest_table_entries);
  }
  return {};
}

} // namespace

SteeringChoice rule_out(const DeviceAbilities& device) {
  if (device.workers <= 1) {
    return {};
  }
  if (device.needs_one_worker) {
    return {Steering::hand_over, "its queues or impairments need all its frames at one worker"};
  }
  if (device.most_receive_queues < device.workers) {
    return {Steering::hand_over,
            fmt::format("the device has {} receive queue{}, and {} workers need one each",
                        device.most_receive_queues, device.most_receive_queues == 1 ? "" : "s",
                        device.workers)};
  }
  return {Steering::rules, {}};
}

SteeringChoice choose_steering(const DeviceAbilities& device) {
  SteeringChoice choice = rule_out(device);
  if (choice.how == Steering::hand_over || device.rule_refused.empty()) {
    return choice;
  }
  const std::string no_rules =
      fmt::format("the driver refuses a rule on the destination address ({})", device.rule_refused);
  const std::string no_hash = hash_refused(device);
  if (no_hash.empty()) {
    return {Steering::hash, no_rules};
  }
  return {Steering::hand_over, fmt::format("{}, and {}", no_rules, no_hash)};
}

} // namespace tributary::placement
