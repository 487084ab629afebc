// The functions of tributary.h that reduce, and wait for pending operations.
#include "endpoint/library/operations.hpp"
#include "endpoint/collective/element_type.hpp"
#include "endpoint/library/boundary.hpp"
#include "endpoint/library/failure_text.hpp"
#include "endpoint/library/host.hpp"
#include "endpoint/library/operators.hpp"
#include "endpoint/library/status_text.hpp"
#include "lib/net/steady_clock.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

using tributary::TimeNs;
using tributary::collective::ElementType;
using tributary::collective::VectorOperation;
using tributary::collective::VectorTask;
using tributary::engine::Loop;
using tributary::library::fail;
using tributary::library::guarded;
using tributary::library::require;
namespace library = tributary::library;
namespace wire = tributary::wire;

namespace {

/// The return code of a finished operation.
int conclude(const VectorOperation& operation, std::string& message, tributary_result* result) {
  const bool mismatch = operation.rc() == wire::ResultCode::op_mismatch;
  if (result != nullptr) {
    *result = {.code = mismatch ? 0 : static_cast<int>(operation.rc()),
               .first_nid = operation.first_source().value,
               .offending_nid = operation.offending_source().value};
  }
  if (!mismatch) {
    return TRIBUTARY_OK;
  }
  return fail(message, TRIBUTARY_ERR_OP_MISMATCH,
              fmt::format("the members called different operators: the host with NID {:#x} called "
                          "another one than the host with NID {:#x}; all members of a group must "
                          "call the same operations in the same order",
                          operation.offending_source().value, operation.first_source().value));
}

/// The return code of an operation whose group has ended before it was done.
int answer_of_ended(const tributary_group& group, tributary_result* result) {
  if (result != nullptr) {
    *result = {};
  }
  return fail(group.host->last_error, library::failure_code(group), library::failure_text(group));
}

/// Requires that this number of elements fits into the address space.
void require_possible(std::size_t count, ElementType type) {
  constexpr auto most_bytes = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
  if (count > most_bytes / bytes_of(type)) {
    throw std::invalid_argument(
        fmt::format("no buffer has {} elements of {} bytes; is the count a negative number?", count,
                    bytes_of(type)));
  }
}

/// Pieces are read after others have been written: out must be equal to in, or not overlap it.
void require_apart(const void* in, const void* out, std::size_t bytes) {
  const auto from = reinterpret_cast<std::uintptr_t>(in);
  const auto to = reinterpret_cast<std::uintptr_t>(out);
  require(from == to || (from < to ? to - from : from - to) >= bytes,
          "in and out overlap; give the same buffer twice, or two that do not overlap");
}

VectorTask reduction(const tributary_group& group, const void* in, void* out, std::size_t count,
                     int type, int op, bool keep) {
  const auto element_type = library::element_type(type);
  require(element_type.has_value(), "the type is not in enum tributary_type");
  const auto opcode = library::opcode_for(op, *element_type, group.member.parameters().is_wide());
  if (!opcode && library::opcode_for(op, *element_type, true)) {
    throw std::invalid_argument(fmt::format(
        "{} of {} needs wide frames, and this group has none: its payload is {} bytes; {}",
        library::operator_name(op), library::type_name(*element_type),
        group.member.parameters().payload,
        group.named() != nullptr
            ? "its fabric manager's groups.payload, a switch or a member keeps it at that, "
              "and `tributaryctl fabric show groups JOB/NAME` says which"
            : "give the tree a payload in the switches' files, and all members the same"));
  }
  if (!opcode) {
    throw std::invalid_argument(
        fmt::format("operator {} does not reduce {}; the table at enum tributary_op in "
                    "tributary.h says which do",
                    library::operator_name(op), library::type_name(*element_type)));
  }
  require_possible(count, *element_type);
  if (count > 0 && (in == nullptr || (keep && out == nullptr))) {
    throw std::invalid_argument(
        fmt::format("rank {}: a buffer is NULL though there are {} elements",
                    group.member.parameters().rank, count));
  }
  if (keep) {
    require_apart(in, out, count * bytes_of(*element_type));
  }
  return {.op = *opcode,
          .type = *element_type,
          .in = static_cast<const std::byte*>(in),
          .out = keep ? static_cast<std::byte*>(out) : nullptr,
          .elements = count};
}

/// A broadcast is a bitwise OR of bytes to which all but one contribute zeros.
VectorTask broadcast(const tributary_group& group, void* buffer, std::size_t count, int type,
                     std::uint32_t from_rank) {
  const auto element_type = library::element_type(type);
  require(element_type.has_value(), "the type is not in enum tributary_type");
  require_possible(count, *element_type);
  require(from_rank < group.member.parameters().size, "from_rank is not below the group's size");
  require(count == 0 || buffer != nullptr, "the buffer is NULL though there are elements");
  const bool speaks = group.member.parameters().rank == from_rank;
  return {.op = wire::Opcode::bit_or,
          .type = ElementType::uint8,
          .in = speaks ? static_cast<const std::byte*>(buffer) : nullptr,
          .out = speaks ? nullptr : static_cast<std::byte*>(buffer),
          .elements = count * bytes_of(*element_type)};
}

bool keeps(const tributary_group& group, std::uint32_t to_rank) {
  require(to_rank < group.member.parameters().size, "to_rank is not below the group's size");
  return group.member.parameters().rank == to_rank;
}

/// With at most this many pieces each is awaited more or less separately; frames of longer
/// operations gather.
constexpr std::uint64_t pieces_of_a_short_one = 4;

Loop::Wait wait_for(const VectorOperation& operation, Loop& loop) {
  if (operation.pieces() <= pieces_of_a_short_one) {
    return Loop::Wait::short_one;
  }
  return operation.pieces() <= loop.port().frames_at_once() ? Loop::Wait::burst
                                                            : Loop::Wait::vector;
}

} // namespace

void library::require_ids(const tributary_group& group) {
  require(!group.tree->is_kept,
          "this group holds its tree for groups of other processes, and has no ids of it itself");
}

int library::run_task(Loop::Lock& lock, tributary_group& group, const VectorTask& task,
                      tributary_result* result) {
  require_ids(group);
  tributary_host& host = *group.host;
  VectorOperation operation(task, group.member.parameters().payload);
  host.loop().throw_if_broken();
  if (group.member.failure()) {
    return answer_of_ended(group, result);
  }
  // A linked operation must not be destroyed; if the host breaks, or the group ends, nothing
  // accesses it again.
  host.start(group, operation);
  host.loop().wait_through(
      lock, [&] { return operation.finished() || group.member.failure().has_value(); },
      wait_for(operation, host.loop()));
  if (operation.finished()) {
    return conclude(operation, host.last_error, result);
  }
  group.pipeline.abandon();
  return answer_of_ended(group, result);
}

namespace {

/// Runs the task of `make_task` to its end.
template <typename MakeTask>
int run(tributary_group* group, MakeTask&& make_task, tributary_result* result) {
  if (group == nullptr) {
    return library::no_host("the group");
  }
  return guarded(group->host->last_error, [&] {
    auto lock = group->host->loop().lock();
    return library::run_task(lock, *group, make_task(), result);
  });
}

template <typename MakeTask>
int start(tributary_group* group, MakeTask&& make_task, tributary_request** request) {
  if (request != nullptr) {
    *request = nullptr;
  }
  if (group == nullptr) {
    return library::no_host("the group");
  }
  return guarded(group->host->last_error, [&] {
    require(request != nullptr, "no place for the request: it is NULL");
    const auto lock = group->host->loop().lock();
    library::require_ids(*group);
    const VectorTask task = make_task();
    group->host->loop().throw_if_broken();
    if (group->member.failure()) {
      return answer_of_ended(*group, nullptr);
    }
    tributary_request& added =
        group->requests.add(std::make_unique<tributary_request>(*group, task));
    *request = &added;
    group->host->start(*group, added.operation);
    return static_cast<int>(TRIBUTARY_OK);
  });
}

/// Whether a request cannot progress any more: it is done, or its group has ended.
bool is_over(const tributary_request& request) {
  return request.operation.finished() || request.group->member.failure().has_value();
}

/// Concludes a request that is over and frees it.
int release(tributary_request** request, tributary_result* result) {
  tributary_request* finished = *request;
  tributary_group& group = *finished->group;
  *request = nullptr;
  const bool done = finished->operation.finished();
  const int code = done ? conclude(finished->operation, group.host->last_error, result)
                        : answer_of_ended(group, result);
  if (!done) {
    group.pipeline.abandon();
  }
  group.requests.remove(*finished);
  return code;
}

} // namespace

int tributary_allreduce(tributary_group* group, const void* in, void* out, size_t count, int type,
                        int op, tributary_result* result) {
  return run(
      group, [&] { return reduction(*group, in, out, count, type, op, true); }, result);
}

int tributary_allreduce_start(tributary_group* group, const void* in, void* out, size_t count,
                              int type, int op, tributary_request** request) {
  return start(
      group, [&] { return reduction(*group, in, out, count, type, op, true); }, request);
}

int tributary_reduce(tributary_group* group, const void* in, void* out, size_t count, int type,
                     int op, uint32_t to_rank, tributary_result* result) {
  return run(
      group, [&] { return reduction(*group, in, out, count, type, op, keeps(*group, to_rank)); },
      result);
}

int tributary_reduce_start(tributary_group* group, const void* in, void* out, size_t count,
                           int type, int op, uint32_t to_rank, tributary_request** request) {
  return start(
      group, [&] { return reduction(*group, in, out, count, type, op, keeps(*group, to_rank)); },
      request);
}

int tributary_broadcast(tributary_group* group, void* buffer, size_t count, int type,
                        uint32_t from_rank) {
  return run(
      group, [&] { return broadcast(*group, buffer, count, type, from_rank); }, nullptr);
}

int tributary_broadcast_start(tributary_group* group, void* buffer, size_t count, int type,
                              uint32_t from_rank, tributary_request** request) {
  return start(
      group, [&] { return broadcast(*group, buffer, count, type, from_rank); }, request);
}

int tributary_barrier(tributary_group* group) {
  return run(
      group, [] { return VectorTask{}; }, nullptr);
}

int tributary_barrier_start(tributary_group* group, tributary_request** request) {
  return start(
      group, [] { return VectorTask{}; }, request);
}

int tributary_test(tributary_request** request, int* done, tributary_result* result) {
  if (done != nullptr) {
    *done = 0;
  }
  if (request == nullptr || *request == nullptr) {
    return library::no_host("the request");
  }
  tributary_host& host = *(*request)->group->host;
  return guarded(host.last_error, [&] {
    require(done != nullptr, "done is NULL");
    const auto lock = host.loop().lock();
    host.loop().progress();
    if (!is_over(**request)) {
      return static_cast<int>(TRIBUTARY_OK);
    }
    *done = 1;
    return release(request, result);
  });
}

int tributary_wait(tributary_request** request, int64_t timeout_usec, tributary_result* result) {
  if (request == nullptr || *request == nullptr) {
    return library::no_host("the request");
  }
  tributary_group& group = *(*request)->group;
  tributary_host& host = *group.host;
  return guarded(host.last_error, [&] {
    auto lock = host.loop().lock();
    const VectorOperation& operation = (*request)->operation;
    constexpr std::int64_t longest_usec = 1'000'000'000'000'000; // thirty years
    const bool for_ever = timeout_usec < 0 || timeout_usec > longest_usec;
    const TimeNs deadline =
        for_ever ? tributary::never
                 : tributary::net::steady_now() + static_cast<std::uint64_t>(timeout_usec) * 1000;
    const Loop::Answer answer = host.loop().wait_for_answer(
        lock, [&] { return is_over(**request); }, deadline, wait_for(operation, host.loop()));
    if (answer == Loop::Answer::woken) {
      return fail(host.last_error, TRIBUTARY_ERR_INTERRUPTED,
                  "tributary_wake ended the wait; the request is still valid, wait for it again");
    }
    if (answer == Loop::Answer::timed_out) {
      return fail(host.last_error, TRIBUTARY_ERR_TIMEOUT,
                  fmt::format("timed out with {} of {} pieces done; the request is still valid, "
                              "wait for it again\n{}{}",
                              operation.pieces_done(), operation.pieces(),
                              library::status_text(group.member, tributary::net::steady_now()),
                              library::absent_text(group)));
    }
    return release(request, result);
  });
}
