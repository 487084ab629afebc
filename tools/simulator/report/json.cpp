#include "tools/simulator/report/json.hpp"

#include "tools/simulator/report/names.hpp"

#include <boost/json.hpp>

namespace tributary::simulator::report {
namespace {

using boost::json::array;
using boost::json::object;

object settings(const Prepared& prepared) {
  const Experiment& e = prepared.experiment();
  const engine::Parameters& p = prepared.parameters();
  object said{{"topology", e.topology},
              {"hosts", prepared.fabric().hosts()},
              {"switches", prepared.network().switches()},
              {"algorithm", e.algorithm},
              {"policy", name_of(policies, e.routes.policy)},
              {"vcs", prepared.fabric().vcs()},
              {"dead", array(prepared.dead().begin(), prepared.dead().end())},
              {"layout", name_of(layouts, e.layout)},
              {"later_faults", e.later.size()},
              {"seed", e.seed},
              {"pattern", name_of(patterns, e.traffic.pattern)},
              {"burst_packets", e.traffic.burst},
              {"packet_flits", p.flits},
              {"buffer_packets", p.buffer},
              {"read_speed_up", p.reads},
              {"queueing", name_of(queueings, p.queueing)},
              {"flow_control", name_of(flow_controls, p.flow_control)},
              {"spread", name_of(spreads, p.spread)},
              {"tick_ns", e.tick_ns},
              {"hop_ns", p.hop * e.tick_ns},
              {"ends_ns", (p.send + p.receive) * e.tick_ns},
              {"credit_ns", p.credit * e.tick_ns},
              {"warm_up_ns", static_cast<double>(prepared.times().warm_up) * e.tick_ns},
              {"measure_ns", static_cast<double>(prepared.times().measure) * e.tick_ns}};
  if (prepared.shape()) {
    said["planes"] = prepared.shape()->planes();
  }
  if (!e.later.empty()) {
    said["detection_ns"] = e.detection_ns;
    said["manager_delay_ns"] = e.manager_delay_ns;
    said["table_spread_ns"] = e.table_spread_ns;
  }
  return said;
}

object latency(const LatencySummary& of) {
  return {{"count", of.count}, {"mean", of.mean}, {"min", of.min},   {"p50", of.p50},
          {"p90", of.p90},     {"p99", of.p99},   {"p999", of.p999}, {"max", of.max}};
}

object point(const Prepared& prepared, const Point& of, bool with_links) {
  const Result& r = of.result;
  object dropped;
  for (std::size_t i = 0; i < drop_names.size(); ++i) {
    dropped[drop_names[i]] = r.all.dropped[i];
  }
  object said{{"load", r.load},
              {"accepted", r.accepted},
              {"verdict", name(r.verdict)},
              {"senders", r.senders},
              {"ticks", r.ticks},
              {"measured_ticks", r.measured},
              {"packets", object{{"injected", r.all.injected},
                                 {"delivered", r.all.delivered},
                                 {"dropped", dropped},
                                 {"in_flight", r.in_flight}}},
              {"most_links", r.all.most_links},
              {"latency_ns", r.verdict == Verdict::saturated
                                 ? boost::json::value(nullptr)
                                 : boost::json::value(latency(r.latency))},
              {"network_latency_ns", latency(r.network_latency)},
              {"link_load", object{{"mean", r.mean_link_load}, {"hottest", r.hottest_link_load}}},
              {"packet_hops", r.all.grants},
              {"events", r.all.events}};
  if (r.verdict == Verdict::deadlock) {
    said["deadlock"] =
        object{{"buffers", r.stuck_buffers}, {"circle", array(r.circle.begin(), r.circle.end())}};
  }
  if (with_links) {
    array& links = (said["links"] = array()).as_array();
    for (const LinkLoad& link : r.links) {
      const unicast::Network::End from = prepared.network().end(link.link);
      const unicast::Network::End to = *prepared.network().peer(link.link);
      links.push_back(object{{"from", prepared.network().name(from.at)},
                             {"port", from.port},
                             {"to", prepared.network().name(to.at)},
                             {"load", link.load}});
    }
  }
  said["speed"] = object{{"seconds", of.speed.seconds},
                         {"packet_hops_per_second", of.speed.per_second(r.all.grants)},
                         {"events_per_second", of.speed.per_second(r.all.events)}};
  return said;
}

} // namespace

std::string json_text(const Report& report, bool with_links) {
  array points;
  for (const Point& of : report.points) {
    points.push_back(point(report.prepared, of, with_links));
  }
  return boost::json::serialize(object{{"program", "tributary-sim"},
                                       {"version", report.version},
                                       {"settings", settings(report.prepared)},
                                       {"points", std::move(points)}}) +
         '\n';
}

} // namespace tributary::simulator::report
