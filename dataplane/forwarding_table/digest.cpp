#include "dataplane/forwarding_table/routes.hpp"

#include <span>

namespace tributary::forwarding_table {
namespace {

/// Multiplies and folds, a word at a time: one table has some ten thousand words.
class Digest {
public:
  void add(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x9E3779B97F4A7C15ULL;
    state_ ^= state_ >> 32;
  }
  /// Includes their number, so that columns cannot run into each other.
  template <typename Range> void add_all(const Range& values) {
    add(values.size());
    for (const auto value : values) {
      add(value);
    }
  }
  [[nodiscard]] std::uint64_t value() const { return state_; }

private:
  std::uint64_t state_ = 0x243F6A8885A308D3ULL;
};

} // namespace

std::uint64_t digest(const Routes& routes) {
  Digest d;
  const SwitchTable& t = routes.table;
  d.add(t.self);
  d.add(t.destinations);
  d.add(t.vcs);
  d.add(t.words);
  std::span<const std::uint16_t> classes = t.classes;
  while (!classes.empty() && classes.back() == 0) { // ports without a class are in class 0
    classes = classes.first(classes.size() - 1);
  }
  d.add_all(classes);
  d.add_all(t.row_of);
  d.add_all(t.rows);
  d.add(t.actions.size());
  for (const Action& a : t.actions) {
    d.add(std::uint64_t{a.ports} | std::uint64_t{a.spares} << 16 | std::uint64_t{a.step} << 32 |
          std::uint64_t{a.turns} << 40 | std::uint64_t{a.spare_turns} << 48);
    d.add(static_cast<std::uint64_t>(a.otherwise) | std::uint64_t{a.u_turn} << 8 |
          std::uint64_t{a.rises} << 9);
  }
  d.add_all(t.port_words);
  d.add(routes.hosts->size());
  for (const HostRun& run : *routes.hosts) {
    d.add(std::uint64_t{run.first_nid} << 32 | run.count);
    d.add(run.destination);
  }
  d.add(routes.local.size());
  for (const LocalHost& host : routes.local) {
    d.add(std::uint64_t{host.nid.value} << 16 | host.port);
  }
  d.add_all(routes.fabric_ports);
  d.add(routes.sprayed_dscps);
  return d.value();
}

} // namespace tributary::forwarding_table
