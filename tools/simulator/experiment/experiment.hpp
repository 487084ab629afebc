// An experiment in the user's terms: a fabric, its routes and faults, traffic, times.
#pragma once

#include "controlplane/unicast/algorithm.hpp"
#include "tools/simulator/engine/parameters.hpp"
#include "tools/simulator/traffic/traffic.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::simulator::experiment {

using engine::FlowControl;
using engine::Parameters;
using engine::Queueing;
using engine::Spread;
using traffic::Pattern;
using traffic::TrafficSpec;

/// A request that cannot be simulated; what() has the reason and a hint.
class ExperimentError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Part of a kdft fabric, in the order of its name: dimension 0 is that of the first size.
struct Part {
  enum class Kind : std::uint8_t { leaf, root, link };
  Kind kind = Kind::leaf;
  std::vector<std::uint32_t> place; ///< coordinates of a leaf; of a root any leaf on it
  std::uint32_t dimension = 0;      ///< dimension of a root or link
  std::uint32_t plane = 0;
};
/// "leaf:3,4", "root:0:3,4:1" (dimension, a leaf on it, plane), "link:3,4:0:1" (leaf, dimension,
/// plane). Throws ExperimentError.
[[nodiscard]] Part parse_part(std::string_view text);

struct TimedFault {
  double at_ns = 0;
  Part part;
};
/// "20us=leaf:3,4". Throws ExperimentError.
[[nodiscard]] TimedFault parse_timed_fault(std::string_view text);
/// "1.5us", "300ns", "2ms", "1s". Throws ExperimentError.
[[nodiscard]] double parse_ns(std::string_view text);

/// Where random dead leaves are.
enum class Layout : std::uint8_t {
  random,
  row,    ///< in one row: equal in all dimensions but the last
  column, ///< in one column: equal in all but the first
  all,    ///< no two equal in any dimension: as many rows and columns as possible
};

struct Experiment {
  std::string topology = "kdft:16x16x16";
  std::uint32_t planes =
      0; ///< planes of roots; 0: as the topology says, or else one for each host of a leaf
  std::string algorithm = "vtftr_plus";
  unicast::RouteOptions routes;

  std::uint32_t faults = 0; ///< dead leaves, drawn
  Layout layout = Layout::random;
  std::vector<Part> dead;           ///< from the beginning, and known
  std::vector<TimedFault> later;    ///< during the run
  double detection_ns = 0;          ///< from a fault to the neighbours' port states
  double manager_delay_ns = 20'000; ///< from a fault to the first new table
  double table_spread_ns = 5'000;   ///< from the first to the last: each switch at a random time

  TrafficSpec traffic;
  std::uint64_t seed = 1;

  Parameters switches;   ///< parameters other than times
  double tick_ns = 2.5;  ///< a flit on a link
  double hop_ns = 35;    ///< a switch and a link
  double ends_ns = 97;   ///< both hosts with their links and first and last switch
  double credit_ns = 10; ///< back to the sender
  double warm_up_ns = 10'000;
  double measure_ns = 25'000;
  double watchdog_ns = 2'500; ///< between looks for deadlocks
};

} // namespace tributary::simulator::experiment
