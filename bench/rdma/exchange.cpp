#include "bench/rdma/exchange.hpp"

namespace tributary::rdma::simulation {
namespace {

/// Number of timers without a frame from the sink; then the source asks.
constexpr std::uint64_t quiet_timers = 4;

} // namespace

Exchange::Exchange(const Line& line, const Transfer& transfer, std::uint32_t overhead,
                   Random& random)
    : line_(line), transfer_(transfer), frame_ns_((std::uint64_t{transfer.payload} + overhead) * 8 *
                                                  1'000'000'000 / line.bits_per_second),
      random_(random) {}

Cost Exchange::run(Scheme& scheme) {
  send_control(Kind::request);
  schedule(transfer_.timer_ns, Kind::request_again);
  schedule(quiet_timers * transfer_.timer_ns, Kind::quiet);
  while (!timeline_.empty() && !cost_.finished && cost_.data <= most_rounds * transfer_.frames()) {
    const Event event = timeline_.pop();
    handle(scheme, event);
    pump(scheme);
  }
  cost_.us = static_cast<double>(now()) / 1'000;
  return cost_;
}

void Exchange::answer(Answer answer) { send_control(Kind::answer, answer); }
void Exchange::alarm_source(std::uint64_t after_ns, std::uint32_t what) {
  schedule(now() + after_ns, Kind::source_alarm, what);
}
void Exchange::alarm_sink(std::uint64_t after_ns, std::uint64_t what) {
  schedule(now() + after_ns, Kind::sink_alarm, what);
}

void Exchange::schedule(std::uint64_t at, Kind kind, std::uint64_t value, Answer answer) {
  timeline_.schedule(at, {kind, value, answer});
}

std::uint64_t Exchange::travel(bool data) {
  const bool spread = line_.spread_ns != 0 && (data || !line_.spreads_only_data);
  return line_.delay_ns + (spread ? random_.below(line_.spread_ns + 1) : 0);
}

/// Short enough that its time on the line does not count.
void Exchange::send_control(Kind kind, Answer answer) {
  ++cost_.control;
  if (line_.loses_only_data || !random_.chance(line_.loss)) {
    schedule(now() + travel(false), kind, 0, answer);
  }
}

void Exchange::pump(Scheme& scheme) {
  if (!started_ || now() < line_free_) {
    return;
  }
  const std::optional<std::uint32_t> frame = scheme.next();
  if (!frame) {
    return;
  }
  ++cost_.data;
  last_heard_ = now();
  line_free_ = now() + frame_ns_;
  if (!random_.chance(line_.loss)) {
    schedule(line_free_ + travel(true), Kind::data, *frame);
  }
  schedule(line_free_, Kind::line_free);
  scheme.sent(*this, *frame);
}

void Exchange::handle(Scheme& scheme, const Event& event) {
  switch (event.kind) {
  case Kind::request: send_control(Kind::response); break;
  case Kind::response: started_ = true; break;
  case Kind::request_again:
    if (!started_) {
      send_control(Kind::request);
      schedule(now() + transfer_.timer_ns, Kind::request_again);
    }
    break;
  case Kind::data:
    scheme.arrived(*this, static_cast<std::uint32_t>(event.value));
    if (scheme.complete()) {
      send_control(Kind::done);
    }
    break;
  case Kind::answer:
    last_heard_ = now();
    scheme.heard(*this, event.answer);
    break;
  case Kind::done: cost_.finished = true; break;
  case Kind::query:
    if (scheme.complete()) {
      send_control(Kind::done);
    }
    break;
  case Kind::quiet:
    if (now() - last_heard_ >= quiet_timers * transfer_.timer_ns) {
      send_control(Kind::query);
      last_heard_ = now();
    }
    schedule(last_heard_ + quiet_timers * transfer_.timer_ns, Kind::quiet);
    break;
  case Kind::source_alarm:
    scheme.source_alarm(*this, static_cast<std::uint32_t>(event.value));
    break;
  case Kind::sink_alarm:
    if (!scheme.complete()) {
      scheme.sink_alarm(*this, event.value);
    }
    break;
  case Kind::line_free: break;
  }
}

} // namespace tributary::rdma::simulation
