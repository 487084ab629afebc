#include "dataplane/core/engine_state.hpp"

#include "dataplane/core/switch_core.hpp"

#include <cstring>

namespace tributary::core {
namespace {

std::vector<std::byte> lines_of(const SlotMemory& memory, std::uint32_t first,
                                std::uint32_t lines) {
  const std::byte* const data = memory.slot(first);
  return {data, data + std::size_t{lines} * slot_line_bytes};
}

void put_lines(SlotMemory& memory, std::uint32_t first, const std::vector<std::byte>& bytes) {
  if (!bytes.empty()) {
    std::memcpy(memory.slot(first), bytes.data(), bytes.size());
  }
}

} // namespace

bool ReductionEngines::knows(ReductionKey key) const {
  return descriptor(key).match.armed() || record(key).has_ended || counted(key).of != MatchWord{};
}

void ReductionEngines::forget(ReductionKey key, const MulticastEntry& entry) {
  if (descriptor(key).match.armed()) {
    release(key, entry);
  }
  descriptor(key) = {};
  record(key) = {};
  counted(key) = {};
}

void ReductionEngines::put(const EngineState::Reduction& one, const MulticastEntry& entry) {
  descriptor(one.key) = one.descriptor;
  record(one.key) = one.record;
  counted(one.key) = one.counted;
  if (one.descriptor.match.armed()) {
    deadlines_.start(one.key, entry.timer, one.deadline);
    in_use_[entry.parent.value] += entry.has_place() ? 0 : 1;
  }
}

EngineState SwitchCore::give_out(std::span<const TreeNumber> trees) {
  EngineState state{.tables_version = tables_->version(), .reductions = {}};
  for (const TreeNumber tree : trees) {
    const MulticastEntry& entry = tables_->tree(tree);
    const SlotPlace& place = tables_->slot_place(tree);
    for (std::uint32_t id = 0; entry.wait_count != 0 && id < entry.slots(); ++id) {
      const ReductionKey key(tree, ReductionId{static_cast<std::uint8_t>(id)});
      if (!entry.in_switch && !engines_.knows(key)) {
        continue;
      }
      EngineState::Reduction& one = state.reductions.emplace_back();
      one.key = key;
      one.descriptor = engines_.descriptor(key);
      one.record = engines_.record(key);
      one.counted = engines_.counted(key);
      if (one.descriptor.match.armed()) {
        one.deadline = engines_.deadlines().deadline(key);
      }
      if (one.descriptor.match.is_wide()) {
        one.slot = lines_of(wide_.memory(), held_line(one.descriptor), place.stride_lines());
      }
      if (entry.in_switch) {
        one.in_switch = in_switch_[key];
        if (one.in_switch.kept_payload_bytes() != 0) {
          one.kept =
              lines_of(wide_.memory(), place.kept_line_of(key.reduction()), place.payload_lines());
        }
      }
    }
  }
  // From here on nothing is allocated: without memory the engines stay here.
  for (const EngineState::Reduction& one : state.reductions) {
    const MulticastEntry& entry = tables_->tree(one.key);
    engines_.forget(one.key, entry);
    if (entry.in_switch) {
      in_switch_[one.key] = {};
    }
  }
  return state;
}

void SwitchCore::take_in(const EngineState& state) {
  for (const EngineState::Reduction& one : state.reductions) {
    const MulticastEntry& entry = tables_->tree(one.key);
    engines_.put(one, entry);
    if (!one.slot.empty()) {
      put_lines(wide_.memory(), held_line(one.descriptor), one.slot);
    }
    if (entry.in_switch) {
      in_switch_[one.key] = one.in_switch;
      put_lines(wide_.memory(),
                tables_->slot_place(one.key.tree()).kept_line_of(one.key.reduction()), one.kept);
      if (one.in_switch.replay_due) {
        replays_due_.push_back(one.key);
        engines_.deadlines().hasten();
      }
    }
  }
}

} // namespace tributary::core
