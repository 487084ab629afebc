// Traffic, drops and pauses of ports, as JSON.
#include "controlplane/api/views.hpp"

#include "controlplane/api/view_figures.hpp"
#include "controlplane/southbound/protocol/port_rates.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace tributary::api {

namespace json = boost::json;
using southbound::protocol::PortRates;
using southbound::protocol::SwitchReport;
using topology::SwitchId;

namespace {

constexpr double bits_per_byte = 8;
constexpr double mega = 1e6;

/// Rounded to three decimals.
double rounded(double value) { return std::round(value * 1e3) / 1e3; }
double mbps(double bytes) { return rounded(bytes * bits_per_byte / mega); }

json::object port_json(const control::PortStatistics& port, const PortRates& rates,
                       std::uint64_t speed_mbps) {
  const southbound::protocol::Dropped dropped = southbound::protocol::dropped_by(port);
  json::object reasons;
  for (const auto& [reason, count] : port.drops()) {
    if (!southbound::protocol::is_repeat(reason)) {
      reasons[reason] = count;
    }
  }
  json::object object{{"port", port.port()},
                      {"sent_mbps", mbps(rates.sent_bytes)},
                      {"received_mbps", mbps(rates.received_bytes)},
                      {"sent_frames", rounded(rates.sent_frames)},
                      {"received_frames", rounded(rates.received_frames)},
                      {"drops_per_second", rounded(rates.drops)},
                      {"drops", dropped.drops},
                      {"repeats_per_second", rounded(rates.repeats)},
                      {"repeats", dropped.repeats},
                      {"reasons", std::move(reasons)},
                      {"pauses_received", port.pauses_received()},
                      {"pauses_sent", port.pauses_sent()},
                      {"paused", rounded(rates.paused)}};
  if (speed_mbps != 0) {
    object["load"] =
        rounded(rates.sent_bytes * bits_per_byte / mega / static_cast<double>(speed_mbps));
  }
  return object;
}

/// Whether the port has anything to show.
bool is_in_use(const control::PortStatistics& port, const PortRates& rates) {
  return rates.sent_frames != 0 || rates.received_frames != 0 || !port.drops().empty() ||
         port.pauses_received() != 0 || port.pauses_sent() != 0;
}

} // namespace

json::object Views::load_json(SwitchId id) const {
  json::array ports;
  const SwitchReport empty;
  const SwitchReport& state =
      id.value < read_view_->switches.size() ? read_view_->switches[id.value] : empty;
  for (const auto& [number, port] : state.ports) {
    const auto found = state.rates.find(number);
    const PortRates rates = found == state.rates.end() ? PortRates{} : found->second;
    if (is_in_use(port, rates)) {
      const control::Port* const said =
          number < graph()[id].ports ? read_view_->discovery.port({id, topology::Port(number)})
                                     : nullptr;
      ports.push_back(port_json(port, rates, said == nullptr ? 0 : said->speed_mbps()));
    }
  }
  json::object object{{"switch", graph()[id].name}, {"ports", std::move(ports)}};
  if (state.counted != TimeNs{}) {
    object["age_seconds"] = seconds(elapsed_ns(at_, state.counted));
  }
  return object;
}

/// Lists switches that have sent counters.
void Views::list_loads(Page& page, const ViewRequest& request, std::uint64_t from) const {
  for (std::uint64_t s = from; s < graph().switches().size() && s < read_view_->switches.size();
       ++s) {
    const SwitchId id{static_cast<std::uint32_t>(s)};
    if (read_view_->switches[s].counted == TimeNs{} ||
        (!request.at_switch.empty() && graph()[id].name != request.at_switch)) {
      continue;
    }
    if (!page.has_room()) {
      return;
    }
    json::object object = load_json(id);
    const std::size_t weight = 1 + object.at("ports").as_array().size();
    page.add(std::to_string(s), std::move(object), weight);
  }
}

} // namespace tributary::api
