#include "pktgen/run/traffic_watchdog.hpp"

#include "pktgen/run/measuring.hpp"
#include "pktgen/scenario/reduce_frames.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace tributary::pktgen::run {

using scenario::Kind;

namespace {

/// Shortest interval between two checks: the workers pause meanwhile.
constexpr std::uint64_t listening_interval_ns = 100'000'000;
/// For an exponential distribution: less than one in ten million draws exceeds this multiple of the
/// mean.
constexpr double longest_draw = 16;
constexpr double longest_frame_bits = 8 * 9024;

double interval_ns(double rate) { return rate > 0 ? 1e9 / rate : 0; }

double held_back_ns(const scenario::Reduce& reduce) {
  const auto ns = [](std::chrono::nanoseconds time) { return static_cast<double>(time.count()); };
  const double skew = reduce.skew == scenario::Skew::none ? 0
                      : reduce.skew == scenario::Skew::exponential
                          ? longest_draw * ns(reduce.skew_by)
                          : ns(reduce.skew_by);
  const double late = reduce.tampering.late > 0 ? ns(reduce.tampering.late_by) : 0;
  const double retry = ns(scenario::resolved(reduce).retry);
  return interval_ns(reduce.rate) + skew + late + retry;
}

double held_back_ns(const scenario::Part& part) {
  switch (part.kind) {
  case Kind::reduce: return held_back_ns(part.reduce);
  case Kind::multicast:
  case Kind::unicast:
    return interval_ns(part.stream.packets_per_second) +
           longest_frame_bits * interval_ns(part.stream.bits_per_second);
  case Kind::rdma:
  case Kind::replay:
  case Kind::mixed: break;
  }
  return 0;
}

} // namespace

std::uint64_t longest_silence_ns(const scenario::Scenario& scenario) {
  double held_back = held_back_ns(scenario.traffic);
  for (const scenario::Part& part : scenario.parts) {
    held_back = std::max(held_back, held_back_ns(part));
  }
  constexpr double longest = 0x1p62;
  return static_cast<std::uint64_t>(scenario.phases.timeout.count()) +
         static_cast<std::uint64_t>(std::min(held_back, longest));
}

TrafficWatchdog::TrafficWatchdog(const scenario::Scenario& scenario,
                                 const std::vector<link::Port*>& ports, TimeNs now)
    : ports_(ports), longest_ns_(longest_silence_ns(scenario)), next_(now), since_(now) {}

void TrafficWatchdog::check(WorkerPool& pool, TimeNs now) {
  if (now < next_) {
    return;
  }
  next_ = now + std::min(listening_interval_ns, longest_ns_ / 4);
  const std::uint64_t received = pool.counts().received;
  if (received != received_) {
    received_ = received;
    answered_ = true;
    since_ = now;
    return;
  }
  if (elapsed_ns(now, since_) < longest_ns_) {
    return;
  }
  if (const std::string waiting = pool.waiting_for(); !waiting.empty()) {
    complain(waiting, seconds_of(elapsed_ns(now, since_)));
  }
}

void TrafficWatchdog::complain(const std::string& waiting, double seconds) const {
  std::vector<std::string> ports;
  for (link::Port* port : ports_) {
    ports.push_back(port->description());
    if (const std::string error = port->error(); !error.empty()) {
      throw RunFailed(error);
    }
  }
  const std::string where = fmt::format("{}", fmt::join(ports, ", "));
  if (answered_) {
    throw RunFailed(fmt::format(
        "nothing has come back for {:.1f} s on any port ({}); {}; look whether the switch (and "
        "the other generator, if there is one) still runs and its links are up, or give more "
        "--timeout",
        seconds, where, waiting));
  }
  throw RunFailed(fmt::format(
      "nothing came back on any port ({}) within {:.1f} s; {}; look whether the switch runs and "
      "its links are up, whether it has the trees or routes of this scenario "
      "(--print-switch-config prints them), and whether ethertype and vni agree",
      where, seconds, waiting));
}

} // namespace tributary::pktgen::run
