#include "controlplane/records/records.hpp"

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

} // namespace tributary::records
