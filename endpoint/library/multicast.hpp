// Calls of the C API that have windows (endpoint/reliable_multicast): broadcasts and allgathers, by
// multicast where the group's trees are shared, and reduce-scatters, where they have in-switch
// results as well; and the members have ids for it. Else all members reduce everything.
//
// The ids are a context of their own (endpoint/contexts) for each of the two lanes, in a group that
// no program sees. The first call of a lane makes it: all members agree, as for a dup.
#pragma once

#include "endpoint/collective/vector_pipeline.hpp"
#include "endpoint/contexts/ranges.hpp"
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
  Lane lane = Lane::multicast;
  bool may_have_windows = true; ///< false: the operation and its type cannot
  /// What all members reduce instead: the memory of a broadcast, or of an allgather whose blocks
  /// are one after the other, with zeros where the others write; or all of a reduce-scatter. Called
  /// if they reduce.
  std::function<collective::VectorTask()> reduction;
  /// After the reduction; may be empty.
  std::function<void()> unpack;
};

/// The group of this group's calls of a lane; null where the members reduce instead. Agrees with
/// all members if that is not known yet. Returns a code of the C API.
[[nodiscard]] int lane_of(engine::Loop::Lock& lock, tributary_group& group, Lane lane,
                          tributary_group*& by);

/// Runs the call to its end.
[[nodiscard]] int run_shared(engine::Loop::Lock& lock, tributary_group& group, SharedCall call,
                             tributary_result* result = nullptr);
/// Begins it.
[[nodiscard]] int start_shared(engine::Loop::Lock& lock, tributary_group& group, SharedCall call,
                               tributary_request** request);

/// The code and the text of a multicast whose group has ended.
[[nodiscard]] int multicast_failure_code(const tributary_group& by);
[[nodiscard]] std::string multicast_failure_text(const tributary_group& by);
/// The code of a finished call; fills in `result` unless it is null.
[[nodiscard]] int conclude_shared(const reliable_multicast::Operation& operation,
                                  tributary_result* result);
/// What the calls with windows of a group wait for; "" without any.
[[nodiscard]] std::string multicast_text(const tributary_group& group, TimeNs now);

/// The group is left: waits until all members have what this one sent, and gives up the ids.
void leave_lanes(engine::Loop::Lock& lock, tributary_group& group);

/// Makes a group of the members of `parent` on a range of ids of its own, which no program sees;
/// dup.cpp.
[[nodiscard]] int make_context(engine::Loop::Lock& lock, tributary_group& parent, Lane lane,
                               contexts::RangeSize size, tributary_group** child);

} // namespace tributary::library
