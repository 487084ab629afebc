// What the engines of one worker must hold, by the events the core reports: an account that knows
// nothing of descriptors. Every frame an engine emits must carry exactly the contributions that
// were absorbed since its arm, counts and signatures alike: none lost, none twice.
#pragma once

#include "dataplane/core/switch_core.hpp"
#include "tributary/wire/reduction.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <map>
#include <span>
#include <string>

namespace tributary::fabric {

class EngineLedger {
public:
  /// Enters what the core did with a frame. `before` is the frame as it came, `after` as it left.
  /// Says what does not add up, or nothing.
  std::string enter(core::Event event, std::span<const std::byte> before,
                    std::span<const std::byte> after) {
    switch (event) {
    case core::Event::armed:
    case core::Event::rearmed:
    case core::Event::disarmed: held_.erase(key_of(before)); return {};
    case core::Event::contributed: add(before); return {};
    case core::Event::completed_full: add(before); return settle(after);
    case core::Event::emitted_partial: return settle(after);
    default: return {};
    }
  }
  void clear() { held_.clear(); }

  /// Whether the core's descriptors hold just that. Says what does not add up, or nothing.
  [[nodiscard]] std::string compare(const core::SwitchCore& core) const {
    std::string fault;
    std::size_t holding = 0;
    core.for_each_descriptor([&](const core::DescriptorView& d) {
      if (!d.have_data) {
        return;
      }
      ++holding;
      const auto found = held_.find(d.key.index());
      const Held held = found == held_.end() ? Held{} : found->second;
      if (d.count != held.contributions ||
          d.signature != (held.signatures & wire::signature_mask)) {
        fault =
            fmt::format("the descriptor of tree {}/{} holds {} contributions, but absorbed {}",
                        d.key.tree().value, d.key.reduction().value, d.count, held.contributions);
      }
    });
    if (fault.empty() && holding != held_.size()) {
      fault = fmt::format("{} descriptors hold something, where {} absorbed something and emitted "
                          "nothing",
                          holding, held_.size());
    }
    return fault;
  }

private:
  struct Held {
    std::uint64_t contributions = 0;
    std::uint64_t signatures = 0;
  };
  static const std::byte* portals(std::span<const std::byte> frame) {
    return frame.data() + wire::ethernet_header_bytes;
  }
  static std::uint16_t key_of(std::span<const std::byte> frame) {
    const wire::FabricAddress dfa = wire::dfa_of(portals(frame));
    return ReductionKey(dfa.tree(), dfa.reduction()).index();
  }
  void add(std::span<const std::byte> frame) {
    Held& held = held_[key_of(frame)];
    held.contributions += wire::load_word(portals(frame)).count;
    held.signatures += wire::signature_of(portals(frame));
  }
  std::string settle(std::span<const std::byte> emitted) {
    const Held held = held_[key_of(emitted)];
    held_.erase(key_of(emitted));
    const auto count = wire::load_word(portals(emitted)).count;
    const auto signature = wire::signature_of(portals(emitted));
    if (count != held.contributions || signature != (held.signatures & wire::signature_mask)) {
      return fmt::format("emitted {} contributions of signature {:x}, but absorbed {} of {:x}",
                         count, signature, held.contributions,
                         held.signatures & wire::signature_mask);
    }
    return {};
  }

  std::map<std::uint16_t, Held> held_; ///< by reduction key
};

} // namespace tributary::fabric
