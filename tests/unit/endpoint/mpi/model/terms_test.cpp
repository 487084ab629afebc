#include "endpoint/mpi/model/terms.hpp"

#include "endpoint/mpi/model/arithmetic.hpp"
#include "endpoint/mpi/model/word_hash.hpp"
#include "tributary/tributary.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

namespace tributary::mpi::test {
namespace {

constexpr std::size_t room = 64;
using Mark = std::array<std::byte, room>;

Mark mark(const Plan& plan, std::uint64_t of, bool speaks) {
  Mark made{};
  write_mark(plan, of, speaks, made.data());
  return made;
}

/// Every possible plan.
std::vector<Plan> plans() {
  std::vector<Plan> all{plan_broadcast()};
  for (const bool nan_wins : {false, true}) {
    for (std::size_t o = 0; o < operator_count; ++o) {
      for (std::size_t e = 0; e < element_count; ++e) {
        for (const bool reproducible : {false, true}) {
          const Verdict verdict = plan_reduction(
              static_cast<Operator>(o), static_cast<Element>(e),
              {.wide_frames = true, .reproducible = reproducible, .nan_wins = nan_wins});
          if (verdict.reason == Reason::none) {
            all.push_back(verdict.plan);
          }
        }
      }
    }
  }
  return all;
}

TEST(Terms, ACallAndItsMarkTravelInPieces) {
  const Plan sum = plan_reduction(Operator::sum, Element::int64, {.wide_frames = true}).plan;
  EXPECT_EQ(pieces_of({}, 0, 32), 1U) << "a barrier";
  EXPECT_EQ(pieces_of(sum, 1, 8192), 1U);
  EXPECT_EQ(pieces_of(sum, 1023, 8192), 1U);
  EXPECT_EQ(pieces_of(sum, 1024, 8192), 2U) << "with its mark";
  EXPECT_EQ(pieces_of(sum, 3, 32), 1U);
  EXPECT_EQ(pieces_of(sum, 4, 32), 2U);
  EXPECT_EQ(pieces_of(plan_broadcast(), 8192 - 8, 8192), 1U);
}

TEST(Terms, EveryPlansMarkIsTheOneOfTheNodeThatSpeaksInAnyOrder) {
  for (const Plan& plan : plans()) {
    ASSERT_LE(mark_elements(plan) * plan.frame_bytes, room);
    for (const std::uint64_t number :
         {std::uint64_t{1}, std::uint64_t{0xFFFF'FFFF'FFFF}, std::uint64_t{0x8123'4567'89AB}}) {
      for (std::size_t speaker = 0; speaker < 3; ++speaker) {
        Mark total = mark(plan, speaker == 0 ? number : 7, speaker == 0);
        for (std::size_t node = 1; node < 3; ++node) {
          const Mark part = mark(plan, speaker == node ? number : 7, speaker == node);
          ASSERT_TRUE(combine(plan.type, plan.op, total.data(), part.data(), mark_elements(plan)));
        }
        EXPECT_EQ(read_mark(plan, total.data()), number)
            << "type " << plan.type << ", operator " << plan.op;
      }
    }
  }
}

TEST(Terms, WhereNoNodeSpokeThereIsNoFingerprint) {
  for (const Plan& plan : plans()) {
    Mark total = mark(plan, 5, false);
    const Mark part = mark(plan, 5, false);
    ASSERT_TRUE(combine(plan.type, plan.op, total.data(), part.data(), mark_elements(plan)));
    EXPECT_NE(read_mark(plan, total.data()), 5U) << "type " << plan.type << " op " << plan.op;
  }
}

TEST(Terms, CallsThatDifferHaveAnotherFingerprintAndText) {
  const Plan sum = plan_reduction(Operator::sum, Element::float64, {}).plan;
  const Plan greatest = plan_reduction(Operator::max, Element::float64, {}).plan;
  const Plan integers = plan_reduction(Operator::sum, Element::int64, {}).plan;
  const Plan pairs = plan_reduction(Operator::sum, Element::complex128, {}).plan;
  const std::vector<Terms> all{
      {.kind = Kind::allreduce, .elements = 4, .plan = sum},
      {.kind = Kind::allreduce, .elements = 8, .plan = sum},
      {.kind = Kind::allreduce, .elements = 4, .plan = greatest},
      {.kind = Kind::allreduce, .elements = 4, .plan = integers},
      {.kind = Kind::reduce, .elements = 4, .plan = sum},
      {.kind = Kind::reduce, .root = 1, .elements = 4, .plan = sum},
      {.kind = Kind::reduce_scatter_block, .elements = 4, .plan = sum},
      {.kind = Kind::bcast, .elements = 32, .plan = plan_broadcast()},
      {.kind = Kind::bcast, .root = 2, .elements = 32, .plan = plan_broadcast()},
      {},
      {.kind = Kind::allreduce_init, .elements = 4, .plan = sum},
      {.kind = Kind::reduce_init, .root = 1, .elements = 4, .plan = sum},
      {.kind = Kind::bcast_init, .root = 2, .elements = 32, .plan = plan_broadcast()},
      {.kind = Kind::barrier_init, .plan = {}},
      {.kind = Kind::allreduce, .elements = 4, .plan = pairs},
      {.kind = Kind::reduce_scatter, .elements = 4, .counts = 0x1234, .plan = sum},
      {.kind = Kind::reduce_scatter, .elements = 4, .counts = 0x1235, .plan = sum},
      {.kind = Kind::reduce_scatter_init, .elements = 4, .counts = 0x1235, .plan = sum},
  };
  std::set<std::uint64_t> fingerprints;
  std::set<std::string> texts;
  for (const Terms& terms : all) {
    fingerprints.insert(fingerprint(terms));
    texts.insert(text_of(terms));
    EXPECT_LT(fingerprint(terms), std::uint64_t{1} << 48);
  }
  EXPECT_EQ(fingerprints.size(), all.size());
  EXPECT_EQ(texts.size(), all.size());
  EXPECT_EQ(text_of(all[5]), "MPI_Reduce of 4 doubles with MPI_SUM to rank 1");
  EXPECT_EQ(text_of(all[11]), "MPI_Reduce_init of 4 doubles with MPI_SUM to rank 1");
  EXPECT_EQ(text_of(all[12]), "MPI_Bcast_init of 32 bytes from rank 2");
  EXPECT_EQ(text_of(all[13]), "MPI_Barrier_init");
  EXPECT_EQ(text_of(all[14]), "MPI_Allreduce of 4 complex doubles with MPI_SUM");
  EXPECT_EQ(text_of(all[15]),
            "MPI_Reduce_scatter of 4 doubles with MPI_SUM, counts with the checksum 00001234");
}

TEST(WordHash, DependsOnWordsAndTheirOrder) {
  const auto hash = [](const std::vector<std::uint64_t>& words) {
    WordHash made;
    for (const std::uint64_t word : words) {
      made.add(word);
    }
    return made.value();
  };
  std::set<std::uint64_t> hashes;
  const std::vector<std::vector<std::uint64_t>> all{{},     {0},    {0, 0}, {2, 2},   {4, 0},
                                                    {0, 4}, {3, 1}, {1, 3}, {1, 1, 2}};
  for (const auto& words : all) {
    hashes.insert(hash(words));
  }
  EXPECT_EQ(hashes.size(), all.size());
}

} // namespace
} // namespace tributary::mpi::test
