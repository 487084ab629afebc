// The whole fabric in pages, and its problems.
#include "controlplane/api/views.hpp"

#include "controlplane/api/view_figures.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::api {

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

/// A tree uses up to eight descriptors of the engine at its parent port. By default an engine has
/// enough for all possible trees, so this concerns switches that are configured with fewer.
void Views::add_starved_engines(std::vector<std::string>& problems) const {
  for (std::uint32_t s = 0; s < read_view_->switches.size(); ++s) {
    for (const auto& [number, port] : read_view_->switches[s].ports) {
      if (port.arm_failed() != 0) {
        problems.push_back(fmt::format(
            "{} port {}: {} arms found no descriptor free since the switch started, so that their "
            "reductions passed unreduced; its engines have {} each, and each tree uses up to {}: "
            "raise descriptors_per_engine in the switch's file, or leave it out",
            graph()[SwitchId{s}].name, number, port.arm_failed(),
            read_view_->switches[s].limits.descriptors_per_engine(), reductions_per_tree));
      }
    }
    const auto has = read_view_->switches[s].scarce_descriptors();
    for (topology::Port port = 0; has && port < graph()[SwitchId{s}].ports; ++port) {
      const std::uint32_t trees = read_view_->engines.trees_at(SwitchId{s}, port);
      const std::uint32_t may_hold = trees * read_view_->settings.descriptors_per_tree;
      if (trees > 1 && may_hold > *has) {
        problems.push_back(fmt::format(
            "{} port {}: {} trees may hold {} descriptors of its engine, which has {}: they were "
            "rerouted there after a fault, or the switch had more before; what finds none "
            "passes unreduced",
            graph()[SwitchId{s}].name, port, trees, may_hold, *has));
      }
    }
  }
}

Answer Views::topology_page(const OnlyJob& only, const ViewRequest& request,
                            std::vector<std::string> problems,
                            std::span<const std::string> miscabled) const {
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
    for (const topology::Problem& problem : read_view_->discovery.problems()) {
      problems.push_back(problem.text);
    }
    add_starved_engines(problems);
    answer["problems"] = shown_texts(problems);
    answer["miscabled"] = shown_texts(miscabled);
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
      // No object of this list yet: it begins where this page was to begin.
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

} // namespace tributary::api
