// What a switch has reported, as far as it is not in the topology. Plain data.
#pragma once

#include "controlplane/records/wide_frames.hpp"
#include "controlplane/southbound/protocol/port_rates.hpp"
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
  TimeNs heard{};   ///< time of the last message; 0: never
  TimeNs counted{}; ///< when its last counters arrived; 0: never
  std::map<std::uint32_t, control::PortStatistics> ports;
  std::map<std::uint32_t, PortRates> rates; ///< between its last two reports
  std::map<std::uint32_t, control::TreeStatistics> trees;
  std::uint32_t descriptors_in_use = 0;

  /// Descriptors of each of its engines; nothing when they cannot run out: it does not report them,
  /// or has one for every possible reduction.
  [[nodiscard]] std::optional<std::uint32_t> scarce_descriptors() const {
    const std::uint32_t has = limits.descriptors_per_engine();
    return has == 0 || has >= reduction_keys ? std::nullopt : std::optional(has);
  }
  /// The most wide frames that a tree can have there, regardless of other trees in its memory.
  [[nodiscard]] records::WideFrames widest() const {
    constexpr std::uint32_t forms_of_half_floats = 1U << 3U | 1U << 5U;
    const std::uint32_t payload = records::payload_within(limits.wide_payload());
    return payload == records::WideFrames::narrow_payload ||
                   limits.wide_slots() < records::WideFrames::least_slots
               ? records::WideFrames{}
               : records::WideFrames{.slots = records::slots_within(limits.wide_slots()),
                                     .payload = payload,
                                     .half_floats =
                                         (limits.wide_forms() & forms_of_half_floats) != 0};
  }
};

} // namespace tributary::southbound::protocol
