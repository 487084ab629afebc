#include "launcher/fabric/route_times.hpp"

#include <algorithm>
#include <deque>
#include <map>

namespace tributary::launch::fabric {

namespace json = boost::json;

namespace {

using Neighbours = std::map<std::string, std::vector<std::string>>;

Neighbours neighbours_of(const json::array& links) {
  Neighbours all;
  for (const json::value& link : links) {
    const json::object& one = link.as_object();
    if (const json::value* up = one.if_contains("up"); up != nullptr && !up->as_bool()) {
      continue;
    }
    const std::string a(one.at("a").at("switch").as_string());
    const std::string b(one.at("b").at("switch").as_string());
    all[a].push_back(b);
    all[b].push_back(a);
  }
  return all;
}

std::map<std::string, std::uint32_t> distances_from(const std::string& from,
                                                    const Neighbours& neighbours) {
  std::map<std::string, std::uint32_t> distance{{from, 0}};
  std::deque<std::string> ahead{from};
  while (!ahead.empty()) {
    const std::string at = std::move(ahead.front());
    ahead.pop_front();
    const auto found = neighbours.find(at);
    if (found == neighbours.end()) {
      continue;
    }
    for (const std::string& next : found->second) {
      if (distance.try_emplace(next, distance.at(at) + 1).second) {
        ahead.push_back(next);
      }
    }
  }
  return distance;
}

} // namespace

std::vector<double> relative_route_times(const std::vector<Place>& nodes,
                                         const json::array& links) {
  const Neighbours neighbours = neighbours_of(links);
  std::map<std::string, std::map<std::string, std::uint32_t>> distances;
  std::vector<double> times;
  for (const Place& from : nodes) {
    if (from.at_switch.empty()) {
      return {};
    }
    auto known = distances.find(from.at_switch);
    if (known == distances.end()) {
      known = distances.emplace(from.at_switch, distances_from(from.at_switch, neighbours)).first;
    }
    for (const Place& to : nodes) {
      if (&to == &from) {
        times.push_back(0);
        continue;
      }
      const auto found = known->second.find(to.at_switch);
      if (found == known->second.end()) {
        return {};
      }
      times.push_back(2.0 + found->second); // and a link at either end
    }
  }
  double least = 0;
  for (const double time : times) {
    least = time > 0 && (least == 0 || time < least) ? time : least;
  }
  for (double& time : times) {
    time = least > 0 ? time / least : 0;
  }
  return times;
}

} // namespace tributary::launch::fabric
