// Contents of the switches' memory for wide frames, as JSON.
#include "controlplane/api/views.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace tributary::api {

namespace json = boost::json;
using topology::SwitchId;

namespace {

constexpr std::size_t holders_shown = 16;

} // namespace

json::object Views::memory_json(SwitchId id, const OnlyJob& only) const {
  const southbound::protocol::SwitchReport* const state =
      id.value < read_view_->switches.size() ? &read_view_->switches[id.value] : nullptr;
  const std::uint64_t size = state == nullptr ? 0 : state->limits.wide_memory();
  const std::uint64_t used = read_view_->memory.used_bytes(id);
  const auto all = read_view_->memory.holders(id);
  json::array holders;
  for (const trees::WideMemory::Holding& one : all) {
    if (holders.size() == holders_shown) {
      break;
    }
    json::object entry{{"tree", one.tree.value},
                       {"bytes", one.frames.bytes()},
                       {"slots", one.frames.slots},
                       {"payload", one.frames.payload},
                       {"float16", one.frames.half_floats},
                       {"from_file", one.from_file}};
    const group::Group* const group = one.from_file ? nullptr : read_view_->registry.find(one.tree);
    if (group != nullptr && sees(only, *group)) {
      entry["job"] = group->job;
      entry["group"] = group->name;
    }
    holders.push_back(std::move(entry));
  }
  return {{"switch", graph()[id].name},
          {"size", size},
          {"used", used},
          {"free", size - std::min(size, used)},
          {"trees", all.size()},
          {"holders", std::move(holders)}};
}

/// In order of switch numbers.
void Views::list_memory(Page& page, const OnlyJob& only, const ViewRequest& request,
                        std::uint64_t from) const {
  for (std::uint64_t s = from; s < graph().switches().size(); ++s) {
    const SwitchId id{static_cast<std::uint32_t>(s)};
    if (!request.at_switch.empty() && graph()[id].name != request.at_switch) {
      continue;
    }
    if (!page.has_room()) {
      return;
    }
    json::object object = memory_json(id, only);
    const std::size_t weight = 1 + object.at("holders").as_array().size();
    page.add(std::to_string(s), std::move(object), weight);
  }
}

} // namespace tributary::api
