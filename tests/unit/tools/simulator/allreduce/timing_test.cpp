// Times against values computed by hand, on fabrics of one switch and more.
#include "tools/simulator/allreduce/host_run.hpp"
#include "tools/simulator/allreduce/study.hpp"
#include "tools/simulator/allreduce/tree_run.hpp"
#include "tools/simulator/allreduce/windows_run.hpp"

#include <gtest/gtest.h>

namespace tributary::simulator::allreduce {
namespace {

/// Links of 8 Gb/s: a byte takes a nanosecond. All else costs nothing.
Costs free_costs() {
  Costs costs = default_costs();
  for_each_cost(
      [&](std::string_view, std::string_view, Cost Costs::*member) { (costs.*member).value = 0; });
  costs.link_gbps.value = 8;
  costs.payload = 1000;
  return costs;
}

constexpr double overhead = Costs::frame_overhead;

bool never_stop() { return false; }

struct Job {
  explicit Job(const char* topology, std::uint32_t hosts, Routes routes = Routes::shortest)
      : paths(topology, routes, 2), ranks(paths.place(hosts, Placement::packed, 1)) {}
  [[nodiscard]] HostTiming among_hosts(HostAlgorithm algorithm, std::uint64_t bytes,
                                       const Costs& costs) const {
    return run_host_algorithm(algorithm, paths, ranks, bytes, costs, never_stop);
  }
  [[nodiscard]] TreeTiming in_network(std::uint64_t bytes, const Costs& costs) const {
    return run_in_network(paths, ranks, bytes, costs, 1, never_stop);
  }
  [[nodiscard]] TreeTiming in_windows(Call call, std::uint64_t bytes, const Costs& costs) const {
    return run_in_windows(call, paths, ranks, bytes, costs, 1, never_stop);
  }
  Paths paths;
  std::vector<topology::HostId> ranks;
};

/// Hosts 0 and 1 are on one switch.
TEST(host_run, two_hosts_exchange_over_one_switch) {
  const Job job("ft3:4", 2);
  Costs costs = free_costs();
  costs.host_link_latency.value = 10;
  costs.switch_latency.value = 300;
  costs.send_message.value = 1000;
  costs.send_frame.value = 100;
  costs.receive_message.value = 2000;
  costs.receive_frame.value = 200;
  // A frame of 800 bytes, stored in the switch once.
  const double wire = 2 * (800 + overhead);
  EXPECT_DOUBLE_EQ(job.among_hosts(HostAlgorithm::recursive_doubling, 800, costs).ns,
                   1000 + 100 + wire + 2 * 10 + 300 + 2000 + 200);
}

TEST(host_run, frames_of_a_message_overlap_on_the_two_links) {
  const Job job("ft3:4", 2);
  // Ten frames on the first link, and the last one again on the second.
  EXPECT_DOUBLE_EQ(job.among_hosts(HostAlgorithm::recursive_doubling, 10'000, free_costs()).ns,
                   11 * (1000 + overhead));
}

TEST(host_run, a_processor_slower_than_the_link_decides) {
  const Job job("ft3:4", 2);
  Costs costs = free_costs();
  costs.receive_byte.value = 3;
  costs.add_byte.value = 2;
  // The first frame is there after two links; from then on five nanoseconds a byte.
  EXPECT_DOUBLE_EQ(job.among_hosts(HostAlgorithm::recursive_doubling, 10'000, costs).ns,
                   2 * (1000 + overhead) + 5 * 10'000);
}

TEST(host_run, steps_follow_one_another) {
  const Job job("dragonfly:2,4,1", 4); // four hosts on a switch
  const Costs costs = free_costs();
  const double step = 2 * (8 + overhead);
  EXPECT_DOUBLE_EQ(job.among_hosts(HostAlgorithm::recursive_doubling, 8, costs).ns, 2 * step);
  EXPECT_DOUBLE_EQ(job.among_hosts(HostAlgorithm::ring, 32, costs).ns, 6 * step);
}

TEST(host_run, messages_that_share_a_link_take_turns) {
  // Two hosts on each leaf, one path to the other leaf: both messages of a direction on one link.
  const Job shared("ft3:4", 4, Routes::planned);
  const Job apart("ft3:4", 4, Routes::shortest);
  const Costs costs = free_costs();
  const HostTiming slow = shared.among_hosts(HostAlgorithm::recursive_doubling, 100'000, costs);
  const HostTiming fast = apart.among_hosts(HostAlgorithm::recursive_doubling, 100'000, costs);
  EXPECT_EQ(slow.slowest_share, 0.5);
  EXPECT_EQ(fast.slowest_share, 1);
  // The second step is twice as long.
  EXPECT_DOUBLE_EQ(slow.ns - fast.ns, 100 * (1000 + overhead));
}

TEST(host_run, counts_what_was_sent) {
  const Job job("ft3:4", 16);
  const HostTiming ring = job.among_hosts(HostAlgorithm::ring, 16'000, free_costs());
  EXPECT_EQ(ring.messages, 2U * 15 * 16);
  EXPECT_EQ(ring.bytes, 2U * 15 * 16'000);
  EXPECT_EQ(ring.most_sent, 2U * 15 * 1000);
}

TEST(tree_run, one_frame_up_and_down_a_switch) {
  const Job job("ft3:4", 2);
  Costs costs = free_costs();
  costs.host_link_latency.value = 10;
  costs.switch_latency.value = 300;
  costs.switch_contribute.value = 50;
  costs.switch_copy.value = 15;
  costs.send_message.value = 1000;
  costs.send_frame.value = 100;
  costs.receive_message.value = 2000;
  costs.receive_frame.value = 200;
  const double wire = 800 + overhead;
  const double there = 1000 + 100 + wire + 10 + 50 + 300 + wire + 10 + 2000 + 200;
  const double back = 1000 + 100 + wire + 10 + 15 + 300 + wire + 10 + 2000 + 200;
  const TreeTiming timing = job.in_network(800, costs);
  EXPECT_DOUBLE_EQ(timing.ns, there + back);
  EXPECT_EQ(timing.pieces, 1U);
  EXPECT_EQ(timing.switches, 1U);
}

TEST(tree_run, a_vector_of_32_bytes_is_one_frame_of_84) {
  const Job job("ft3:4", 2);
  EXPECT_DOUBLE_EQ(job.in_network(8, free_costs()).ns, 4 * (32 + overhead));
}

TEST(tree_run, pieces_follow_each_other_at_the_links_pace) {
  const Job job("ft3:4", 2);
  const double wire = 1000 + overhead;
  // Four links one after the other, and 19 more pieces behind the first.
  EXPECT_DOUBLE_EQ(job.in_network(20'000, free_costs()).ns, 4 * wire + 19 * wire);
}

TEST(tree_run, few_slots_and_a_long_way_leave_the_link_idle) {
  const Job job("ft3:4", 2);
  Costs costs = free_costs();
  costs.slots = 8;
  costs.host_link_latency.value = 1e6;
  const double wire = 1000 + overhead;
  const double trip = 4 * 1e6 + 4 * wire;
  // 80 pieces, eight at a time: the result of one lets another go.
  EXPECT_DOUBLE_EQ(job.in_network(80'000, costs).ns, 10 * trip + 7 * wire);
}

TEST(tree_run, the_window_opens_from_32_to_the_slots) {
  const Job job("ft3:4", 2);
  Costs costs = free_costs();
  costs.host_link_latency.value = 1e6;
  const auto trips = [&](std::uint64_t pieces) {
    return static_cast<int>(job.in_network(pieces * 1000, costs).ns / 4e6);
  };
  EXPECT_EQ(trips(32), 1);
  EXPECT_EQ(trips(33), 2);
  EXPECT_EQ(trips(65), 2) << "33 go in the second trip";
  EXPECT_EQ(trips(66), 3);
}

TEST(tree_run, a_switch_slower_than_the_links_decides_and_more_cores_mend_it) {
  const Job job("ft3:4", 16);
  Costs costs = free_costs();
  costs.switch_contribute.value = 2000;
  const TreeTiming slow = job.in_network(200'000, costs);
  EXPECT_GT(slow.busiest_switch, 0.95);
  costs.switch_cores = 8;
  const TreeTiming fast = job.in_network(200'000, costs);
  EXPECT_LT(fast.ns, 0.5 * slow.ns);
}

TEST(tree_run, every_host_sends_the_vector_once) {
  const Job job("dragonfly:4,2,2", 72);
  const TreeTiming timing = job.in_network(100'000, free_costs());
  EXPECT_EQ(timing.pieces, 100U);
  EXPECT_EQ(timing.messages, 7200U);
  EXPECT_EQ(timing.most_sent, 100'000U);
  EXPECT_GE(timing.switches, 36U) << "all leaves";
}

TEST(study, is_the_same_for_the_same_seed_and_says_how_far_it_is) {
  Study study{.topology = "ft3:4",
              .placement = Placement::scattered,
              .seed = 3,
              .algorithms = {Algorithm::in_network, Algorithm::ring, Algorithm::rabenseifner},
              .hosts = {5, 16},
              .bytes = {8, 65'536}};
  std::vector<double> shares;
  const auto points = run_study(
      study, [&](double share) { shares.push_back(share); }, never_stop);
  EXPECT_EQ(points.size(), 12U);
  EXPECT_EQ(shares.size(), 12U);
  EXPECT_EQ(shares.back(), 1);
  EXPECT_EQ(points, run_study(
                        study, [](double) {}, never_stop));
  study.seed = 4;
  EXPECT_NE(points, run_study(
                        study, [](double) {}, never_stop));
}

TEST(study, ends_early_on_request) {
  const Study study{
      .topology = "ft3:4", .algorithms = {Algorithm::ring}, .hosts = {16}, .bytes = {8, 64}};
  EXPECT_TRUE(run_study(
                  study, [](double) {}, [] { return true; })
                  .empty());
}

TEST(costs, every_default_says_where_it_is_from) {
  const Costs costs = default_costs();
  for_each_cost([&](std::string_view name, std::string_view, Cost Costs::*member) {
    EXPECT_FALSE((costs.*member).source.empty()) << name;
  });
}

constexpr double whole = 1000 + overhead;
constexpr double brief = 32 + overhead;

TEST(windows_run, a_short_broadcast_is_one_frame_to_all) {
  const Job job("dragonfly:2,4,1", 4); // four hosts on a switch
  EXPECT_DOUBLE_EQ(job.in_windows(Call::broadcast, 8, free_costs()).ns, 2 * (40 + overhead));
}

TEST(windows_run, chunks_of_a_broadcast_follow_each_other_at_the_links_pace) {
  const Job job("ft3:4", 2);
  EXPECT_DOUBLE_EQ(job.in_windows(Call::broadcast, 20'000, free_costs()).ns, 21 * whole);
  // A longer one returns at its root when all have it.
  EXPECT_DOUBLE_EQ(job.in_windows(Call::broadcast, 100'000, free_costs()).ns,
                   101 * whole + 2 * brief);
}

TEST(windows_run, an_allgather_fills_the_links_of_receivers) {
  const Job two("ft3:4", 2);
  EXPECT_DOUBLE_EQ(two.in_windows(Call::allgather, 20'000, free_costs()).ns, 11 * whole);
  const Job four("dragonfly:2,4,1", 4);
  // Ten chunks of each: thirty reach each host, behind the first one's way there.
  EXPECT_DOUBLE_EQ(four.in_windows(Call::allgather, 40'000, free_costs()).ns, 31 * whole);
  EXPECT_EQ(four.in_windows(Call::allgather, 40'000, free_costs()).most_sent, 10'000U);
}

TEST(windows_run, a_reduce_scatter_fills_the_links_of_senders) {
  const Job job("ft3:4", 2);
  const TreeTiming timing = job.in_windows(Call::reduce_scatter, 20'000, free_costs());
  EXPECT_DOUBLE_EQ(timing.ns, 21 * whole + 2 * brief);
  EXPECT_EQ(timing.most_sent, 20'000U);
}

TEST(windows_run, few_windows_and_a_long_way_leave_the_link_idle) {
  const Job job("ft3:4", 2);
  Costs costs = free_costs();
  costs.host_link_latency.value = 1e6;
  // 320 chunks of 64 in a window, four windows in flight: the fifth waits for the first one's
  // acknowledgement.
  const double ns = job.in_windows(Call::broadcast, 320'000, costs).ns;
  EXPECT_GT(ns, 6 * 1e6 + 128 * whole);
  EXPECT_LT(ns, 8.1 * 1e6 + 130 * whole);
}

TEST(windows_run, on_larger_fabrics_no_link_carries_more_than_it_must) {
  const Job job("ft3:4", 16);
  const Costs costs = free_costs();
  const double all = 160 * whole;
  for (const Call call : {Call::broadcast, Call::allgather, Call::reduce_scatter}) {
    const double ns = job.in_windows(call, 160'000, costs).ns;
    EXPECT_GT(ns, all * 15 / 16) << name(call);
    EXPECT_LT(ns, all * 1.3) << name(call);
  }
}

TEST(study, runs_the_algorithms_of_each_call) {
  for (const Call call : {Call::broadcast, Call::allgather, Call::reduce_scatter}) {
    Study study;
    study.topology = "ft3:4";
    study.call = call;
    const auto known = algorithms_of(call);
    study.algorithms.assign(known.begin(), known.end());
    study.hosts = {16};
    study.bytes = {64, 1'600'000};
    const auto points = run_study(
        study, [](double) {}, never_stop);
    ASSERT_EQ(points.size(), 2 * known.size()) << name(call);
    for (const StudyPoint& point : points) {
      EXPECT_GT(point.ns, 0) << name(call) << ' ' << name(point.algorithm);
    }
    study.hosts = {12};
    study.algorithms = {Algorithm::in_network, known.back()};
    if (call == Call::broadcast) {
      EXPECT_EQ(run_study(
                    study, [](double) {}, never_stop)
                    .size(),
                4U);
    } else {
      EXPECT_THROW(static_cast<void>(run_study(
                       study, [](double) {}, never_stop)),
                   AllreduceError);
    }
  }
}

} // namespace
} // namespace tributary::simulator::allreduce
