#include "endpoint/library/multicast.hpp"

#include "endpoint/library/boundary.hpp"
#include "endpoint/library/failure_text.hpp"
#include "endpoint/library/host.hpp"
#include "endpoint/library/multicast_parameters.hpp"
#include "endpoint/library/operations.hpp"
#include "endpoint/library/operators.hpp"
#include "lib/net/steady_clock.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace tributary::library {

using collective::Failure;
using engine::Loop;
using reliable_multicast::CallShape;
using reliable_multicast::Kind;
using reliable_multicast::Operation;
using reliable_multicast::Verdict;

namespace {

std::string call_text(const CallShape& call) {
  const auto reduced = [&] {
    const bool has_type = call.type < collective::element_type_count; // it is from a frame
    return fmt::format("{} bytes of {} by {}", call.bytes,
                       has_type ? type_name(static_cast<collective::ElementType>(call.type))
                                : "an unknown type",
                       name_of(static_cast<wire::Opcode>(call.op)));
  };
  switch (call.kind) {
  case Kind::broadcast:
    return fmt::format("a broadcast of {} bytes from rank {}", call.bytes, call.root);
  case Kind::allgather: return fmt::format("an allgather of {} bytes", call.bytes);
  case Kind::reduce_scatter: return fmt::format("a reduce-scatter of {}", reduced());
  case Kind::reduce: return fmt::format("a reduction of {} to rank {}", reduced(), call.root);
  }
  return "a call that does not exist";
}

std::string verdict_text(const Verdict& verdict, const tributary_group& by) {
  switch (verdict.what) {
  case Verdict::What::not_acknowledging:
    return fmt::format("{} {} not acknowledge", ranks_text(verdict.missing, &by),
                       verdict.missing.count == 1 ? "does" : "do");
  case Verdict::What::lacks_chunks:
    if (by.lane == Lane::reduction) {
      return fmt::format("rank {} lacks {} results", verdict.rank, verdict.chunks);
    }
    return fmt::format("rank {} lacks {} chunks, the first of them from rank {}", verdict.rank,
                       verdict.chunks, verdict.owner);
  case Verdict::What::calls_differ:
    return fmt::format(
        "rank {} called {} while the root, rank {}, called {}; all members must call "
        "the same operations with the same counts in the same order",
        verdict.rank, call_text(verdict.other_call), by.member.parameters().root_rank,
        call_text(verdict.root_call));
  case Verdict::What::ended: break;
  }
  return "the group was ended";
}

Loop::Wait wait_for(const Operation& operation) {
  return operation.windows() == 1 ? Loop::Wait::short_one : Loop::Wait::vector;
}

int answer_of_ended(const tributary_group& by) {
  return fail(by.host->last_error, multicast_failure_code(by), multicast_failure_text(by));
}

} // namespace

int multicast_failure_code(const tributary_group& by) {
  const Verdict& verdict = *by.multicast->failure();
  switch (verdict.what) {
  case Verdict::What::calls_differ: return TRIBUTARY_ERR_COUNT_MISMATCH;
  case Verdict::What::not_acknowledging:
  case Verdict::What::lacks_chunks: return TRIBUTARY_ERR_MEMBER_MISSING;
  case Verdict::What::ended: break;
  }
  return by.member.failure() ? failure_code(by) : TRIBUTARY_ERR_GROUP_ENDED;
}

std::string multicast_failure_text(const tributary_group& by) {
  const Verdict& verdict = *by.multicast->failure();
  if (verdict.what == Verdict::What::ended && by.member.failure()) {
    return failure_text(by);
  }
  const std::string text = verdict_text(verdict, by);
  const std::uint64_t limit = by.member.parameters().member_timeout_ns;
  return verdict.what == Verdict::What::calls_differ || limit == 0
             ? text
             : fmt::format("{} within the member time-out of {:.1f} s", text, seconds_of(limit));
}

namespace {

std::string lane_text(const tributary_group& by, TimeNs now) {
  const bool reduces = by.lane == Lane::reduction;
  const reliable_multicast::Member& member = *by.multicast;
  std::string text;
  const auto out = std::back_inserter(text);
  if (member.failure()) {
    fmt::format_to(out, "  {} have ended: {}\n", reduces ? "reduce-scatters" : "multicasts",
                   multicast_failure_text(by));
    return text;
  }
  const reliable_multicast::Status status = member.status();
  if (status.state == reliable_multicast::WindowState::absent) {
    return text;
  }
  fmt::format_to(out, "  {} window {}, for {:.3f} s: ", reduces ? "reduce-scatter" : "multicast",
                 status.window, seconds_of(elapsed_ns(now, status.since)));
  if (status.missing > 0 && reduces) {
    fmt::format_to(out, "{} results are not here", status.missing);
  } else if (status.missing > 0) {
    fmt::format_to(out, "{} chunks are not here, the first of them from rank {}", status.missing,
                   status.owner);
  } else {
    fmt::format_to(out, "all is here, and not at all members");
  }
  if (!status.is_armed) {
    fmt::format_to(out, "; the root (rank {}) has not asked yet", by.member.parameters().root_rank);
  }
  if (const auto& suspicion = member.suspicion()) {
    fmt::format_to(out, "; {}", verdict_text(*suspicion, by));
  }
  fmt::format_to(out, ", {} retries\n", status.retries);
  return text;
}

} // namespace

std::string multicast_text(const tributary_group& group, TimeNs now) {
  std::string text;
  for (const tributary_group::Windowed& each : group.windowed) {
    text += each.by == nullptr ? "" : lane_text(*each.by, now);
  }
  return text;
}

int lane_of(Loop::Lock& lock, tributary_group& group, Lane lane, tributary_group*& by) {
  tributary_group::Windowed& windowed = group.windowed_in(lane);
  by = windowed.by;
  if (by != nullptr || windowed.reduces_instead) {
    return TRIBUTARY_OK;
  }
  const collective::GroupParameters& own = group.member.parameters();
  const bool can = own.shared && own.size > 1 && !group.tree->is_range &&
                   (lane == Lane::multicast || (own.in_switch && own.is_wide() && !own.twin));
  if (!can) {
    windowed.reduces_instead = true;
    return TRIBUTARY_OK;
  }
  tributary_group* child = nullptr;
  int code = TRIBUTARY_ERR_FULL;
  if (lane == Lane::reduction) { // an id for each piece in flight: the more the better
    code = make_context(lock, group, lane, contexts::RangeSize::half, &child);
  }
  if (code == TRIBUTARY_ERR_FULL) {
    code = make_context(lock, group, lane, contexts::RangeSize::full, &child);
  }
  // All members have the same outcome of the agreement, and the same tree, which may be a further
  // one of these members that cannot do it.
  if (code == TRIBUTARY_ERR_FULL) {
    windowed.reduces_instead = true;
    return TRIBUTARY_OK;
  }
  if (code != TRIBUTARY_OK) {
    return code;
  }
  if (!child->multicast) {
    group.host->leave_context(*child);
    windowed.reduces_instead = true;
    return TRIBUTARY_OK;
  }
  windowed.by = by = child;
  return TRIBUTARY_OK;
}

int conclude_shared(const Operation& operation, tributary_result* result) {
  if (result != nullptr) {
    *result = {.code = static_cast<int>(operation.rc()), .first_nid = 0, .offending_nid = 0};
  }
  return TRIBUTARY_OK;
}

int run_shared(Loop::Lock& lock, tributary_group& group, SharedCall call,
               tributary_result* result) {
  require_ids(group);
  if (result != nullptr) {
    *result = {};
  }
  tributary_host& host = *group.host;
  tributary_group* by = nullptr;
  if (call.may_have_windows) {
    if (const int code = lane_of(lock, group, call.lane, by); code != TRIBUTARY_OK) {
      return code;
    }
  }
  if (by == nullptr) {
    const int code = run_task(lock, group, call.reduction(), result);
    if (code == TRIBUTARY_OK && call.unpack) {
      call.unpack();
    }
    return code;
  }
  const reliable_multicast::Parameters& p = by->multicast->parameters();
  Operation operation(std::move(call.multicast), p.chunk_bytes, p.window_chunks);
  host.loop().throw_if_broken();
  if (by->has_failed()) {
    return answer_of_ended(*by);
  }
  // An operation under way must not be destroyed; if the host breaks, or the group ends, nothing
  // accesses it again.
  host.start(*by, operation);
  host.loop().wait_through(
      lock, [&] { return operation.finished() || by->has_failed(); }, wait_for(operation));
  return operation.finished() ? conclude_shared(operation, result) : answer_of_ended(*by);
}

int start_shared(Loop::Lock& lock, tributary_group& group, SharedCall call,
                 tributary_request** request) {
  require_ids(group);
  tributary_host& host = *group.host;
  tributary_group* by = nullptr;
  if (call.may_have_windows) {
    if (const int code = lane_of(lock, group, call.lane, by); code != TRIBUTARY_OK) {
      return code;
    }
  }
  host.loop().throw_if_broken();
  if (by == nullptr) {
    if (group.member.failure()) {
      return fail(host.last_error, failure_code(group), failure_text(group));
    }
    tributary_request& added =
        group.requests.add(std::make_unique<tributary_request>(group, call.reduction()));
    added.unpack = std::move(call.unpack);
    *request = &added;
    host.start(group, std::get<tributary_request::Reduction>(added.operation));
    return TRIBUTARY_OK;
  }
  if (by->has_failed()) {
    return answer_of_ended(*by);
  }
  tributary_request& added = group.requests.add(
      std::make_unique<tributary_request>(group, *by, std::move(call.multicast)));
  *request = &added;
  host.start(*by, std::get<tributary_request::Multicast>(added.operation));
  return TRIBUTARY_OK;
}

void leave_lanes(Loop::Lock& lock, tributary_group& group) {
  for (tributary_group::Windowed& each : group.windowed) {
    if (each.by == nullptr) {
      continue;
    }
    tributary_group& by = *std::exchange(each.by, nullptr);
    tributary_host& host = *group.host;
    const std::uint64_t limit = by.member.parameters().leave_timeout_ns;
    host.loop().engine().wake(by);
    static_cast<void>(guarded(host.last_error, [&] {
      static_cast<void>(host.loop().wait_until(
          lock, [&] { return by.has_failed() || by.multicast->is_complete(); },
          net::steady_now() + limit));
      return static_cast<int>(TRIBUTARY_OK);
    }));
    host.leave_context(by);
  }
}

} // namespace tributary::library
