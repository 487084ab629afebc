// The window at the sender: every frame is acknowledged, at most `window` are unacknowledged, and
// frames not acknowledged in time are sent again.
#pragma once

#include "bench/rdma/exchange.hpp"

#include <deque>
#include <vector>

namespace tributary::rdma::simulation {

class SenderWindow final : public Scheme {
public:
  explicit SenderWindow(const Transfer& transfer)
      : window_(transfer.window), acknowledged_(transfer.frames()), sent_(transfer.frames()),
        got_(transfer.frames()) {}

  std::optional<std::uint32_t> next() override {
    while (!again_.empty()) {
      const std::uint32_t frame = again_.front();
      again_.pop_front();
      if (!acknowledged_[frame]) {
        return frame;
      }
    }
    return next_ < frames() && next_ < base_ + window_ ? std::optional(next_++) : std::nullopt;
  }
  void sent(Exchange& exchange, std::uint32_t frame) override {
    sent_[frame] = exchange.now();
    exchange.alarm_source(exchange.transfer().timer_ns, frame);
  }
  void heard(Exchange& /*exchange*/, Answer answer) override {
    acknowledged_[answer.frame] = true;
    while (base_ < frames() && acknowledged_[base_]) {
      ++base_;
    }
  }
  void source_alarm(Exchange& exchange, std::uint32_t frame) override {
    if (!acknowledged_[frame] && exchange.now() - sent_[frame] >= exchange.transfer().timer_ns) {
      again_.push_back(frame);
    }
  }

  void arrived(Exchange& exchange, std::uint32_t frame) override {
    missing_ -= got_[frame] ? 0U : 1U;
    got_[frame] = true;
    exchange.answer({Answer::Kind::acknowledge, frame});
  }
  void sink_alarm(Exchange& /*exchange*/, std::uint64_t /*what*/) override {}
  [[nodiscard]] bool complete() const override { return missing_ == 0; }

private:
  [[nodiscard]] std::uint32_t frames() const { return static_cast<std::uint32_t>(got_.size()); }

  std::uint32_t window_;
  std::vector<bool> acknowledged_;
  std::vector<std::uint64_t> sent_; ///< when, last
  std::deque<std::uint32_t> again_;
  std::uint32_t base_ = 0;
  std::uint32_t next_ = 0;

  std::vector<bool> got_;
  std::uint32_t missing_ = static_cast<std::uint32_t>(got_.size());
};

} // namespace tributary::rdma::simulation
