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

SteeringChoice choose_steering(const DeviceAbilities& device) {
  if (device.workers <= 1) {
    return {};
  }
  if (device.needs_one_worker) {
    return {.why = "its tags, pauses or classes need all its frames at one worker"};
  }
  if (device.rules_of_kernel && device.ethertype != ipv4_ethertype) {
    return {.why = fmt::format("rules of a kernel interface compare destination addresses only "
                               "of EtherType {:#06x}",
                               ipv4_ethertype)};
  }
  if (!device.too_few_queues.empty()) {
    return {.why = device.too_few_queues};
  }
  if (device.rules_of_kernel) {
    if (device.rule_refused.empty()) {
      return {.how = Steering::rules};
    }
    return {.why = fmt::format("its kernel driver refuses a rule on the destination address ({})",
                               device.rule_refused)};
  }
  const std::string no_hash = hash_refused(device);
  if (no_hash.empty()) {
    return {.how = Steering::hash};
  }
  if (device.rule_refused.empty()) {
    return {.how = Steering::rules};
  }
  return {.why = fmt::format("its driver refuses a rule on the destination address ({}), and {}",
                             device.rule_refused, no_hash)};
}

} // namespace tributary::placement
