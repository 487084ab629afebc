#include "tools/host/report.hpp"

#include "endpoint/collective/statistics.hpp"
#include "endpoint/reliable_multicast/statistics.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace tributary::host {

namespace {

/// Requires sorted values.
double percentile_us(const std::vector<std::uint64_t>& sorted_ns, double fraction) {
  if (sorted_ns.empty()) {
    return 0;
  }
  const auto at = static_cast<std::size_t>(fraction * static_cast<double>(sorted_ns.size() - 1));
  return static_cast<double>(sorted_ns[at]) / 1000;
}

/// Frames that reached the root for each piece it completed; 0 at a leaf.
double root_frames_per_piece(const tributary_statistics& s) {
  const std::uint64_t pieces = s.full + s.partial + s.unreduced;
  return pieces == 0 ? 0 : static_cast<double>(s.reduction_frames) / static_cast<double>(pieces);
}

boost::json::object statistics_json(const tributary_statistics& s) {
  boost::json::object object;
#define TRIBUTARY_X(name, text) object[#name] = s.name;
  TRIBUTARY_MEMBER_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
  object["host_frames_unknown"] = s.host_frames_unknown;
  object["host_kernel_drops"] = s.host_kernel_drops;
  return object;
}

boost::json::object multicasts_json(const tributary_multicast_statistics& s) {
  boost::json::object object;
#define TRIBUTARY_X(name, text) object[#name] = s.name;
  TRIBUTARY_MULTICAST_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
  return object;
}

/// Whether this member is the root.
bool is_root(const Options& o, const Measured& m) { return o.group.rank == m.membership.root_rank; }

/// The second tree of twins, or null.
boost::json::value twin_json(const tributary_membership& m) {
  return m.twin_tree == TRIBUTARY_NO_TREE ? boost::json::value() : boost::json::value(m.twin_tree);
}

/// What the fabric manager gave, or null for a group that it does not know.
boost::json::value membership_json(const Options& o, const tributary_membership& m) {
  if (o.name.empty()) {
    return nullptr;
  }
  return {{"group", o.name},
          {"trees", o.trees},
          {"vni", m.vni},
          {"cookie", m.cookie},
          {"root_rank", m.root_rank},
          {"root_nid", m.root_nid},
          {"disjoint", m.disjoint != 0},
          {"lease_ms", m.lease_msec}};
}

std::string as_json(const Options& o, const Measured& m, double rate) {
  const boost::json::object object = {
      {"rank", o.group.rank},
      {"size", o.group.size},
      {"root", is_root(o, m)},
      {"tree", m.membership.tree},
      {"twin_tree", twin_json(m.membership)},
      {"membership", membership_json(o, m.membership)},
      {"slots", m.membership.slots},
      {"payload", m.membership.payload},
      {"in_switch_results", m.membership.in_switch_results != 0},
      {"shared", m.membership.shared != 0},
      {"armed", o.group.armed != 0},
      {"seed", o.seed},
      {"vector_length", o.length},
      {"iterations", m.iterations},
      {"checked", o.check},
      {"wrong", m.wrong},
      {"seconds", m.seconds},
      {"reductions_per_second", rate},
      {"latency_us",
       {{"p50", percentile_us(m.latencies_ns, 0.50)},
        {"p99", percentile_us(m.latencies_ns, 0.99)},
        {"max", percentile_us(m.latencies_ns, 1.0)}}},
      {"root_frames_per_reduction", root_frames_per_piece(m.statistics)},
      {"statistics", statistics_json(m.statistics)},
      {"multicasts", multicasts_json(m.multicasts)},
  };
  return boost::json::serialize(object) + "\n";
}

std::string trees_text(const tributary_membership& m) {
  return m.twin_tree == TRIBUTARY_NO_TREE ? fmt::format("tree {}", m.tree)
                                          : fmt::format("trees {} and {}", m.tree, m.twin_tree);
}

std::string as_text(const Options& o, const Measured& m, double rate) {
  std::string text = fmt::format(
      "rank {} of {} on {}: {} reductions, {} wrong{}, {:.0f} per second, latency p50 {:.1f} "
      "us, p99 {:.1f} us\n",
      o.group.rank, o.group.size, trees_text(m.membership), m.iterations, m.wrong,
      o.check ? "" : " (not checked)", rate, percentile_us(m.latencies_ns, 0.50),
      percentile_us(m.latencies_ns, 0.99));
  if (is_root(o, m)) {
    fmt::format_to(std::back_inserter(text), "frames that reached the root for each: {:.3f}\n",
                   root_frames_per_piece(m.statistics));
  }
#define TRIBUTARY_X(name, description)                                                             \
  if (m.statistics.name != 0) {                                                                    \
    fmt::format_to(std::back_inserter(text), "{:>12}  {}: {}\n", m.statistics.name, #name,         \
                   description);                                                                   \
  }
  TRIBUTARY_MEMBER_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
#define TRIBUTARY_X(name, description)                                                             \
  if (m.multicasts.name != 0) {                                                                    \
    fmt::format_to(std::back_inserter(text), "{:>12}  multicasts.{}: {}\n", m.multicasts.name,     \
                   #name, description);                                                            \
  }
  TRIBUTARY_MULTICAST_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
  return text;
}

} // namespace

std::string report(const Options& options, Measured measured) {
  std::sort(measured.latencies_ns.begin(), measured.latencies_ns.end());
  const double rate =
      measured.seconds > 0 ? static_cast<double>(measured.iterations) / measured.seconds : 0;
  return options.json ? as_json(options, measured, rate) : as_text(options, measured, rate);
}

} // namespace tributary::host
