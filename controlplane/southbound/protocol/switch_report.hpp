// What a switch has said of itself, as far as it is not in the topology. Plain data.
#pragma once

#include "controlplane/transaction/subject.hpp"
#include "tributary/control.pb.h"
#include "tributary/types.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace tributary::southbound::protocol {

struct SwitchReport {
  transaction::SessionNumber session;
  bool connected = false;
  control::Limits limits;
  std::string software;
  TimeNs heard{}; ///< the last time; 0: never
  std::map<std::uint32_t, control::PortStatistics> ports;
  std::map<std::uint32_t, control::TreeStatistics> trees;
  std::uint32_t descriptors_in_use = 0;

  /// The descriptors of each of its engines; nothing when they can never be short: it says
  /// nothing, or has one for every reduction there can be.
  [[nodiscard]] std::optional<std::uint32_t> scarce_descriptors() const {
    const std::uint32_t has = limits.descriptors_per_engine();
    return has == 0 || has >= reduction_keys ? std::nullopt : std::optional(has);
  }
};

} // namespace tributary::southbound::protocol
