// A host whose programs are members of groups that share a tree: each gets the frames of its range
// of the tree's ids, as the host library's engine hands them out.
#pragma once

#include "tests/fabric/host_program.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/portals.hpp"

#include <algorithm>
#include <functional>
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
    // Not by std::views::reverse, which clang 14 does not compile.
    const auto part = std::find_if(parts_.rbegin(), parts_.rend(), [id](const Part& one) {
      return id.value >= one.first.value && id.value < one.first.value + one.ids && one.has_ids();
    });
    if (part != parts_.rend()) {
      part->program->receive(frame, c, now, port);
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
