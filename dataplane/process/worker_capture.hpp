// A capture over the workers, as the control socket streams it. Main thread only.
#pragma once

#include "dataplane/management/inspector.hpp"
#include "dataplane/worker/capture.hpp"
#include "dataplane/worker/tsc_clock.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tributary::dataplane {

class WorkerCapture final : public management::CaptureSource {
public:
  struct Interface {
    std::size_t switch_index = 0;
    PortNumber port;
    std::string name;
  };

  /// `interfaces` holds every port the capture can yield. The clock outlives the capture.
  WorkerCapture(std::unique_ptr<worker::Capture> capture, const worker::TscClock& clock,
                std::vector<Interface> interfaces)
      : capture_(std::move(capture)), clock_(clock), interfaces_(std::move(interfaces)) {
    for (const Interface& interface : interfaces_) {
      names_.push_back(interface.name);
    }
  }

  [[nodiscard]] const std::vector<std::string>& interfaces() const override { return names_; }

  std::size_t drain(const std::function<void(const management::CapturedPacket&)>& f) override {
    return capture_->drain([&](const worker::CapturedFrame& frame) {
      const auto it = std::find_if(interfaces_.begin(), interfaces_.end(), [&](const auto& i) {
        return i.switch_index == frame.switch_index && i.port == frame.port;
      });
      if (it == interfaces_.end()) {
        return;
      }
      const auto since_epoch = clock_.calendar(frame.time).time_since_epoch();
      f({static_cast<std::uint64_t>(
             std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch).count()),
         static_cast<std::uint32_t>(it - interfaces_.begin()),
         frame.direction == worker::Direction::received, frame.original_length, frame.bytes});
    });
  }

  [[nodiscard]] std::uint64_t missed() const override { return capture_->missed(); }

private:
  std::unique_ptr<worker::Capture> capture_;
  const worker::TscClock& clock_;
  std::vector<Interface> interfaces_;
  std::vector<std::string> names_;
};

} // namespace tributary::dataplane
