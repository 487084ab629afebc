// Broadcasts and allgathers of the C API: by multicast where the group's trees are shared and the
// members have ids for acknowledgements, else by a reduction.
//
// The ids are a context of their own (endpoint/contexts), in a group that no program sees. The
// first call of a group makes it: all members agree, as for a dup.
#pragma once

#include "endpoint/collective/vector_pipeline.hpp"
#include "endpoint/engine/loop.hpp"
#include "endpoint/library/group.hpp"
#include "endpoint/reliable_multicast/operation.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tributary::library {

/// One call, as far as its arguments have been checked. Either of its two forms is used.
struct SharedCall {
  reliable_multicast::Task multicast;
  /// What all members reduce instead: the memory of a broadcast, or of an allgather whose blocks
  /// are one after the other, with zeros where the others write. Called if they reduce.
  std::function<collective::VectorTask()> reduction;
  /// After the reduction; may be empty.
  std::function<void()> unpack;
};

/// The group of this group's multicasts; null where the members reduce instead. Agrees with all
/// members if that is not known yet. Returns a code of the C API.
[[nodiscard]] int multicasts_of(engine::Loop::Lock& lock, tributary_group& group,
                                tributary_group*& by);

/// Runs the call to its end.
[[nodiscard]] int run_shared(engine::Loop::Lock& lock, tributary_group& group, SharedCall call);
/// Begins it.
[[nodiscard]] int start_shared(engine::Loop::Lock& lock, tributary_group& group, SharedCall call,
                               tributary_request** request);

/// The code and the text of a multicast whose group has ended.
[[nodiscard]] int multicast_failure_code(const tributary_group& by);
[[nodiscard]] std::string multicast_failure_text(const tributary_group& by);
/// What the multicasts of a group wait for; "" without any.
[[nodiscard]] std::string multicast_text(const tributary_group& group, TimeNs now);

/// The group is left: waits until all members have what this one sent, and gives up the ids.
void leave_multicasts(engine::Loop::Lock& lock, tributary_group& group);

/// Makes a group of the members of `parent` on ids of its own; dup.cpp. `for_multicasts`: no
/// program sees it.
[[nodiscard]] int make_context(engine::Loop::Lock& lock, tributary_group& parent,
                               tributary_group** child);

} // namespace tributary::library
