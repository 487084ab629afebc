// The functions of tributary.h about hosts and groups. Each checks its arguments and calls the
// host.
#include "endpoint/library/boundary.hpp"
#include "endpoint/library/failure_text.hpp"
#include "endpoint/library/host.hpp"
#include "endpoint/library/named_group.hpp"
#include "endpoint/library/parameters.hpp"
#include "endpoint/library/status_text.hpp"
#include "lib/net/steady_clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <vector>

using tributary::TimeNs;
using tributary::collective::GroupParameters;
using tributary::library::fail;
using tributary::library::guarded;
using tributary::library::require;
namespace collective = tributary::collective;
namespace library = tributary::library;

namespace {

std::uint32_t usec(std::uint64_t ns_value) { return static_cast<std::uint32_t>(ns_value / 1000); }

} // namespace

std::string& tributary::library::error_without_host() {
  thread_local std::string message;
  return message;
}

tributary_host_options tributary_host_defaults(const char* interface) {
  return {.interface = interface,
          .ethertype = tributary::wire::default_ethertype,
          .nid = TRIBUTARY_NID_FROM_ADDRESS,
          .spin_usec = TRIBUTARY_SPIN_AUTO,
          .buffer_bytes = 1U << 20,
          .progress = TRIBUTARY_PROGRESS_DEFAULT,
          .transport = TRIBUTARY_TRANSPORT_DEFAULT};
}

int tributary_open(const tributary_host_options* options, tributary_host** host) {
  if (host != nullptr) {
    *host = nullptr;
  }
  return guarded(library::error_without_host(), [&] {
    require(options != nullptr && host != nullptr, "options or host is NULL");
    require(options->interface != nullptr, "the interface's name is NULL");
    *host = new tributary_host(*options);
    return static_cast<int>(TRIBUTARY_OK);
  });
}

void tributary_close(tributary_host* host) { delete host; }

uint32_t tributary_nid(const tributary_host* host) {
  return host == nullptr ? TRIBUTARY_NID_UNKNOWN : host->nid().value;
}

int tributary_progress(tributary_host* host) {
  if (host == nullptr) {
    return library::no_host("the host");
  }
  return guarded(host->last_error, [&] {
    const auto lock = host->loop().lock();
    host->loop().progress();
    return static_cast<int>(TRIBUTARY_OK);
  });
}

int tributary_fd(const tributary_host* host) {
  if (host == nullptr) {
    return library::no_host("the host");
  }
  const auto lock = host->loop().lock();
  return host->loop().fd();
}

int tributary_wake(tributary_host* host) {
  if (host == nullptr) {
    return library::no_host("the host");
  }
  host->loop().wake();
  return TRIBUTARY_OK;
}

int64_t tributary_timeout_usec(const tributary_host* host) {
  if (host == nullptr) {
    return -1;
  }
  const auto lock = host->loop().lock();
  const TimeNs deadline = host->loop().next_call();
  if (deadline == tributary::never) {
    return -1;
  }
  const std::uint64_t left = elapsed_ns(deadline, tributary::net::steady_now());
  return static_cast<int64_t>((left + 999) / 1000);
}

const char* tributary_last_error(const tributary_host* host) {
  return host == nullptr ? library::error_without_host().c_str() : host->last_error.c_str();
}

tributary_group_options tributary_group_defaults() {
  const GroupParameters p;
  return {.tree = 0,
          .twin_tree = TRIBUTARY_NO_TREE,
          .vni = 0,
          .cookie = 0,
          .rank = 0,
          .size = 1,
          .root_rank = 0,
          .root_nid = TRIBUTARY_NID_UNKNOWN,
          .armed = 1,
          .cxi_compatible = 0,
          .check_contributions = 1,
          .ieee_nan = 0,
          .retry_usec = usec(p.retry_ns),
          .collective_timeout_usec = usec(p.collective_timeout_ns),
          .result_timeout_usec = usec(p.result_timeout_ns),
          .leave_timeout_usec = usec(p.leave_timeout_ns),
          .leave_grace_usec = usec(p.leave_grace_ns),
          .member_timeout_usec = usec(p.member_timeout_ns),
          .slots = p.slots,
          .payload = p.payload,
          .in_switch_results = 0,
          .first_id = 0,
          .ids = 0,
          .first_sequence = 0};
}

int tributary_join(tributary_host* host, const tributary_group_options* options,
                   tributary_group** group) {
  if (group != nullptr) {
    *group = nullptr;
  }
  if (host == nullptr) {
    return library::no_host("the host");
  }
  return guarded(host->last_error, [&] {
    require(options != nullptr && group != nullptr, "options or group is NULL");
    require(options->in_switch_results != TRIBUTARY_IN_SWITCH_RESULTS_AUTO,
            "in_switch_results is TRIBUTARY_IN_SWITCH_RESULTS_AUTO, which only a fabric manager "
            "can decide; it is 1 where the switch sends the result itself, and 0 elsewhere");
    auto lock = host->loop().lock();
    *group = &host->add(lock, library::parameters_of(*host, *options));
    return static_cast<int>(TRIBUTARY_OK);
  });
}

int tributary_move(tributary_group* group, const tributary_group_options* options) {
  if (group == nullptr) {
    return library::no_host("the group");
  }
  tributary_host& host = *group->host;
  return guarded(host.last_error, [&] {
    require(options != nullptr, "options is NULL");
    const auto lock = host.loop().lock();
    require(group->named() == nullptr && !group->is_dup,
            "this group moves with its tree: the fabric manager moves it, or the group that it is "
            "a dup of is moved");
    require(host.others_of(*group) == 0, "the group has dups, which use ids of its tree");
    host.move(*group, library::parameters_of(host, *options));
    return static_cast<int>(TRIBUTARY_OK);
  });
}

int tributary_keep_ids(tributary_group* group, std::uint32_t ids) {
  if (group == nullptr) {
    return library::no_host("the group");
  }
  tributary_host& host = *group->host;
  return guarded(host.last_error, [&] {
    const auto lock = host.loop().lock();
    const std::uint32_t has = group->member.parameters().slots;
    require(group->tree->is_range,
            "this group has no range of a tree's ids that it was joined with: who else has ids of "
            "its tree is not the program's to say");
    if (!std::has_single_bit(ids) || ids > has) {
      throw std::invalid_argument(fmt::format(
          "the group cannot keep {} ids: give a power of two, at most the {} that it has", ids,
          has));
    }
    if (group->member.failure()) {
      return fail(host.last_error, library::failure_code(*group), library::failure_text(*group));
    }
    if (!group->requests.empty() || !group->pipeline.is_idle()) {
      return fail(host.last_error, TRIBUTARY_ERR_BUSY,
                  fmt::format("{} requests of the group are outstanding, and may use all its ids; "
                              "wait for them first",
                              group->requests.size()));
    }
    host.keep_ids(*group, ids);
    return static_cast<int>(TRIBUTARY_OK);
  });
}

int tributary_check(tributary_group* group) {
  if (group == nullptr) {
    return library::no_host("the group");
  }
  tributary_host& host = *group->host;
  return guarded(host.last_error, [&] {
    const auto lock = host.loop().lock();
    host.loop().progress();
    return group->member.failure()
               ? fail(host.last_error, library::failure_code(*group), library::failure_text(*group))
               : static_cast<int>(TRIBUTARY_OK);
  });
}

int tributary_abandon(tributary_group* group) {
  if (group == nullptr) {
    return library::no_host("the group");
  }
  tributary_host& host = *group->host;
  return guarded(host.last_error, [&] {
    const auto lock = host.loop().lock();
    if (!group->member.failure()) {
      using collective::Failure;
      group->is_abandoned = true;
      group->member.fail({.reason = Failure::Reason::ended, .missing = {}, .one = {}, .other = {}},
                         tributary::net::steady_now());
      group->pipeline.abandon();
      host.loop().send(*group);
    }
    return static_cast<int>(TRIBUTARY_OK);
  });
}

int tributary_leave(tributary_group* group) {
  if (group == nullptr) {
    return TRIBUTARY_OK;
  }
  tributary_host& host = *group->host;
  auto lock = host.loop().lock();
  const bool ended = group->member.failure().has_value();
  if (!group->requests.empty() || (!ended && !group->pipeline.is_idle())) {
    return fail(host.last_error, TRIBUTARY_ERR_BUSY,
                fmt::format("{} requests of the group are outstanding; wait for them first",
                            group->requests.size()));
  }
  if (group->is_context()) {
    host.leave_context(*group);
    return TRIBUTARY_OK;
  }
  if (const std::size_t others = host.others_of(*group); others > 0) {
    return fail(
        host.last_error, TRIBUTARY_ERR_BUSY,
        fmt::format("{} groups are dups of this one, or of its dups; leave them first", others));
  }
  const int code = guarded(host.last_error, [&] {
    collective::Member& member = group->member;
    group->leaving = true;
    group->tree->leaving = true;
    const TimeNs begin = tributary::net::steady_now();
    if (group->tree->is_kept) {
      return static_cast<int>(TRIBUTARY_OK); // those who have the ids are done with them
    }
    member.leave(begin);
    group->moved_at = begin;
    host.loop().engine().wake(*group);
    // The member has its own time limits; the second beyond them is for the kernel to take the last
    // frames.
    constexpr std::uint64_t to_drain_ns = 1'000'000'000;
    const GroupParameters& bounds = member.parameters();
    const bool gone = host.loop().wait_until(
        lock, [&] { return member.left() && !host.has_to_send(*group); },
        begin + (bounds.leave_timeout_ns + bounds.leave_grace_ns + to_drain_ns));
    if (ended) {
      return static_cast<int>(TRIBUTARY_OK); // the waiting calls have reported the error
    }
    if (!gone || member.abandoned()) {
      return fail(host.last_error, TRIBUTARY_ERR_ABANDONED,
                  fmt::format("some members did not leave the group in time; they may be gone, or "
                              "late, and may still miss results{}",
                              library::who_did_not_leave(*group)));
    }
    return static_cast<int>(TRIBUTARY_OK);
  });
  std::vector<library::NamedGroup> at_manager;
  if (group->named() != nullptr) {
    at_manager.push_back(*group->named());
  }
  std::ranges::move(host.remove_with_trees(*group), std::back_inserter(at_manager));
  if (lock.owns_lock()) {
    lock.unlock();
  }
  int first_code = code;
  for (const library::NamedGroup& named : at_manager) {
    const int left = library::leave_at_manager(host, named);
    first_code = first_code != TRIBUTARY_OK ? first_code : left;
  }
  return first_code;
}

uint32_t tributary_rank(const tributary_group* group) {
  if (group == nullptr) {
    return TRIBUTARY_RANK_ANY;
  }
  const auto lock = group->host->loop().lock();
  return group->member.parameters().rank;
}

uint32_t tributary_size(const tributary_group* group) {
  if (group == nullptr) {
    return 0;
  }
  const auto lock = group->host->loop().lock();
  return group->member.parameters().size;
}

int tributary_get_statistics(tributary_group* group, struct tributary_statistics* out) {
  if (group == nullptr) {
    return library::no_host("the group");
  }
  if (out == nullptr) {
    return fail(group->host->last_error, TRIBUTARY_ERR_ARGUMENT, "the statistics are NULL");
  }
  const auto lock = group->host->loop().lock();
  const collective::Statistics& s = group->member.statistics();
#define TRIBUTARY_X(name, text) out->name = s.name;
  TRIBUTARY_MEMBER_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
  out->host_frames_unknown = group->host->frames_unknown();
  out->host_kernel_drops = group->host->loop().port().counts().receive_drops;
  out->host_contexts = group->host->contexts().in_use();
  out->host_further_trees = group->host->contexts().further_trees();
  return TRIBUTARY_OK;
}

int tributary_status_text(const tributary_group* group, char* text, size_t size) {
  if (group == nullptr) {
    return library::no_host("the group");
  }
  return guarded(group->host->last_error, [&] {
    require(text != nullptr || size == 0, "the text is NULL though its size is not 0");
    const auto lock = group->host->loop().lock();
    std::string all = library::status_text(group->member, tributary::net::steady_now());
    if (group->member.failure()) {
      all += fmt::format("  the group has ended: {}\n", library::failure_text(*group));
    }
    all += library::contexts_text(*group);
    if (group->named() != nullptr) {
      all += library::lease_text(*group->host, *group->named());
    }
    if (size > 0) {
      const std::size_t copied = std::min(all.size(), size - 1);
      std::memcpy(text, all.data(), copied);
      text[copied] = '\0';
    }
    return static_cast<int>(all.size());
  });
}
