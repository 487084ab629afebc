// A prepared experiment: its fabric, its faults, the tables of all times. Many runs share one.
#pragma once

#include "controlplane/unicast/faults.hpp"
#include "controlplane/unicast/network.hpp"
#include "tools/simulator/engine/fabric.hpp"
#include "tools/simulator/engine/parameters.hpp"
#include "tools/simulator/experiment/experiment.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace tributary::simulator::experiment {

using engine::Fabric;
using traffic::HostPlaces;

/// Times in ticks, from tick 0.
struct Times {
  std::uint64_t warm_up = 0;
  std::uint64_t measure = 0;
  std::uint64_t watchdog = 1;
};

/// A fault, or a change of tables, at a time of the run.
struct TimedEvent {
  enum class Kind : std::uint8_t {
    switch_dies,
    link_dies,
    port_seen_down,
    hosts_notified, ///< hosts no longer send to the hosts of a dead leaf
    table_swap,
  };
  std::uint64_t tick = 0;
  Kind kind = Kind::table_swap;
  unicast::Network::End at; ///< switch, and port of it
  std::uint32_t tables = 0; ///< index into Prepared::tables
};

class Prepared {
public:
  /// Throws ExperimentError, and TrafficError, RouteError, ModelError from the rooms that it uses.
  explicit Prepared(const Experiment& experiment);
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  [[nodiscard]] const Experiment& experiment() const { return experiment_; }
  [[nodiscard]] const std::optional<unicast::Shape>& shape() const { return shape_; }
  [[nodiscard]] const unicast::Network& network() const { return network_; }
  [[nodiscard]] const Fabric& fabric() const { return *fabric_; }
  [[nodiscard]] const Parameters& parameters() const { return parameters_; }
  [[nodiscard]] const Times& times() const { return times_; }
  [[nodiscard]] const HostPlaces& places() const { return places_; }
  [[nodiscard]] const unicast::PortStates& up() const { return *up_; }
  /// The initial tables, then those after each later fault.
  [[nodiscard]] const std::vector<unicast::TableSet>& tables() const { return tables_; }
  /// In order of time.
  [[nodiscard]] const std::vector<TimedEvent>& events() const { return events_; }
  /// Names of the leaves, roots and links that are dead from the beginning.
  [[nodiscard]] const std::vector<std::string>& dead() const { return dead_; }

private:
  void set_times();
  void build_fat_tree();
  void build_any();
  [[nodiscard]] unicast::Faults faults_of_beginning();
  void mark(const Part& part, unicast::Faults& faults) const;
  void plan_later(unicast::Algorithm& algorithm, unicast::Faults known);

  Experiment experiment_;
  Parameters parameters_;
  Times times_;
  std::optional<unicast::Shape> shape_;
  unicast::Network network_;
  std::vector<std::uint32_t> hosts_; ///< by switch
  std::unique_ptr<Fabric> fabric_;
  HostPlaces places_;
  std::unique_ptr<unicast::PortStates> up_;
  std::vector<unicast::TableSet> tables_;
  std::vector<TimedEvent> events_;
  std::vector<std::string> dead_;
};

} // namespace tributary::simulator::experiment
