#include "pktgen/run/clock.hpp"

#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <chrono>
#include <thread>

namespace tributary::pktgen::run {
namespace {

constexpr auto calibration = std::chrono::milliseconds(20);

/// "Invariant TSC": it runs at one rate in all states of the processor, alike on all cores.
bool has_invariant_counter() {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d >> 8 & 1U) != 0;
#else
  return false;
#endif
}

std::uint64_t read_clock(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(t.tv_nsec);
}

} // namespace

std::uint64_t Clock::kernel_ns() { return read_clock(CLOCK_MONOTONIC_RAW); }

Clock::Clock() : has_counter_(has_invariant_counter()) {
  struct Reading {
    std::uint64_t cycles = 0;
    std::uint64_t ns = 0;
  };
  const auto read = [this] {
    Reading best;
    std::uint64_t tightest = ~std::uint64_t{0};
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t before = cycles();
      const std::uint64_t ns = kernel_ns();
      const std::uint64_t after = cycles();
      if (after - before < tightest) {
        tightest = after - before;
        best = {before + tightest / 2, ns};
      }
    }
    return best;
  };
  if (has_counter_) {
    const Reading first = read();
    std::this_thread::sleep_for(calibration);
    const Reading second = read();
    const auto ns = static_cast<long double>(second.ns - first.ns);
    const auto elapsed = static_cast<long double>(second.cycles - first.cycles);
    hz_ = static_cast<double>(elapsed * 1e9L / ns);
    ns_per_cycle_ = static_cast<std::uint64_t>(
        ns * static_cast<long double>(std::uint64_t{1} << fraction_bits) / elapsed);
  }
  origin_ = cycles();
  calendar_origin_ = read_clock(CLOCK_REALTIME);
}

} // namespace tributary::pktgen::run
