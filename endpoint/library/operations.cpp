// The functions of tributary.h that reduce, and wait for what was begun.
#include "endpoint/collective/element_type.hpp"
#include "endpoint/library/boundary.hpp"
#include "endpoint/library/host.hpp"
#include "endpoint/library/operators.hpp"
#include "endpoint/library/status_text.hpp"
#include "endpoint/transport/clock.hpp"

#include <fmt/format.h>

using tributary::TimeNs;
using tributary::collective::ElementType;
using tributary::collective::VectorOperation;
using tributary::collective::VectorTask;
using tributary::library::fail;
using tributary::library::guarded;
using tributary::library::require;
namespace library = tributary::library;
namespace reduce = tributary::reduce;

namespace {

/// The answer of a finished operation.
int conclude(const VectorOperation& operation, std::string& message, tributary_result* result) {
  const bool mismatch = operation.rc() == reduce::ResultCode::op_mismatch;
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

VectorTask reduction(const tributary_group& group, const void* in, void* out, std::size_t count,
                     int type, int op, bool keep) {
  const auto element_type = library::element_type(type);
  require(element_type.has_value(), "the type is none of enum tributary_type");
  const auto opcode = library::opcode_for(op, *element_type);
  if (!opcode) {
    throw std::invalid_argument(
        fmt::format("operator {} does not reduce type {}; the table at enum tributary_op in "
                    "tributary.h says which do",
                    op, type));
  }
  if (count > 0 && (in == nullptr || (keep && out == nullptr))) {
    throw std::invalid_argument(
        fmt::format("rank {}: a buffer is NULL though there are {} elements",
                    group.member.parameters().rank, count));
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
  require(element_type.has_value(), "the type is none of enum tributary_type");
  require(from_rank < group.member.parameters().size, "from_rank is not below the group's size");
  require(count == 0 || buffer != nullptr, "the buffer is NULL though there are elements");
  const bool speaks = group.member.parameters().rank == from_rank;
  return {.op = reduce::Opcode::bit_or,
          .type = ElementType::uint8,
          .in = speaks ? static_cast<const std::byte*>(buffer) : nullptr,
          .out = speaks ? nullptr : static_cast<std::byte*>(buffer),
          .elements = count * bytes_of(*element_type)};
}

bool keeps(const tributary_group& group, std::uint32_t to_rank) {
  require(to_rank < group.member.parameters().size, "to_rank is not below the group's size");
  return group.member.parameters().rank == to_rank;
}

/// Runs the task that `make_task` makes to its end.
template <typename MakeTask>
int run(tributary_group* group, MakeTask&& make_task, tributary_result* result) {
  if (group == nullptr) {
    return TRIBUTARY_ERR_ARGUMENT;
  }
  std::string& message = group->host->last_error;
  return guarded(message, [&] {
    VectorOperation operation(make_task());
    group->host->throw_if_broken();
    // An operation that is linked must not go away; if the host breaks nothing touches it again.
    group->host->start(*group, operation);
    group->host->wait_through([&] { return operation.finished(); });
    return conclude(operation, message, result);
  });
}

template <typename MakeTask>
int start(tributary_group* group, MakeTask&& make_task, tributary_request** request) {
  if (request != nullptr) {
    *request = nullptr;
  }
  if (group == nullptr || request == nullptr) {
    return TRIBUTARY_ERR_ARGUMENT;
  }
  return guarded(group->host->last_error, [&] {
    const VectorTask task = make_task();
    group->host->throw_if_broken();
    tributary_request& added = group->requests.emplace_back(*group, task);
    *request = &added;
    group->host->start(*group, added.operation);
    return static_cast<int>(TRIBUTARY_OK);
  });
}

/// Concludes a finished request and frees it.
int release(tributary_request** request, tributary_result* result) {
  tributary_request* finished = *request;
  tributary_group& group = *finished->group;
  *request = nullptr;
  const int code = conclude(finished->operation, group.host->last_error, result);
  group.requests.remove_if([&](const tributary_request& each) { return &each == finished; });
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
  if (request == nullptr || *request == nullptr || done == nullptr) {
    return TRIBUTARY_ERR_ARGUMENT;
  }
  tributary_host& host = *(*request)->group->host;
  return guarded(host.last_error, [&] {
    host.progress();
    if (!(*request)->operation.finished()) {
      return static_cast<int>(TRIBUTARY_OK);
    }
    *done = 1;
    return release(request, result);
  });
}

int tributary_wait(tributary_request** request, int64_t timeout_usec, tributary_result* result) {
  if (request == nullptr || *request == nullptr) {
    return TRIBUTARY_ERR_ARGUMENT;
  }
  tributary_group& group = *(*request)->group;
  tributary_host& host = *group.host;
  return guarded(host.last_error, [&] {
    const VectorOperation& operation = (*request)->operation;
    constexpr std::int64_t longest_usec = 1'000'000'000'000'000; // thirty years
    const bool for_ever = timeout_usec < 0 || timeout_usec > longest_usec;
    const TimeNs deadline =
        for_ever ? tributary::never
                 : tributary::transport::now() + static_cast<std::uint64_t>(timeout_usec) * 1000;
    if (!host.wait_until([&] { return operation.finished(); }, deadline)) {
      return fail(host.last_error, TRIBUTARY_ERR_TIMEOUT,
                  fmt::format("not done after {} us, {} of {} pieces are; the request is still "
                              "valid\n{}",
                              timeout_usec, operation.pieces_done(), operation.pieces(),
                              library::status_text(group.member, tributary::transport::now())));
    }
    return release(request, result);
  });
}
