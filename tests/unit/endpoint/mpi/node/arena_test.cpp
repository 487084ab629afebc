// Shared memory that each rank makes or opens without waiting for the others.
#include "endpoint/mpi/node/arena.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace tributary::mpi::node::test {
namespace {

constexpr std::size_t part_bytes = 4096;

std::string name_of(const char* test) {
  return "/tributary-test-" + std::to_string(getpid()) + "-" + test;
}

bool exists(const std::string& name) {
  const int opened = shm_open(name.c_str(), O_RDONLY | O_CLOEXEC, 0);
  if (opened >= 0) {
    close(opened);
  }
  return opened >= 0;
}

TEST(Arena, WhoeverComesFirstMakesItAndTheLastRemovesTheName) {
  const std::string name = name_of("first");
  constexpr std::uint32_t ranks = 4;
  std::array<std::optional<Arena>, ranks> arenas;
  std::vector<std::thread> threads;
  for (auto& arena : arenas) {
    threads.emplace_back([&] { arena.emplace(Arena::attach(name, ranks, part_bytes)); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_FALSE(exists(name));
  std::memset(arenas[0]->part(2), 7, part_bytes);
  EXPECT_EQ(arenas[3]->part(2)[part_bytes - 1], std::byte{7}) << "they have different memory";
}

TEST(Arena, TheNameStaysUntilAllHaveAttached) {
  const std::string name = name_of("stays");
  const Arena first = Arena::attach(name, 2, part_bytes);
  EXPECT_TRUE(exists(name));
  Arena::remove_name(name); // as after an error at the other rank
  EXPECT_FALSE(exists(name));
}

TEST(Arena, ARankRunsThroughStepsInMemoryOfZeros) {
  const std::string name = name_of("steps");
  Arena leader = Arena::attach(name, 2, part_bytes);
  Arena other = Arena::attach(name, 2, part_bytes);
  EXPECT_FALSE(leader.has_arrived(1, 1));
  EXPECT_TRUE(other.enter(1, 1));
  other.arrive(1, 1, {});
  leader.arrive(0, 1, {});
  leader.wait_for_all(1, [] {});
  leader.finish(1);
  other.wait_for_result(1, [] {});
  EXPECT_FALSE(other.is_frozen());
  EXPECT_EQ(leader.freeze(), 1U);
  EXPECT_TRUE(other.is_frozen());
  leader.decide(1);
  EXPECT_TRUE(other.enter(1, 1));
  EXPECT_FALSE(other.enter(1, 2));
}

TEST(Arena, ACallNumberZeroIsADecision) {
  Arena alone = Arena::alone(part_bytes);
  EXPECT_EQ(alone.freeze(), 0U);
  alone.decide(0);
  EXPECT_FALSE(alone.enter(0, 1));
}

TEST(Arena, TheLeaderTellsTheOthersThatItIsVacated) {
  const std::string name = name_of("vacated");
  Arena leader = Arena::attach(name, 2, part_bytes);
  const Arena other = Arena::attach(name, 2, part_bytes);
  EXPECT_FALSE(other.is_vacated());
  leader.vacate();
  EXPECT_TRUE(other.is_vacated());
}

TEST(Arena, AThousandTimesTooMuchMemoryIsAnErrorThatSaysHowMuch) {
  const std::string name = name_of("much");
  constexpr std::size_t too_much = std::size_t{1} << 50;
  try {
    const Arena arena = Arena::attach(name, 2, too_much);
    ADD_FAILURE() << "it has a petabyte";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("/dev/shm has no room"), std::string::npos)
        << error.what();
  }
  Arena::remove_name(name);
  EXPECT_FALSE(exists(name));
}

} // namespace
} // namespace tributary::mpi::node::test
