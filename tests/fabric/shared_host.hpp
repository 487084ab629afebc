// A host whose programs are members of groups that share a tree: each gets the frames of its range
// of the tree's ids, and those that multicast get shared frames by their cookies, as the host
// library's engine hands them out.
#pragma once

#include "tests/fabric/host_program.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/portals.hpp"
#include "tributary/wire/shared.hpp"

#include <algorithm>
#include <functional>
#include <optional>
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
    parts_.push_back({&program, first, ids, std::nullopt, std::move(has_ids)});
  }
  /// One that multicasts.
  void add(HostProgram& program, ReductionId first, std::uint32_t ids, Cookie cookie) {
    parts_.push_back({&program, first, ids, cookie, [] { return true; }});
  }

  void receive(std::span<const std::byte> frame, TrafficClass c, TimeNs now,
               HostPort& port) override {
    const std::byte* const portals = frame.data() + wire::ethernet_header_bytes;
    const wire::FabricAddress to = wire::dfa_of(portals);
    for (const Part& part : std::views::reverse(parts_)) {
      if (wire::is_shared(to) ? part.cookie == wire::cookie_of(portals)
                              : part.has(to.slot()) && part.has_ids()) {
        part.program->receive(frame, c, now, port);
        return;
      }
    }
  }
  void drained(TimeNs now, HostPort& port) override {
    for (const Part& part : parts_) {
      part.program->drained(now, port);
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
    std::optional<Cookie> cookie; ///< of shared frames
    std::function<bool()> has_ids;
    [[nodiscard]] bool has(ReductionId id) const {
      return id.value >= first.value && id.value < first.value + ids;
    }
  };
  std::vector<Part> parts_;
};

} // namespace tributary::fabric
