// A counter at the receiver: it counts the frames of one round, and requests the whole round again
// when no frame has arrived for a time and the count is short.
#pragma once

#include "bench/rdma/exchange.hpp"

namespace tributary::rdma::simulation {

class ReceiverCounter final : public Scheme {
public:
  explicit ReceiverCounter(const Transfer& transfer) : frames_(transfer.frames()) {}

  std::optional<std::uint32_t> next() override {
    if (next_ == frames_) {
      return std::nullopt;
    }
    return round_ * frames_ + next_++;
  }
  /// The round that the sink currently counts.
  void heard(Exchange& /*exchange*/, Answer answer) override {
    if (answer.frame > round_) {
      round_ = answer.frame;
      next_ = 0;
    }
  }

  void arrived(Exchange& exchange, std::uint32_t frame) override {
    if (frame / frames_ == counted_round_) {
      ++counted_;
      arm(exchange);
    }
  }
  void sink_alarm(Exchange& exchange, std::uint64_t what) override {
    if (what != alarm_) {
      return;
    }
    if (counted_ != 0) { // otherwise what asked for this round was lost
      ++counted_round_;
      counted_ = 0;
    }
    exchange.answer({Answer::Kind::resend_from, counted_round_});
    arm(exchange);
  }
  [[nodiscard]] bool complete() const override { return counted_ == frames_; }

private:
  void arm(Exchange& exchange) { exchange.alarm_sink(exchange.transfer().timer_ns, ++alarm_); }

  std::uint32_t frames_;
  std::uint32_t round_ = 0;
  std::uint32_t next_ = 0;
  std::uint32_t counted_round_ = 0;
  std::uint32_t counted_ = 0;
  std::uint64_t alarm_ = 0; ///< the one that counts
};

} // namespace tributary::rdma::simulation
