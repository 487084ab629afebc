#include "controlplane/records/records.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace tributary::records {
namespace {

constexpr std::array<std::string_view, 6> group_states = {
    "receiving_join_req", "computing_routes", "ready", "receiving_leave_req", "destroying", "gone"};
constexpr std::array<std::string_view, 3> member_states = {"joined", "left", "expired"};

template <typename State>
std::optional<State> named(std::span<const std::string_view> names, std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) {
      return static_cast<State>(i);
    }
  }
  return std::nullopt;
}

} // namespace

std::string_view name_of(GroupState state) { return group_states[static_cast<std::size_t>(state)]; }
std::string_view name_of(MemberState state) {
  return member_states[static_cast<std::size_t>(state)];
}
std::optional<GroupState> group_state_named(std::string_view name) {
  return named<GroupState>(group_states, name);
}
std::optional<MemberState> member_state_named(std::string_view name) {
  return named<MemberState>(member_states, name);
}

bool has_node(const Allocation& allocation, std::string_view name) {
  const auto at = std::ranges::lower_bound(
      allocation.nodes, name, {}, [](const auto& node) { return std::string_view(node.name); });
  return at != allocation.nodes.end() && at->name == name;
}

} // namespace tributary::records
