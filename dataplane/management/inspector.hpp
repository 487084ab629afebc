// The requests of the control socket to a running process. The process implements them over its
// workers (dataplane/process/worker_inspector.hpp); tests implement them with figures of their own.
//
// All calls come from the control thread. A request that cannot be fulfilled throws RequestError,
// whose message goes to the client unchanged. An empty switch name stands for all switches.
#pragma once

#include "dataplane/core/tracing.hpp"
#include "dataplane/management/reports.hpp"
#include "tributary/wire/frame_kind.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace tributary::management {

class RequestError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The frames to capture; empty members match everything.
struct CaptureSelection {
  std::string switch_name;
  std::string port;
  std::optional<TreeNumber> tree;
  std::optional<bool> received; ///< true: frames that enter, false: frames that leave
  std::optional<wire::FrameKind> kind;
  std::optional<Vni> vni;
  std::optional<Cookie> cookie;
  bool drops = false; ///< only received frames that the switch dropped
};

/// The impairments; empty members stand for all.
struct ImpairmentSelection {
  std::string switch_name;
  std::string port;
  std::optional<impairment::Direction> direction;
};

/// Valid during the call that receives it.
struct CapturedPacket {
  std::uint64_t unix_time_ns = 0;
  std::uint32_t interface = 0; ///< index into `interfaces()`
  bool received = true;
  std::uint32_t original_length = 0;
  std::span<const std::byte> bytes;
};

/// A running capture; destruction ends it.
class CaptureSource {
public:
  virtual ~CaptureSource() = default;
  /// "leaf0/host0", ...
  [[nodiscard]] virtual const std::vector<std::string>& interfaces() const = 0;
  /// Calls `f` for each frame since the last call; returns how many there were.
  virtual std::size_t drain(const std::function<void(const CapturedPacket&)>& f) = 0;
  /// Matching frames that did not fit, because they were not drained fast enough.
  [[nodiscard]] virtual std::uint64_t missed() const = 0;
};

class Inspector {
public:
  virtual ~Inspector() = default;
  virtual std::vector<PortReport> ports(const std::string& switch_name) = 0;
  /// All ports if `port` is empty. Unconfigured classes are reported only if they have figures to
  /// report.
  virtual std::vector<QueueReport> queues(const std::string& switch_name,
                                          const std::string& port) = 0;
  /// Without a port: all ports that are or have been impaired.
  virtual std::vector<ImpairmentReport> impairments(const ImpairmentSelection& selection) = 0;
  /// Replaces the impairments of the selected directions of one port; `settings` are keys of
  /// [switch.port.impairment]. Returns the settings in force.
  virtual std::vector<ImpairmentReport> impair(const ImpairmentSelection& selection,
                                               const std::string& settings) = 0;
  /// Ends impairments, and returns which.
  virtual std::vector<ImpairmentReport> clear_impairments(const ImpairmentSelection& selection) = 0;
  virtual std::vector<TreeReport> trees(const std::string& switch_name) = 0;
  virtual std::vector<EngineReport> engines(const std::string& switch_name) = 0;
  virtual std::vector<WorkerReport> workers() = 0;
  virtual std::vector<ManagerReport> managers(const std::string& switch_name) = 0;
  /// By port, in the order in which they were first received.
  virtual std::vector<NeighbourReport> neighbours(const std::string& switch_name) = 0;
  [[nodiscard]] virtual core::Tracing tracing() const = 0;
  virtual void set_tracing(core::Tracing which) = 0;
  /// Oldest first.
  virtual std::vector<TraceReport> trace() = 0;
  virtual std::unique_ptr<CaptureSource> capture(const CaptureSelection& selection) = 0;
  /// The switch's decision about this frame if it arrived at that port now.
  virtual ExplainReport explain(const std::string& switch_name, const std::string& port,
                                std::span<const std::byte> frame) = 0;
  virtual VersionReport version() = 0;
  /// Never stops a worker.
  virtual MetricsReport metrics() = 0;
  virtual ReloadReport reload() = 0;
};

} // namespace tributary::management
