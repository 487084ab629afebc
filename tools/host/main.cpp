// tributary-host: one member of a reduction group that runs reductions with the others through the
// C API, and checks each result against its own arithmetic. One thread. With "rdma" as its first
// argument it runs rdma_command.hpp instead.
#include "lib/terminal/command_line.hpp"
#include "lib/terminal/output.hpp"
#include "lib/terminal/output_file.hpp"
#include "lib/workload/workload.hpp"
#include "tools/host/options.hpp"
#include "tools/host/rdma_command.hpp"
#include "tools/host/report.hpp"
#include "tributary/random.hpp"
#include "tributary/tributary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string_view>
#include <thread>

namespace {

using namespace tributary::host;
using tributary::workload::Expected;
using tributary::workload::Workload;
using Clock = std::chrono::steady_clock;

std::uint64_t ns_since(Clock::time_point begin) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count());
}

/// What a rank sends in a call with blocks: elements of 8 bytes.
constexpr std::size_t moved_bytes = 8;
void append_block(std::vector<std::byte>& to, std::uint64_t seed, std::uint64_t iteration,
                  std::uint32_t rank, std::size_t elements) {
  tributary::Random random = tributary::Random(seed).fork(iteration).fork(rank);
  for (std::size_t i = 0; i < elements; ++i) {
    const auto element = std::bit_cast<std::array<std::byte, moved_bytes>>(random.next());
    to.insert(to.end(), element.begin(), element.end());
  }
}

/// A pending operation.
struct Pending {
  std::uint64_t iteration;
  const Call* call;
  std::vector<std::byte> in;
  std::vector<std::byte> out;
  tributary_request* request = nullptr;
  Clock::time_point begin;
};

class Worker {
public:
  explicit Worker(const Options& options)
      : options_(options), workload_(options.seed, options.group.size, options.length) {
    tributary_host_options host = tributary_host_defaults(options.interface.c_str());
    host.ethertype = options.ethertype;
    host.nid = options.nid;
    host.spin_usec = options.spin_usec;
    host.transport = options.transport;
    if (options.own_thread) {
      host.progress = *options.own_thread ? TRIBUTARY_PROGRESS_THREAD : TRIBUTARY_PROGRESS_CALLER;
    }
    if (const int code = tributary_open(&host, &host_); code != TRIBUTARY_OK) {
      fail(code, tributary_last_error(nullptr));
    }
    closer_.reset(host_);
    join();
    demand(tributary_get_membership(group_, &measured_.membership));
    workload_ = Workload(options.seed, options.group.size, options.length,
                         measured_.membership.payload > tributary_group_defaults().payload);
  }

  Measured run() {
    // Members start at different times; the clock runs once all are there.
    tributary_request* barrier = nullptr;
    demand(tributary_barrier_start(group_, &barrier));
    demand(tributary_wait(&barrier, timeout_usec(), nullptr));
    begin_ = Clock::now();
    measured_.latencies_ns.reserve(options_.iterations);
    for (std::uint64_t i = 0; i < options_.iterations; ++i) {
      begin(i);
      if (pending_.size() == options_.in_flight) {
        finish();
      }
      say_progress();
    }
    while (!pending_.empty()) {
      finish();
    }
    measured_.seconds = static_cast<double>(ns_since(begin_)) * 1e-9;
    demand(tributary_get_statistics(group_, &measured_.statistics));
    demand(tributary_get_multicast_statistics(group_, &measured_.multicasts));
    leave();
    return std::move(measured_);
  }

private:
  struct Close {
    void operator()(tributary_host* host) const { tributary_close(host); }
  };

  void join() {
    if (options_.name.empty()) {
      demand(tributary_join(host_, &options_.group, &group_));
      return;
    }
    const auto or_null = [](const std::optional<std::string>& text) {
      return text ? text->c_str() : nullptr;
    };
    tributary_named_group_options who = tributary_named_group_defaults(options_.name.c_str());
    who.rank = options_.group.rank;
    who.size = options_.group.size;
    who.root_rank = options_.named_root.value_or(TRIBUTARY_RANK_ANY);
    who.trees = options_.trees;
    who.wait_usec = options_.wait.count();
    who.job = or_null(options_.job);
    who.manager_url = or_null(options_.manager);
    who.token = or_null(options_.token);
    who.certificate_authority = or_null(options_.certificate_authority);
    who.protocol = options_.group;
    const std::jthread notice(
        [this](const std::stop_token& stop) { say_what_is_waited_for(stop); });
    demand(tributary_join_named(host_, &who, &group_));
  }
  /// Unless the group is joined within a few seconds.
  void say_what_is_waited_for(const std::stop_token& stop) const {
    constexpr std::chrono::seconds notice_delay{3};
    std::mutex mutex;
    std::condition_variable_any joined;
    std::unique_lock lock(mutex);
    joined.wait_for(lock, stop, notice_delay, [] { return false; });
    if (stop.stop_requested()) {
      return;
    }
    const char* const environment = std::getenv("TRIBUTARY_FABRIC_MANAGER_URL");
    fmt::print(stderr,
               "tributary-host: rank {}: group \"{}\" is not joined after {} s; waiting for the "
               "fabric manager ({}) or for other members, up to --wait {}\n",
               options_.group.rank, options_.name, notice_delay.count(),
               options_.manager         ? options_.manager->c_str()
               : environment != nullptr ? environment
                                        : "of this machine",
               tributary::terminal::duration_value(options_.wait));
  }
  void leave() {
    const int code = tributary_leave(group_);
    if (code == TRIBUTARY_ERR_MANAGER_UNREACHABLE || code == TRIBUTARY_ERR_MANAGER_REFUSED) {
      // The reductions are done and every member has them; the lease will expire.
      fmt::print(stderr, "tributary-host: rank {}: left, but {}\n", options_.group.rank,
                 tributary_last_error(host_));
      return;
    }
    demand(code);
  }
  [[nodiscard]] std::int64_t timeout_usec() const { return options_.timeout.count(); }
  void demand(int code) {
    if (code == TRIBUTARY_OK) {
      return;
    }
    const std::string why = tributary_last_error(host_);
    if (code == TRIBUTARY_ERR_MEMBER_MISSING || code == TRIBUTARY_ERR_COUNT_MISMATCH ||
        code == TRIBUTARY_ERR_GROUP_ENDED) {
      leave_what_ended();
    }
    fail(code, why);
  }
  /// The group is over: pending operations end immediately, and the manager need not wait for a
  /// lease.
  void leave_what_ended() {
    for (Pending& p : pending_) {
      if (p.request != nullptr) {
        static_cast<void>(tributary_wait(&p.request, -1, nullptr));
      }
    }
    static_cast<void>(tributary_leave(group_));
  }
  [[noreturn]] static void fail(int code, const std::string& detail) {
    const std::string text = detail.empty() ? tributary_error_string(code) : detail;
    if (code == TRIBUTARY_ERR_ARGUMENT) {
      throw std::invalid_argument(text);
    }
    throw std::runtime_error(text);
  }

  void begin(std::uint64_t iteration) {
    Pending& p = pending_.emplace_back();
    p.iteration = iteration;
    p.call = &options_.calls[iteration % options_.calls.size()];
    if (p.call->what != Call::What::reduce) {
      begin_to_move(p);
      return;
    }
    p.in = workload_.operand(p.call->kind, iteration, options_.group.rank);
    p.out.resize(p.in.size());
    p.begin = Clock::now();
    if (p.call->kind.is_barrier) {
      demand(tributary_barrier_start(group_, &p.request));
    } else {
      demand(tributary_allreduce_start(group_, p.in.data(), p.out.data(), options_.length,
                                       p.call->kind.type, p.call->kind.op, &p.request));
    }
  }
  [[nodiscard]] std::uint32_t root_of(const Pending& p) const {
    return static_cast<std::uint32_t>(p.iteration % options_.group.size);
  }
  void begin_to_move(Pending& p) {
    const std::uint32_t own = options_.group.rank;
    if (p.call->what == Call::What::broadcast) {
      if (own == root_of(p)) {
        append_block(p.out, options_.seed, p.iteration, own, options_.length);
      }
      p.out.resize(options_.length * moved_bytes);
      p.begin = Clock::now();
      demand(tributary_broadcast_start(group_, p.out.data(), options_.length, TRIBUTARY_UINT64,
                                       root_of(p), &p.request));
    } else if (p.call->what == Call::What::reduce_scatter) {
      append_block(p.in, options_.seed, p.iteration, own, options_.length * options_.group.size);
      p.out.resize(options_.length * moved_bytes);
      p.begin = Clock::now();
      demand(tributary_reduce_scatter_start(group_, p.in.data(), p.out.data(), options_.length,
                                            TRIBUTARY_UINT64, TRIBUTARY_SUM, &p.request));
    } else {
      append_block(p.in, options_.seed, p.iteration, own, options_.length);
      p.out.resize(p.in.size() * options_.group.size);
      p.begin = Clock::now();
      demand(tributary_allgather_start(group_, p.in.data(), p.out.data(), options_.length,
                                       TRIBUTARY_UINT64, &p.request));
    }
  }
  /// The own block of a reduce-scatter.
  [[nodiscard]] std::vector<std::byte> sums_of(const Pending& p) const {
    std::vector<std::uint64_t> sums(options_.length);
    for (std::uint32_t rank = 0; rank < options_.group.size; ++rank) {
      std::vector<std::byte> all;
      append_block(all, options_.seed, p.iteration, rank, options_.length * options_.group.size);
      const std::byte* const own = all.data() + options_.group.rank * sums.size() * moved_bytes;
      for (std::size_t i = 0; i < sums.size(); ++i) {
        std::uint64_t element = 0;
        std::memcpy(&element, own + i * moved_bytes, moved_bytes);
        sums[i] += element;
      }
    }
    std::vector<std::byte> bytes(sums.size() * moved_bytes);
    std::memcpy(bytes.data(), sums.data(), bytes.size());
    return bytes;
  }
  [[nodiscard]] Expected expected_of(const Pending& p) const {
    if (p.call->what == Call::What::reduce) {
      return workload_.expected(p.call->kind, p.iteration);
    }
    Expected expected;
    if (p.call->what == Call::What::reduce_scatter) {
      expected.elements = sums_of(p);
      return expected;
    }
    for (std::uint32_t rank = 0; rank < options_.group.size; ++rank) {
      if (p.call->what == Call::What::allgather || rank == root_of(p)) {
        append_block(expected.elements, options_.seed, p.iteration, rank, options_.length);
      }
    }
    return expected;
  }

  void finish() {
    Pending& p = pending_.front();
    tributary_result result{};
    demand(tributary_wait(&p.request, timeout_usec(), &result));
    measured_.latencies_ns.push_back(ns_since(p.begin));
    ++measured_.iterations;
    if (options_.check) {
      check(p, result);
    }
    pending_.pop_front();
  }

  void check(const Pending& p, const tributary_result& result) {
    const Expected expected = expected_of(p);
    if (p.out == expected.elements && result.code == expected.code) {
      return;
    }
    ++measured_.wrong;
    constexpr std::uint64_t most_reports = 5;
    if (measured_.wrong > most_reports) {
      return;
    }
    const auto [out, due] = std::mismatch(p.out.begin(), p.out.end(), expected.elements.begin());
    fmt::print(stderr,
               "rank {}: iteration {} ({}, seed {}) is wrong: code '{}' where '{}' is due, first "
               "byte that differs: {} of {}\n",
               options_.group.rank, p.iteration, p.call->name(), options_.seed,
               tributary_result_name(result.code), tributary_result_name(expected.code),
               out - p.out.begin(), p.out.size());
  }

  void say_progress() {
    constexpr auto between = std::chrono::milliseconds(500);
    if (options_.progress && Clock::now() - said_ > between) {
      said_ = Clock::now();
      fmt::print(stderr, "progress {} {}\n", measured_.iterations, options_.iterations);
      std::fflush(stderr);
    }
  }

  const Options& options_;
  Workload workload_;
  tributary_host* host_ = nullptr;
  std::unique_ptr<tributary_host, Close> closer_;
  tributary_group* group_ = nullptr;
  std::deque<Pending> pending_;
  Clock::time_point begin_;
  Clock::time_point said_;
  Measured measured_;
};

int run(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "rdma") {
    return rdma_command(argc - 1, argv + 1);
  }
  int exit_code = 0;
  const auto options = read_options(argc, argv, exit_code);
  if (!options) {
    return exit_code;
  }
  const auto say = [&](const std::exception& error) {
    fmt::print(stderr, "tributary-host: rank {}: {}\n", options->group.rank, error.what());
  };
  try {
    const Measured measured = Worker(*options).run();
    tributary::terminal::send_output_to(options->output);
    fmt::print("{}", report(*options, measured));
    return measured.wrong == 0 ? 0 : 1;
  } catch (const std::invalid_argument& error) {
    say(error);
    return 2; // inconsistent parameters of the group
  } catch (const std::exception& error) {
    say(error);
    return 1;
  }
}

} // namespace

int main(int argc, char** argv) {
  return tributary::terminal::with_checked_output("tributary-host",
                                                  [&] { return run(argc, argv); });
}
