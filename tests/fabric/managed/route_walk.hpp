// A walk over the unicast tables that switches hold, in the current fabric: the virtual fabric
// tells which links are up and which switches run, and a switch's own decision what it does with a
// frame. The manager's state is not used.
//
//   const RouteWalk walk(managed, drained);
//   walk.problems()              connected pairs without a route, loops, channels that can wait for
//                                each other in a cycle
//   walk.follows(from, to, hops) whether the tables match reported hops
#pragma once

#include "dataplane/forwarding_table/decide.hpp"
#include "tests/fabric/managed/managed_fabric.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace tributary::fabric {

class RouteWalk {
public:
  /// Frames to or from hosts of drained switches need not arrive, and no route leads through these.
  RouteWalk(ManagedFabric& managed, const std::set<SwitchIndex>& drained);

  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }
  /// Pairs of hosts that are connected, on switches that are not drained.
  [[nodiscard]] std::uint64_t pairs() const { return pairs_; }
  [[nodiscard]] bool connected(HostIndex from, HostIndex to) const;

  /// A hop as reported.
  struct Hop {
    std::string at;
    PortNumber in;
    PortNumber out;
  };
  /// Why the tables do not lead a frame along these hops to its host; "" when they do.
  [[nodiscard]] std::string differs(HostIndex from, HostIndex to, std::span<const Hop> hops) const;

private:
  /// Where a frame is, and its ingress port.
  struct State {
    SwitchIndex at = 0;
    forwarding_table::Port in = forwarding_table::local_port;
    std::uint8_t vc = 0;
    friend auto operator<=>(const State&, const State&) = default;
  };
  enum class Verdict : std::uint8_t { open, arrives, lost };
  struct Step {
    bool delivers = false;
    std::string drop; ///< why; "" when it is forwarded or delivered
    std::vector<std::pair<PortNumber, std::uint8_t>> ways;
  };

  [[nodiscard]] Step step(const State& state, HostIndex to) const;
  [[nodiscard]] std::vector<std::uint64_t> ports_up(SwitchIndex at, std::size_t words) const;
  Verdict follow(const State& state, HostIndex to, std::map<State, Verdict>& known,
                 std::string& why);
  void find_circles();
  void find_parts(const std::set<SwitchIndex>& drained);
  void report(std::string problem);

  ManagedFabric& managed_;
  const Topology& topology_;
  std::vector<std::uint32_t> part_; ///< by switch; `none` for ignored ones
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  std::uint64_t pairs_ = 0;
  std::map<State, std::set<State>> waits_; ///< of frames on channels, over all destinations
  std::vector<std::string> problems_;
};

} // namespace tributary::fabric
