// Go-back-N: a sink takes frames in order and throws the others away; it asks once for each gap,
// and again after a timer, and the source begins again there.
#pragma once

#include "bench/rdma/exchange.hpp"

namespace tributary::rdma::simulation {

class GoBackN final : public Scheme {
public:
  explicit GoBackN(const Transfer& transfer) : frames_(transfer.frames()) {}

  std::optional<std::uint32_t> next() override {
    return next_ < frames_ ? std::optional(next_++) : std::nullopt;
  }
  void heard(Exchange& /*exchange*/, Answer answer) override { next_ = answer.frame; }

  void arrived(Exchange& exchange, std::uint32_t frame) override {
    if (frame == expected_) {
      ++expected_;
      asked_ = false;
      exchange.alarm_sink(exchange.transfer().timer_ns, expected_);
    } else if (frame > expected_ && !asked_) {
      ask(exchange);
    } else if (expected_ == 0) {
      exchange.alarm_sink(exchange.transfer().timer_ns, 0);
    }
  }
  void sink_alarm(Exchange& exchange, std::uint64_t expected) override {
    if (expected == expected_) {
      ask(exchange);
    }
  }
  [[nodiscard]] bool complete() const override { return expected_ == frames_; }

private:
  void ask(Exchange& exchange) {
    asked_ = true;
    exchange.answer({Answer::Kind::resend_from, expected_});
    exchange.alarm_sink(exchange.transfer().timer_ns, expected_);
  }

  std::uint32_t frames_;
  std::uint32_t next_ = 0;
  std::uint32_t expected_ = 0;
  bool asked_ = false;
};

} // namespace tributary::rdma::simulation
