// Reads the counters of the switch under test for one measurement: the hosted one directly, another
// one over its control socket. Both give counters by the names that `tributaryctl show counters`
// has.
//
//   probe.begin();   ...measurement...   const SwitchFigures figures = probe.so_far();
//
// Not on the hot path: a look takes milliseconds. One thread.
#pragma once

#include "lib/service/switch_client.hpp"
#include "pktgen/result/result.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace tributary::worker {
class WorkerGroup;
}

namespace tributary::pktgen::transport {

/// Counters by name.
using SwitchCounters = std::map<std::string, std::uint64_t, std::less<>>;

/// What rose between two looks. Frames and arm failures are the sums over all ports, drops those
/// counters "....drop.REASON" and "....rx_missed" that rose, most first; cycles are those of
/// workers that had something to do.
[[nodiscard]] result::SwitchFigures figures_between(const SwitchCounters& before,
                                                    const SwitchCounters& after);

class SwitchProbe {
public:
  virtual ~SwitchProbe() = default;
  SwitchProbe(const SwitchProbe&) = delete;
  SwitchProbe& operator=(const SwitchProbe&) = delete;

  /// Throws service::SwitchError when the switch cannot be asked, as `so_far`.
  void begin() { before_ = look(); }
  [[nodiscard]] result::SwitchFigures so_far() { return figures_between(before_, look()); }

protected:
  SwitchProbe() = default;
  virtual SwitchCounters look() = 0;

private:
  SwitchCounters before_;
};

/// The switch in this process.
class HostedSwitchProbe final : public SwitchProbe {
public:
  explicit HostedSwitchProbe(const worker::WorkerGroup& workers) : workers_(workers) {}

private:
  SwitchCounters look() override;

  const worker::WorkerGroup& workers_;
};

/// A running tributary-switch.
class SocketSwitchProbe final : public SwitchProbe {
public:
  /// Throws service::SwitchError when no switch answers there.
  explicit SocketSwitchProbe(const std::string& socket_path);

private:
  SwitchCounters look() override;

  service::SwitchClient client_;
};

} // namespace tributary::pktgen::transport
