#include "dataplane/management/report_json.hpp"

#include "dataplane/management/counter_json.hpp"
#include "dataplane/management/impairment_json.hpp"
#include "tributary/wire/opcode.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <string>
#include <string_view>

namespace tributary::management {
namespace {

namespace json = boost::json;

json::string_view view(std::string_view s) { return {s.data(), s.size()}; }

json::array names(const std::vector<std::string>& all) {
  json::array out;
  out.reserve(all.size());
  for (const std::string& name : all) {
    out.emplace_back(name);
  }
  return out;
}

std::string hex(std::uint64_t value, int digits) {
  return fmt::format("{:#0{}x}", value, digits + 2);
}

template <typename Report, typename Convert>
json::value array_of(const std::vector<Report>& reports, Convert convert) {
  json::array all;
  all.reserve(reports.size());
  for (const Report& report : reports) {
    all.push_back(convert(report));
  }
  return all;
}

json::object link_json(const LinkReport& l, const liveness::Counts& counts) {
  json::object out{{"state", l.state},
                   {"since_us", l.since_us},
                   {"last_reason", l.last_reason},
                   {"last_silence_us", l.last_silence_us},
                   {"longest_gap_us", l.longest_gap_us}};
  add_rows(out, liveness::Counts::rows, counts);
  if (l.silence_us) {
    out["silence_us"] = *l.silence_us;
  }
  return out;
}

json::object port_json(const PortReport& p) {
  json::object out{{"switch", p.switch_name}, {"port", p.name},     {"number", p.number},
                   {"kind", p.kind},          {"device", p.device}, {"state", p.state},
                   {"worker", p.worker}};
  if (!p.steering.empty()) {
    out["steering"] = p.steering;
  }
  if (!p.steering_why.empty()) {
    out["steering_why"] = p.steering_why;
  }
  if (p.nid) {
    out["nid"] = hex(p.nid->value, 5);
  }
  add_counters(out, p);
  json::object drops;
  for (std::size_t i = 0; i < p.counts.drops.size(); ++i) {
    if (p.counts.drops[i] != 0) {
      drops[view(core::name_of(static_cast<core::DropReason>(i)))] = p.counts.drops[i];
    }
  }
  out["drops"] = std::move(drops);
  out["link"] = link_json(p.link, p.link_counts);
  if (p.lldp_counts.discarded != 0) {
    out["lldp_last_error"] = view(name_of(p.lldp_counts.last_error));
  }
  return out;
}

json::object queue_json(const QueueReport& r) {
  const egress::QueueSnapshot& q = r.queue;
  json::object out{{"switch", r.switch_name},        {"port", r.port},
                   {"class", q.traffic_class.value}, {"frames_limit", q.limit.frames},
                   {"bytes_limit", q.limit.bytes},   {"paused", q.paused},
                   {"given_up", q.given_up},         {"trimmed_limit", q.trimmed_limit}};
  add_counters(out, r);
  json::object drops;
  for (const core::DropReason reason : egress::queue_drop_reasons) {
    if (q.dropped(reason) != 0) {
      drops[view(core::name_of(reason))] = q.dropped(reason);
    }
  }
  out["drops"] = std::move(drops);
  return out;
}

json::object tree_json(const TreeReport& t) {
  json::object out{{"switch", t.switch_name},
                   {"tree", t.tree.value},
                   {"wait_count", t.wait_count},
                   {"parent", t.parent},
                   {"children", names(t.children)}};
  if (t.wait_count != 0) {
    out["timer_us"] = t.timer_us;
  }
  if (t.slots.any()) {
    out["slots"] = t.slots.slots;
    out["payload_bytes"] = t.slots.payload_bytes;
    out["slot_memory_bytes"] = t.slots.bytes();
  }
  if (t.in_switch_results) {
    out["in_switch_results"] = true;
  }
  if (t.worker) {
    out["worker"] = *t.worker;
  }
  add_counters(out, t);
  return out;
}

json::object descriptor_json(const DescriptorReport& d) {
  json::object out{{"tree", d.tree.value},
                   {"reduction", d.reduction.value},
                   {"sequence", d.sequence},
                   {"vni", d.vni.value},
                   {"cookie", hex(d.cookie.value, 8)},
                   {"count", d.count},
                   {"wait_count", d.wait_count},
                   {"missing", d.wait_count > d.count ? d.wait_count - d.count : 0},
                   {"age_us", d.age_us},
                   {"remaining_us", d.remaining_us},
                   {"children", names(d.children)}};
  if (!d.opcode.empty()) {
    out["opcode"] = d.opcode;
    out["result_code"] = d.result_code;
  }
  if (!d.form.empty()) {
    out["form"] = d.form;
    out["payload_bytes"] = d.payload_bytes;
  }
  return out;
}

json::object engine_json(const EngineReport& e) {
  json::object out{{"switch", e.switch_name}, {"port", e.port}, {"descriptors", e.descriptors}};
  add_counters(out, e);
  out["occupied"] = array_of(e.occupied, descriptor_json);
  return out;
}

json::object worker_json(const WorkerReport& w) {
  json::object out{{"worker", w.number}, {"ports", names(w.ports)}, {"busy_share", w.busy_share}};
  if (w.core) {
    out["core"] = *w.core;
  }
  if (w.node) {
    out["node"] = *w.node;
  }
  out["pool"] = w.pool;
  if (w.trees) {
    out["trees"] = *w.trees;
  }
  add_counters(out, w);
  return out;
}

json::object manager_port_json(const ManagerReport::Port& p) {
  json::object out{{"port", p.name}, {"up", p.up}};
  if (p.speed_mbps != 0) {
    out["speed_mbps"] = p.speed_mbps;
  }
  if (!p.neighbour.empty()) {
    out["neighbour"] = p.neighbour;
    out["neighbour_port"] = p.neighbour_port;
  }
  if (p.neighbour_nid) {
    out["neighbour_nid"] = hex(p.neighbour_nid->value, 5);
  }
  return out;
}

json::object manager_json(const ManagerReport& m) {
  json::object out{{"switch", m.switch_name}};
  if (!m.address.empty()) {
    out["address"] = m.address;
    out["channel"] = m.channel;
    out["manager"] = m.manager;
    if (m.leader.fabric != 0) {
      out["fabric"] = fabric_text(m.leader.fabric);
      out["epoch"] = m.leader.epoch;
    }
    out["managers_refused"] = m.managers_refused;
    out["since_ms"] = m.since_ms;
    out["last_end"] = m.last_end;
  }
  out["tables_version"] = m.tables_version;
  out["trees_of_file"] = m.trees_of_file;
  out["trees_of_manager"] = m.trees_of_manager;
  out["permissions"] = m.permissions;
  json::object transactions{{"prepared_now", m.prepared_now}, {"last_refusal", m.last_refusal}};
  add_counters(transactions, m);
  out["transactions"] = std::move(transactions);
  out["ports"] = array_of(m.ports, manager_port_json);
  out["problems"] = names(m.problems);
  return out;
}

json::object neighbour_json(const NeighbourReport& n) {
  return {{"switch", n.switch_name},
          {"port", n.port},
          {"chassis", n.chassis},
          {"neighbour_port", n.neighbour_port},
          {"port_description", n.port_description},
          {"system_name", n.system_name},
          {"system_description", n.system_description},
          {"capabilities", names(n.capabilities)},
          {"ttl_s", n.ttl_s},
          {"forget_in_ms", n.forget_in_ms},
          {"since_ms", n.since_ms}};
}

json::object trace_json(const TraceReport& t) {
  json::object out{{"age_ns", t.age_ns},
                   {"worker", t.worker},
                   {"number", t.number},
                   {"switch", t.switch_name},
                   {"port", t.port},
                   {"event", view(core::name_of(t.event))},
                   {"action", view(core::name_of(t.action))}};
  if (t.action == core::Action::drop) {
    out["reason"] = view(core::name_of(t.reason));
  }
  if (!t.out.empty()) {
    out["out"] = names(t.out);
  }
  if (t.reduction) {
    out["tree"] = t.reduction->tree.value;
    out["reduction"] = t.reduction->id.value;
    out["sequence"] = t.reduction->sequence;
    out["arm"] = t.reduction->arm;
    out["opcode"] = view(wire::name_of(static_cast<wire::Opcode>(t.reduction->op)));
    out["count"] = t.reduction->count;
    if (!t.reduction->form.empty()) {
      out["form"] = view(t.reduction->form);
      out["payload_bytes"] = t.reduction->payload_bytes;
    }
  }
  return out;
}

} // namespace

json::value to_json(const std::vector<PortReport>& ports) { return array_of(ports, port_json); }
json::value to_json(const std::vector<QueueReport>& queues) { return array_of(queues, queue_json); }
json::value to_json(const std::vector<TreeReport>& trees) { return array_of(trees, tree_json); }
json::value to_json(const std::vector<EngineReport>& engines) {
  return array_of(engines, engine_json);
}
json::value to_json(const std::vector<WorkerReport>& workers) {
  return array_of(workers, worker_json);
}
json::value to_json(const std::vector<ManagerReport>& managers) {
  return array_of(managers, manager_json);
}
json::value to_json(const std::vector<NeighbourReport>& neighbours) {
  return array_of(neighbours, neighbour_json);
}
json::value to_json(const std::vector<TraceReport>& events) { return array_of(events, trace_json); }

json::value to_json(const ExplainReport& e) {
  json::object out{{"action", view(core::name_of(e.action))},
                   {"event", view(core::name_of(e.event))},
                   {"out", names(e.out)},
                   {"steps", names(e.steps)}};
  if (e.action == core::Action::drop) {
    out["reason"] = view(core::name_of(e.reason));
    out["meaning"] = view(core::description_of(e.reason));
  }
  return out;
}

json::value to_json(const VersionReport& v) {
  return json::object{{"program", v.program},
                      {"version", v.version},
                      {"pid", v.pid},
                      {"uptime_s", v.uptime_s},
                      {"config_file", v.config_file},
                      {"switches", array_of(v.switches, [](const VersionReport::Switch& s) {
                         return json::object{{"name", s.name},
                                             {"ports", s.ports},
                                             {"trees", s.trees},
                                             {"tables_version", s.tables_version}};
                       })}};
}

json::value to_json(const ReloadReport& r) {
  return json::object{{"applied", names(r.applied)}, {"ignored", names(r.ignored)}};
}

json::value flat_counters(const std::vector<PortReport>& ports,
                          const std::vector<QueueReport>& queues,
                          const std::vector<TreeReport>& trees,
                          const std::vector<EngineReport>& engines,
                          const std::vector<WorkerReport>& workers,
                          const std::vector<ImpairmentReport>& impairments) {
  json::object out;
  for (const ImpairmentReport& i : impairments) {
    add_flat(out, i);
  }
  for (const PortReport& p : ports) {
    const std::string prefix = fmt::format("{}.port.{}", p.switch_name, p.name);
    add_flat(out, prefix, p);
    for (std::size_t i = 0; i < p.counts.drops.size(); ++i) {
      out[fmt::format("{}.drop.{}", prefix, core::name_of(static_cast<core::DropReason>(i)))] =
          p.counts.drops[i];
    }
  }
  for (const QueueReport& r : queues) {
    const std::string prefix =
        fmt::format("{}.queue.{}.{}", r.switch_name, r.port, r.queue.traffic_class.value);
    add_flat(out, prefix, r);
    // Not as drops: those of the port include them already.
    for (const core::DropReason reason : egress::queue_drop_reasons) {
      out[fmt::format("{}.{}", prefix, core::name_of(reason))] = r.queue.dropped(reason);
    }
  }
  for (const EngineReport& e : engines) {
    add_flat(out, fmt::format("{}.engine.{}", e.switch_name, e.port), e);
    out[fmt::format("{}.engine.{}.occupied", e.switch_name, e.port)] = e.occupied.size();
  }
  for (const TreeReport& t : trees) {
    add_flat(out, fmt::format("{}.tree.{}", t.switch_name, t.tree.value), t);
  }
  for (const WorkerReport& w : workers) {
    add_flat(out, fmt::format("worker.{}", w.number), w);
  }
  return out;
}

} // namespace tributary::management
