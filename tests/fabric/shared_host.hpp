// A host whose programs are members of groups that share a tree: each gets the frames of its range
// of the tree's ids, as the host library's engine hands them out.
#pragma once

#include "tests/fabric/host_program.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/portals.hpp"

#include <algorithm>
#include <functional>
#include <ranges>
#include <utility>
#include <vector>

namespace tributary::fabric {

class SharedHost final : public HostProgram {
public:
  /// The program must outlive the host. `has_ids`: whether it has its range now; of several that
  /// have an id, the last one added gets it.
  void add(HostProgram& program, ReductionId first, std::uint32_t ids,
           std::function<bool()> has_ids) {
    parts_.push_back({&program, first, ids, std::move(has_ids)});
  }

  void receive(std::span<const std::byte> frame, TrafficClass c, TimeNs now,
               HostPort& port) override {
    const ReductionId id = wire::dfa_of(frame.data() + wire::ethernet_header_bytes).slot();
    for (const Part& part : std::views::reverse(parts_)) {
      if (id.value >= part.first.value && id.value < part.first.value + part.ids &&
          part.has_ids()) {
        part.program->receive(frame, c, now, port);
        return;
      }
    }
  }
  void wake(TimeNs now, HostPort& port) override {
    for (const Part& part : parts_) {
      part.program->wake(now, port);
    }
  }
  [[nodiscard]] TimeNs next_wake() const override {
    TimeNs next = never;
    for (const Part& part : parts_) {
      next = std::min(next, part.program->next_wake());
    }
    return next;
  }

private:
  struct Part {
    HostProgram* program;
    ReductionId first;
    std::uint32_t ids;
    std::function<bool()> has_ids;
  };
  std::vector<Part> parts_;
};

} // namespace tributary::fabric
