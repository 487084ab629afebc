// The whole fabric in pages, and what is wrong with it.
#include "controlplane/manager/manager.hpp"

#include "controlplane/manager/view_figures.hpp"
#include "controlplane/topology/cabling.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::manager {

namespace json = boost::json;
using topology::SwitchId;

namespace {

constexpr std::size_t problems_shown = 1000;

template <typename Texts> json::array shown_texts(const Texts& texts) {
  json::array list;
  for (const std::string& text : texts) {
    if (list.size() == problems_shown) {
      list.emplace_back(fmt::format("and {} more", texts.size() - problems_shown));
      break;
    }
    list.emplace_back(text);
  }
  return list;
}

} // namespace

const std::vector<std::string>& Manager::miscabled() {
  if (settings_.expected &&
      std::exchange(miscabled_version_, topology_version_) != topology_version_) {
    miscabled_ = topology::check_cabling(*settings_.expected, graph());
  }
  return miscabled_;
}

/// A tree uses up to eight descriptors of the engine at its parent port. By default an engine has
/// enough for all trees there can be, so this is about switches whose file gives them fewer.
void Manager::add_starved_engines(std::vector<std::string>& problems) const {
  for (std::uint32_t s = 0; s < switches_.size(); ++s) {
    for (const auto& [number, port] : switches_[s].ports) {
      if (port.arm_failed() != 0) {
        problems.push_back(fmt::format(
            "{} port {}: {} arms found no descriptor free since the switch started, so that their "
            "reductions passed unreduced; its engines have {} each, and each tree uses up to {}: "
            "raise descriptors_per_engine in the switch's file, or leave it out",
            graph()[SwitchId{s}].name, number, port.arm_failed(),
            switches_[s].limits.descriptors_per_engine(), reductions_per_tree));
      }
    }
    const auto has = scarce_descriptors(SwitchId{s});
    for (topology::Port port = 0; has && port < graph()[SwitchId{s}].ports; ++port) {
      const std::uint32_t trees = engines_.trees_at(SwitchId{s}, port);
      const std::uint32_t may_hold = trees * settings_.groups.descriptors_per_tree;
      if (trees > 1 && may_hold > *has) {
        problems.push_back(fmt::format(
            "{} port {}: {} trees may hold {} descriptors of its engine, which has {}: they were "
            "laid anew there after a fault, or before the switch had so few; what finds none "
            "passes unreduced",
            graph()[SwitchId{s}].name, port, trees, may_hold, *has));
      }
    }
  }
}

/// Three lists one behind the other; what is wrong stands on the first page.
api::Answer Manager::topology_page(const OnlyJob& only, const api::ViewRequest& request) {
  static constexpr std::string_view sections[] = {"switches", "hosts", "links"};
  const std::size_t colon = request.after.find(':');
  std::size_t section = 0;
  std::optional<std::uint64_t> from = 0;
  if (!request.after.empty()) {
    while (section < std::size(sections) && sections[section] != request.after.substr(0, colon)) {
      ++section;
    }
    from = colon == std::string::npos ? std::nullopt
                                      : first_of(std::string_view(request.after).substr(colon + 1));
    if (section == std::size(sections) || !from) {
      return bad_cursor(request.after);
    }
  }
  Budget budget(request.limit);
  json::object answer;
  for (const std::string_view name : sections) {
    answer[name] = json::array();
  }
  if (request.after.empty()) {
    std::vector<std::string> problems;
    if (!turning_away_.empty()) {
      problems.push_back(fmt::format("switches are turned away: {}", turning_away_));
    }
    for (const topology::Problem& problem : discovery_.problems()) {
      problems.push_back(problem.text);
    }
    add_starved_engines(problems);
    answer["problems"] = shown_texts(problems);
    answer["miscabled"] = shown_texts(miscabled());
  }
  for (; section < std::size(sections); ++section, from = 0) {
    Page page(budget);
    if (section == 0) {
      list_switches(page, *from);
    } else if (section == 1) {
      list_hosts(page, only, {.what = request.what}, *from);
    } else {
      list_links(page, {.what = request.what}, *from);
    }
    if (page.has_more()) {
      // Nothing of this list yet: it begins where this page was to begin.
      const std::string behind = !page.last().empty() ? page.last()
                                 : *from == 0         ? ""
                                                      : std::to_string(*from - 1);
      answer["next"] = fmt::format("{}:{}", sections[section], behind);
    }
    answer[sections[section]] = page.take_list();
    if (answer.contains("next")) {
      break;
    }
  }
  return {200, std::move(answer), 0};
}

} // namespace tributary::manager
