#include "endpoint/library/multicast.hpp"

#include "endpoint/library/boundary.hpp"
#include "endpoint/library/failure_text.hpp"
#include "endpoint/library/host.hpp"
#include "endpoint/library/multicast_parameters.hpp"
#include "endpoint/library/operations.hpp"
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
  return call.kind == Kind::broadcast
             ? fmt::format("a broadcast of {} bytes from rank {}", call.bytes, call.root)
             : fmt::format("an allgather of {} bytes", call.bytes);
}

std::string verdict_text(const Verdict& verdict, const tributary_group& by) {
  switch (verdict.what) {
  case Verdict::What::not_acknowledging:
    return fmt::format("{} {} not acknowledge", ranks_text(verdict.missing, &by),
                       verdict.missing.count == 1 ? "does" : "do");
  case Verdict::What::lacks_chunks:
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

std::string multicast_text(const tributary_group& group, TimeNs now) {
  if (group.multicasts_by == nullptr) {
    return "";
  }
  const tributary_group& by = *group.multicasts_by;
  const reliable_multicast::Member& member = *by.multicast;
  std::string text;
  const auto out = std::back_inserter(text);
  if (member.failure()) {
    fmt::format_to(out, "  multicasts have ended: {}\n", multicast_failure_text(by));
    return text;
  }
  const reliable_multicast::Status status = member.status();
  if (status.state == reliable_multicast::WindowState::absent) {
    return text;
  }
  fmt::format_to(out, "  multicast window {}, for {:.3f} s: ", status.window,
                 seconds_of(elapsed_ns(now, status.since)));
  if (status.missing > 0) {
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

int multicasts_of(Loop::Lock& lock, tributary_group& group, tributary_group*& by) {
  by = group.multicasts_by;
  if (by != nullptr || group.reduces_instead) {
    return TRIBUTARY_OK;
  }
  const collective::GroupParameters& own = group.member.parameters();
  if (!own.shared || own.size == 1 || group.tree->is_range) {
    group.reduces_instead = true;
    return TRIBUTARY_OK;
  }
  tributary_group* child = nullptr;
  const int code = make_context(lock, group, &child);
  // All members have the same outcome of the agreement, and the same tree.
  if (code == TRIBUTARY_ERR_FULL) {
    group.reduces_instead = true;
    return TRIBUTARY_OK;
  }
  if (code != TRIBUTARY_OK) {
    return code;
  }
  if (!child->member.parameters().shared) { // a further tree of these members
    group.host->leave_context(*child);
    group.reduces_instead = true;
    return TRIBUTARY_OK;
  }
  group.multicasts_by = by = child;
  return TRIBUTARY_OK;
}

int run_shared(Loop::Lock& lock, tributary_group& group, SharedCall call) {
  require_ids(group);
  tributary_host& host = *group.host;
  tributary_group* by = nullptr;
  if (const int code = multicasts_of(lock, group, by); code != TRIBUTARY_OK) {
    return code;
  }
  if (by == nullptr) {
    const int code = run_task(lock, group, call.reduction(), nullptr);
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
  return operation.finished() ? static_cast<int>(TRIBUTARY_OK) : answer_of_ended(*by);
}

int start_shared(Loop::Lock& lock, tributary_group& group, SharedCall call,
                 tributary_request** request) {
  require_ids(group);
  tributary_host& host = *group.host;
  tributary_group* by = nullptr;
  if (const int code = multicasts_of(lock, group, by); code != TRIBUTARY_OK) {
    return code;
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

void leave_multicasts(Loop::Lock& lock, tributary_group& group) {
  if (group.multicasts_by == nullptr) {
    return;
  }
  tributary_group& by = *std::exchange(group.multicasts_by, nullptr);
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

} // namespace tributary::library
