// Schedules are run on sets of ranks: duplicates and omissions are detected.
#include "tools/simulator/allreduce/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace tributary::simulator::allreduce {
namespace {

constexpr HostAlgorithm all[] = {HostAlgorithm::ring, HostAlgorithm::recursive_doubling,
                                 HostAlgorithm::rabenseifner};
constexpr HostAlgorithm parts[] = {HostAlgorithm::ring_reduce_scatter,
                                   HostAlgorithm::ring_allgather,
                                   HostAlgorithm::halving,
                                   HostAlgorithm::doubling,
                                   HostAlgorithm::binomial,
                                   HostAlgorithm::scatter_allgather};
std::vector<HostAlgorithm> every(std::uint32_t hosts) {
  std::vector<HostAlgorithm> found(std::begin(all), std::end(all));
  for (const HostAlgorithm part : parts) {
    if (is_possible(part, hosts)) {
      found.push_back(part);
    }
  }
  return found;
}
constexpr std::uint32_t numbers_of_hosts[] = {2, 3, 4, 5, 6, 7, 8, 12, 13, 16, 17, 31, 32, 33};

/// How often each rank's contribution is in a chunk.
using Contributions = std::vector<std::uint32_t>;
using Vectors = std::vector<std::vector<Contributions>>; ///< by rank, by chunk

Vectors carried_out(const Schedule& schedule) {
  const std::uint32_t n = schedule.hosts();
  Vectors vectors(n, std::vector(schedule.chunks(), Contributions(n)));
  for (std::uint32_t rank = 0; rank < n; ++rank) {
    for (Contributions& chunk : vectors[rank]) {
      chunk[rank] = 1;
    }
  }
  for (std::uint32_t step = 0; step < schedule.steps(); ++step) {
    const Vectors before = vectors; // all messages of a step leave before any is received
    for (std::uint32_t rank = 0; rank < n; ++rank) {
      const auto message = schedule.sent(step, rank);
      if (!message) {
        continue;
      }
      for (std::uint32_t c = message->first; c < message->first + message->chunks; ++c) {
        for (std::uint32_t of = 0; of < n; ++of) {
          std::uint32_t& there = vectors[message->peer].at(c)[of];
          there = before[rank][c][of] + (message->adds ? there : 0);
        }
      }
    }
  }
  return vectors;
}

TEST(schedule, every_rank_ends_with_everyones_contribution_once) {
  for (const HostAlgorithm algorithm : all) {
    for (const std::uint32_t n : numbers_of_hosts) {
      const Schedule schedule(algorithm, n);
      for (const auto& vector : carried_out(schedule)) {
        for (const Contributions& chunk : vector) {
          ASSERT_EQ(chunk, Contributions(n, 1))
              << "algorithm " << static_cast<int>(algorithm) << ", " << n << " hosts";
        }
      }
    }
  }
}

/// Who owns a chunk of these calls: it begins there, or its sum ends there.
std::uint32_t owner_of(HostAlgorithm algorithm, std::uint32_t chunk, std::uint32_t hosts) {
  switch (algorithm) {
  case HostAlgorithm::ring_reduce_scatter: return (chunk + hosts - 1) % hosts;
  case HostAlgorithm::halving:
  case HostAlgorithm::doubling: { // the chunk that halving leaves a rank: its number mirrored
    std::uint32_t mirrored = 0;
    for (std::uint32_t bit = 1; bit < hosts; bit *= 2) {
      mirrored = mirrored * 2 + ((chunk & bit) != 0 ? 1 : 0);
    }
    return mirrored;
  }
  case HostAlgorithm::binomial:
  case HostAlgorithm::scatter_allgather: return 0;
  default: return chunk;
  }
}

TEST(schedule, parts_of_it_give_each_rank_what_their_call_does) {
  for (const std::uint32_t n : numbers_of_hosts) {
    for (const HostAlgorithm algorithm : parts) {
      if (!is_possible(algorithm, n)) {
        continue;
      }
      const bool adds =
          algorithm == HostAlgorithm::ring_reduce_scatter || algorithm == HostAlgorithm::halving;
      const Schedule schedule(algorithm, n);
      const Vectors vectors = carried_out(schedule);
      for (std::uint32_t rank = 0; rank < n; ++rank) {
        for (std::uint32_t chunk = 0; chunk < schedule.chunks(); ++chunk) {
          const std::uint32_t owner = owner_of(algorithm, chunk, n);
          Contributions one(n);
          one[owner] = 1;
          if (!adds) {
            ASSERT_EQ(vectors[rank][chunk], one)
                << static_cast<int>(algorithm) << ", " << n << " hosts, chunk " << chunk;
          } else if (rank == owner) {
            ASSERT_EQ(vectors[rank][chunk], Contributions(n, 1))
                << static_cast<int>(algorithm) << ", " << n << " hosts, chunk " << chunk;
          }
        }
      }
    }
  }
}

TEST(schedule, what_one_sends_its_peer_receives_and_no_rank_receives_twice) {
  for (const std::uint32_t n : numbers_of_hosts) {
    for (const HostAlgorithm algorithm : every(n)) {
      const Schedule schedule(algorithm, n);
      for (std::uint32_t step = 0; step < schedule.steps(); ++step) {
        std::map<std::uint32_t, Transfer> to;
        for (std::uint32_t rank = 0; rank < n; ++rank) {
          if (auto message = schedule.sent(step, rank)) {
            const std::uint32_t receiver = message->peer;
            ASSERT_NE(receiver, rank);
            message->peer = rank;
            ASSERT_TRUE(to.emplace(receiver, *message).second);
          }
        }
        for (std::uint32_t rank = 0; rank < n; ++rank) {
          const auto found = to.find(rank);
          const auto received = schedule.received(step, rank);
          ASSERT_EQ(received, found == to.end() ? std::nullopt : std::optional(found->second))
              << "algorithm " << static_cast<int>(algorithm) << ", " << n << " hosts, step " << step
              << ", rank " << rank;
        }
      }
    }
  }
}

TEST(schedule, steps_of_one_pairing_have_the_same_pairs) {
  for (const std::uint32_t n : {7U, 8U, 13U}) {
    for (const HostAlgorithm algorithm : every(n)) {
      const Schedule schedule(algorithm, n);
      const auto pairs = [&](std::uint32_t step) {
        std::vector<std::uint32_t> receivers;
        for (std::uint32_t rank = 0; rank < n; ++rank) {
          const auto message = schedule.sent(step, rank);
          receivers.push_back(message ? message->peer : rank);
        }
        return receivers;
      };
      for (std::uint32_t step = 0; step < schedule.steps(); ++step) {
        EXPECT_EQ(pairs(step), pairs(schedule.pairing(step)));
      }
    }
  }
}

struct Totals {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};
Totals totals_of(const Schedule& schedule, std::uint64_t elements) {
  Totals totals;
  for (std::uint32_t step = 0; step < schedule.steps(); ++step) {
    for (std::uint32_t rank = 0; rank < schedule.hosts(); ++rank) {
      if (const auto message = schedule.sent(step, rank)) {
        ++totals.messages;
        totals.bytes += schedule.bytes(*message, elements, 8);
      }
    }
  }
  return totals;
}

TEST(schedule, a_ring_sends_each_byte_twice_from_all_hosts_but_one) {
  for (const std::uint32_t n : numbers_of_hosts) {
    const Totals totals = totals_of(Schedule(HostAlgorithm::ring, n), 1000);
    EXPECT_EQ(totals.messages, 2 * n * (n - 1));
    EXPECT_EQ(totals.bytes, 2 * (n - 1) * 8000) << "2 (N - 1) / N of the vector from each of N";
  }
}

TEST(schedule, doubling_sends_the_vector_in_each_step_and_rabenseifner_twice_in_all) {
  for (const std::uint32_t n : numbers_of_hosts) {
    const std::uint64_t core = std::bit_floor(n);
    const auto log = static_cast<std::uint64_t>(std::countr_zero(core));
    const std::uint64_t folded = n - core; // pairs, a message before and one behind
    const Totals doubling = totals_of(Schedule(HostAlgorithm::recursive_doubling, n), 1000);
    EXPECT_EQ(doubling.messages, core * log + 2 * folded);
    EXPECT_EQ(doubling.bytes, (core * log + 2 * folded) * 8000);
    const Totals halving = totals_of(Schedule(HostAlgorithm::rabenseifner, n), 1000);
    EXPECT_EQ(halving.messages, 2 * core * log + 2 * folded);
    EXPECT_EQ(halving.bytes, (2 * (core - 1) + 2 * folded) * 8000);
  }
}

TEST(schedule, chunks_of_a_vector_that_is_shorter_than_they_are_many_add_up_to_it) {
  const Schedule schedule(HostAlgorithm::ring, 16);
  std::uint64_t bytes = 0;
  for (std::uint32_t chunk = 0; chunk < 16; ++chunk) {
    bytes += schedule.bytes({0, chunk, 1, true}, 3, 8);
  }
  EXPECT_EQ(bytes, 24U);
}

} // namespace
} // namespace tributary::simulator::allreduce
