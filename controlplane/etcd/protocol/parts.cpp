#include "controlplane/etcd/protocol/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace tributary::etcd::protocol {

using record_text::end_of;
using record_text::Erase;
using record_text::EraseAll;
using record_text::Operation;
using record_text::Put;

namespace {

/// What an operation takes besides its key and value.
constexpr std::size_t overhead_bytes = 64;

std::size_t bytes_of(const Operation& operation) {
  const auto* const put = std::get_if<Put>(&operation);
  return overhead_bytes + (put != nullptr
                               ? put->key.size() + put->text.size()
                               : std::visit([](const auto& o) { return o.key.size(); }, operation));
}

/// The last change of each key, and the ranges that are erased before.
class Folded {
public:
  void add(Operation operation) {
    if (const auto* const range = std::get_if<EraseAll>(&operation)) {
      latest_.erase(latest_.lower_bound(range->key), latest_.lower_bound(end_of(range->key)));
      ranges_.insert(range->key);
      return;
    }
    std::string key = std::visit([](const auto& o) { return o.key; }, operation);
    if (std::holds_alternative<Erase>(operation) && is_erased(key)) {
      latest_.erase(key);
      return;
    }
    latest_.insert_or_assign(std::move(key), std::move(operation));
  }
  [[nodiscard]] const std::set<std::string>& ranges() const { return ranges_; }
  [[nodiscard]] const std::map<std::string, Operation>& latest() const { return latest_; }
  /// Whether a put is inside a range that is erased.
  [[nodiscard]] bool overlaps() const {
    return std::ranges::any_of(latest_, [this](const auto& one) { return is_erased(one.first); });
  }

private:
  /// A range is a key and all below it.
  [[nodiscard]] bool is_erased(std::string_view key) const {
    for (std::size_t slash = key.find('/');; slash = key.find('/', slash + 1)) {
      if (ranges_.contains(std::string(key.substr(0, slash)))) {
        return true;
      }
      if (slash == std::string_view::npos) {
        return false;
      }
    }
  }

  std::map<std::string, Operation> latest_;
  std::set<std::string> ranges_;
};

/// Where an operation stands: the step, and in the step of groups which group, and its members
/// first.
using Place = std::tuple<int, std::string_view, bool>;
constexpr int step_of_groups = 2;

Place place_of(std::string_view key, bool is_put) {
  constexpr std::string_view group = "group/";
  if (key.starts_with(group)) {
    const std::string_view id = key.substr(0, key.find('/', group.size()));
    return {step_of_groups, id, !key.substr(id.size()).starts_with("/member/")};
  }
  struct Step {
    std::string_view begin;
    int step;
  };
  static constexpr Step steps[] = {
      {"address/", 0}, {"vni-release/", 0}, {"job/", 1}, {"topology/switch", 3}, {"topology/", 4},
  };
  if (!is_put && key.starts_with("job/")) {
    return {6, {}, false};
  }
  const auto* const found =
      std::ranges::find_if(steps, [&](const Step& one) { return key.starts_with(one.begin); });
  return {found == std::end(steps) ? 5 : found->step, {}, false};
}

/// Fills one part after the other with units that are not separated.
class Packer {
public:
  explicit Packer(const Limits& limits) : limits_(limits) {}
  void add(std::span<const Operation> unit) {
    std::size_t bytes = 0;
    for (const Operation& operation : unit) {
      bytes += bytes_of(operation);
    }
    if (unit.size() > limits_.operations || bytes > limits_.bytes) {
      throw TooLarge(fmt::format(
          "{} with what belongs to it takes {} bytes in {} records; etcd takes {} bytes in {}",
          std::visit([](const auto& o) { return o.key; }, unit.front()), bytes, unit.size(),
          limits_.bytes, limits_.operations));
    }
    if (parts_.empty() || parts_.back().size() + unit.size() > limits_.operations ||
        bytes_ + bytes > limits_.bytes) {
      begin_part();
    }
    parts_.back().insert(parts_.back().end(), unit.begin(), unit.end());
    bytes_ += bytes;
  }
  void begin_part() {
    if (parts_.empty() || !parts_.back().empty()) {
      parts_.emplace_back();
    }
    bytes_ = 0;
  }
  [[nodiscard]] std::vector<Part> take() {
    std::erase_if(parts_, [](const Part& part) { return part.empty(); });
    return std::move(parts_);
  }

private:
  Limits limits_;
  std::vector<Part> parts_;
  std::size_t bytes_ = 0; ///< of the last part
};

} // namespace

std::vector<Part> parts_of(std::span<const records::Change> changes, const Limits& limits) {
  Folded folded;
  for (const records::Change& change : changes) {
    folded.add(record_text::operation_of(change));
  }
  std::vector<std::pair<Place, const Operation*>> placed;
  placed.reserve(folded.latest().size());
  std::size_t bytes = 0;
  for (const auto& [key, operation] : folded.latest()) {
    placed.emplace_back(place_of(key, std::holds_alternative<Put>(operation)), &operation);
    bytes += bytes_of(operation);
  }
  std::ranges::stable_sort(placed, {}, &std::pair<Place, const Operation*>::first);

  Packer packer(limits);
  for (const std::string& range : folded.ranges()) {
    packer.add(std::vector<Operation>{EraseAll{range}});
    bytes += overhead_bytes + range.size();
  }
  const bool is_one = folded.ranges().size() + placed.size() <= limits.operations &&
                      bytes <= limits.bytes && !folded.overlaps();
  if (!is_one) {
    packer.begin_part();
  }
  for (std::size_t i = 0; i < placed.size();) {
    const Place& place = placed[i].first;
    std::vector<Operation> unit = {*placed[i].second};
    for (++i; i < placed.size() && std::get<0>(place) == step_of_groups && std::get<2>(place) &&
              placed[i].first == place;
         ++i) {
      unit.push_back(*placed[i].second);
    }
    packer.add(unit);
  }
  return packer.take();
}

} // namespace tributary::etcd::protocol
