// What is to leave by one port: frames are collected here and sent in bursts, at the latest at the
// end of the worker's iteration. Belongs to the port's worker.
//
// A frame the port does not take is dropped and counted for this port: `port_down`,
// `transmit_full`, or `impaired`.
#pragma once

#include "dataplane/core/counters.hpp"
#include "dataplane/port/impairment_stage.hpp"
#include "dataplane/port/port_device.hpp"
#include "tributary/types.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>

namespace tributary::dataplane {

class OutputQueue {
public:
  static constexpr std::uint16_t capacity = 32;

  /// `impairment` may be null.
  OutputQueue(PortDevice& device, PortNumber number, core::Counters& counters,
              std::unique_ptr<ImpairmentStage> impairment)
      : device_(device), number_(number), counters_(counters), impairment_(std::move(impairment)) {}

  /// Takes the frames.
  void push(rte_mbuf* const* frames, std::uint16_t count, TimeNs now) {
    while (count != 0) {
      const auto taken = std::min(count, static_cast<std::uint16_t>(capacity - count_));
      std::copy_n(frames, taken, frames_.begin() + count_);
      frames += taken;
      count = static_cast<std::uint16_t>(count - taken);
      count_ = static_cast<std::uint16_t>(count_ + taken);
      if (count_ == capacity) [[unlikely]] {
        flush(now);
      }
    }
  }
  /// Sends what is collected, and what an impairment held back until now.
  void flush(TimeNs now) {
    if (impairment_) [[unlikely]] {
      flush_impaired(now);
    } else if (count_ != 0) {
      send();
    }
  }
  [[nodiscard]] TimeNs next_due() const { return impairment_ ? impairment_->next_due() : never; }
  /// While paused everything is dropped as `port_down`: the device may be gone.
  void pause(bool paused) { paused_ = paused; }

private:
  void flush_impaired(TimeNs now);
  void send();
  void drop(std::uint16_t from, core::DropReason reason);

  PortDevice& device_;
  PortNumber number_;
  core::Counters& counters_;
  std::unique_ptr<ImpairmentStage> impairment_;
  bool paused_ = false;
  std::uint16_t count_ = 0;
  std::array<rte_mbuf*, capacity> frames_{};
};

} // namespace tributary::dataplane
