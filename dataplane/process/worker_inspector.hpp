// The requests of the control socket, answered from the running workers. Main thread only.
//
// Counters are read while workers write them: each figure is right, two of them may be a few frames
// apart. Descriptors are read on their owners, between two bursts.
#pragma once

#include "dataplane/config/config.hpp"
#include "dataplane/management/inspector.hpp"
#include "dataplane/port/eal.hpp"
#include "dataplane/process/switch_agents.hpp"
#include "dataplane/worker/port_monitor.hpp"
#include "dataplane/worker/worker_group.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace tributary::dataplane {

class WorkerInspector final : public management::Inspector {
public:
  /// All arguments outlive the inspector. `reload` does the same as SIGHUP, and throws RequestError
  /// if the file is refused.
  WorkerInspector(const config::Config& configuration, worker::WorkerGroup& workers,
                  const worker::PortMonitor& monitor, const SwitchAgents& agents,
                  const port::Eal& eal, std::function<management::ReloadReport()> reload);

  std::vector<management::PortReport> ports(const std::string& switch_name) override;
  std::vector<management::QueueReport> queues(const std::string& switch_name,
                                              const std::string& port) override;
  std::vector<management::ImpairmentReport>
  impairments(const management::ImpairmentSelection& selection) override;
  std::vector<management::ImpairmentReport> impair(const management::ImpairmentSelection& selection,
                                                   const std::string& settings) override;
  std::vector<management::ImpairmentReport>
  clear_impairments(const management::ImpairmentSelection& selection) override;
  std::vector<management::TreeReport> trees(const std::string& switch_name) override;
  std::vector<management::EngineReport> engines(const std::string& switch_name) override;
  std::vector<management::WorkerReport> workers() override;
  std::vector<management::ManagerReport> managers(const std::string& switch_name) override;
  std::vector<management::NeighbourReport> neighbours(const std::string& switch_name) override;
  [[nodiscard]] core::Tracing tracing() const override { return workers_.tracing(); }
  void set_tracing(core::Tracing which) override { workers_.set_tracing(which); }
  std::vector<management::TraceReport> trace() override;
  std::unique_ptr<management::CaptureSource>
  capture(const management::CaptureSelection& selection) override;
  management::ExplainReport explain(const std::string& switch_name, const std::string& port,
                                    std::span<const std::byte> frame) override;
  management::VersionReport version() override;
  management::MetricsReport metrics() override;
  management::ReloadReport reload() override { return reload_(); }

private:
  /// The indices selected by a name; all for an empty one.
  [[nodiscard]] std::vector<std::size_t> selected(const std::string& switch_name) const;
  [[nodiscard]] PortNumber port_of(std::size_t switch_index, const std::string& name) const;
  void note_trimming(std::size_t switch_index, const core::Decision& decision,
                     const core::FrameView& frame, std::vector<std::string>& steps) const;
  [[nodiscard]] const std::string& port_name(std::size_t switch_index, PortNumber port) const;
  [[nodiscard]] std::vector<std::string> port_names(std::size_t switch_index, PortSet ports) const;
  /// One direction of a port, as selected.
  struct Impaired {
    std::size_t switch_index = 0;
    PortNumber port;
    impairment::Direction direction{};
  };
  [[nodiscard]] std::vector<Impaired>
  selected(const management::ImpairmentSelection& selection) const;
  [[nodiscard]] management::ImpairmentReport impairment_report(const Impaired& impaired) const;
  /// Everything except the fields that only the port's worker knows.
  [[nodiscard]] management::PortReport port_report(std::size_t switch_index, PortNumber port) const;
  [[nodiscard]] management::EngineReport engine_report(std::size_t switch_index,
                                                       PortNumber port) const;

  const config::Config& configuration_;
  worker::WorkerGroup& workers_;
  const worker::PortMonitor& monitor_;
  const SwitchAgents& agents_;
  const port::Eal& eal_;
  std::function<management::ReloadReport()> reload_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

} // namespace tributary::dataplane
