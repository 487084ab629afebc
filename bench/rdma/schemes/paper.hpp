// The paper's window at the receiver, with its index repaired (`WBASE += LOC + 1`; as printed the
// window never moves) and nothing else: the source sends all it has whatever the sink answers,
// every frame above the window is answered by a RESEND of its own, and a timer asks for the first
// missing frame, from the second time on also for all later ones, whether they have arrived or not.
#pragma once

#include "bench/rdma/exchange.hpp"

#include <algorithm>
#include <deque>
#include <vector>

namespace tributary::rdma::simulation {

class Paper final : public Scheme {
public:
  explicit Paper(const Transfer& transfer) : window_(transfer.window), got_(transfer.frames()) {}

  std::optional<std::uint32_t> next() override {
    if (!again_.empty()) {
      const std::uint32_t frame = again_.front();
      again_.pop_front();
      return frame;
    }
    return next_ < frames() ? std::optional(next_++) : std::nullopt;
  }
  void heard(Exchange& /*exchange*/, Answer answer) override {
    if (answer.kind == Answer::Kind::resend_one) {
      again_.push_back(answer.frame);
    } else {
      next_ = std::min(next_, answer.frame);
    }
  }

  void arrived(Exchange& exchange, std::uint32_t frame) override {
    if (frame > base_ + window_) {
      exchange.answer({Answer::Kind::resend_one, base_});
      return;
    }
    if (frame < base_ || got_[frame]) {
      return;
    }
    got_[frame] = true;
    if (frame == base_) {
      while (base_ < frames() && got_[base_]) {
        ++base_;
      }
      timeouts_ = 0;
      arm(exchange);
    } else if (alarm_ == 0) {
      arm(exchange);
    }
  }
  void sink_alarm(Exchange& exchange, std::uint64_t what) override {
    if (what != alarm_) {
      return;
    }
    exchange.answer(
        {++timeouts_ == 1 ? Answer::Kind::resend_one : Answer::Kind::resend_from, base_});
    arm(exchange);
  }
  [[nodiscard]] bool complete() const override { return base_ == frames(); }

private:
  void arm(Exchange& exchange) { exchange.alarm_sink(exchange.transfer().timer_ns, ++alarm_); }
  [[nodiscard]] std::uint32_t frames() const { return static_cast<std::uint32_t>(got_.size()); }

  std::uint32_t window_;
  std::uint32_t next_ = 0;
  std::deque<std::uint32_t> again_;

  std::vector<bool> got_;
  std::uint32_t base_ = 0;
  std::uint32_t timeouts_ = 0;
  std::uint64_t alarm_ = 0; ///< the one that counts
};

} // namespace tributary::rdma::simulation
