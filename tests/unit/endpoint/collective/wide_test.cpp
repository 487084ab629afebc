// Vectors in wide frames, from a user's memory at all members to the result there.
#include "wide_group.hpp"

#include "tributary/wire/wide_reduction.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <numeric>

namespace tributary::collective::test {
namespace wide_test {

using wire::Opcode;
using Bytes = std::vector<std::byte>;

/// One operation at all members, with memory of its own at each.
class Everywhere {
public:
  Everywhere(WideGroup& group, Opcode op, ElementType type, std::size_t elements,
             bool in_place = false)
      : group_(group) {
    for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
      in_.push_back(std::make_unique<Bytes>(elements * bytes_of(type)));
      out_.push_back(in_place ? nullptr : std::make_unique<Bytes>(elements * bytes_of(type)));
      tasks_.push_back({.op = op,
                        .type = type,
                        .in = in_[rank]->data(),
                        .out = in_place ? in_[rank]->data() : out_[rank]->data(),
                        .elements = elements});
    }
  }
  /// Sets an element of a member's vector.
  template <typename T> void set(std::uint32_t rank, std::size_t index, T value) {
    std::memcpy(in_[rank]->data() + index * sizeof value, &value, sizeof value);
  }
  [[nodiscard]] VectorTask& task(std::uint32_t rank) { return tasks_[rank]; }
  void start(std::uint32_t rank) {
    operations_.emplace_back(tasks_[rank], group_.payload(rank));
    group_.start(rank, operations_.back());
  }
  void start() {
    for (std::uint32_t rank = 0; rank < group_.size(); ++rank) {
      start(rank);
    }
  }
  [[nodiscard]] bool finished() const {
    return operations_.size() == group_.size() &&
           std::ranges::all_of(operations_, [](const auto& each) { return each.finished(); });
  }
  template <typename T> [[nodiscard]] T result(std::uint32_t rank, std::size_t index) const {
    T value;
    const Bytes& bytes = out_[rank] ? *out_[rank] : *in_[rank];
    std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
    return value;
  }
  [[nodiscard]] const VectorOperation& operation(std::size_t started) const {
    return operations_[started];
  }
  /// Frees the memory of a member's operand.
  void free_input(std::uint32_t rank) { in_[rank].reset(); }

private:
  WideGroup& group_;
  std::vector<std::unique_ptr<Bytes>> in_;
  std::vector<std::unique_ptr<Bytes>> out_;
  std::vector<VectorTask> tasks_;
  std::deque<VectorOperation> operations_;
};

constexpr std::uint64_t second = 1'000'000'000;

template <typename T>
void expect_reduced(Opcode op, ElementType type, std::size_t elements, T (*value)(std::size_t),
                    T (*combine)(T, T), bool in_place = false) {
  WideGroup group(3, {});
  Everywhere sum(group, op, type, elements, in_place);
  std::vector<T> expected(elements);
  for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
    for (std::size_t i = 0; i < elements; ++i) {
      const T mine = value(i * 7 + rank * 3);
      sum.set(rank, i, mine);
      expected[i] = rank == 0 ? mine : combine(expected[i], mine);
    }
  }
  sum.start();
  ASSERT_TRUE(group.run(second, [&] { return sum.finished(); }));
  for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
    EXPECT_EQ(sum.operation(rank).rc(), wire::ResultCode::success);
    for (std::size_t i = 0; i < elements; ++i) {
      ASSERT_EQ(sum.result<T>(rank, i), expected[i]) << "rank " << rank << ", element " << i;
    }
  }
}

class Lengths : public testing::TestWithParam<std::size_t> {};

TEST_P(Lengths, SumsOfSmallAndLargeIntegers) {
  expect_reduced<std::int32_t>(
      Opcode::int_sum, ElementType::int32, GetParam(),
      [](std::size_t i) { return static_cast<std::int32_t>(i) - 900; },
      [](std::int32_t a, std::int32_t b) { return a + b; });
  expect_reduced<std::int64_t>(
      Opcode::int_sum, ElementType::int64, GetParam(),
      [](std::size_t i) { return static_cast<std::int64_t>(i) << 30; },
      [](std::int64_t a, std::int64_t b) { return a + b; });
  expect_reduced<std::int8_t>(
      Opcode::int_sum, ElementType::int8, GetParam(),
      [](std::size_t i) { return static_cast<std::int8_t>(i % 40); },
      [](std::int8_t a, std::int8_t b) { return static_cast<std::int8_t>(a + b); });
}

TEST_P(Lengths, SumsAndExtremesOfFloats) {
  expect_reduced<float>(
      Opcode::flt_sum_nearest, ElementType::float32, GetParam(),
      [](std::size_t i) { return static_cast<float>(i % 1000) * 0.5F; },
      [](float a, float b) { return a + b; });
  expect_reduced<float>(
      Opcode::flt_max, ElementType::float32, GetParam(),
      [](std::size_t i) { return static_cast<float>(i * 7919 % 1009) - 500.0F; },
      [](float a, float b) { return std::max(a, b); });
  expect_reduced<double>(
      Opcode::flt_sum_nearest, ElementType::float64, GetParam(),
      [](std::size_t i) { return static_cast<double>(i) * 0.25; },
      [](double a, double b) { return a + b; });
}

TEST_P(Lengths, UnsignedExtremesAreThoseOfUnsignedNumbers) {
  expect_reduced<std::uint16_t>(
      Opcode::int_max, ElementType::uint16, GetParam(),
      [](std::size_t i) { return static_cast<std::uint16_t>(i * 40503); },
      [](std::uint16_t a, std::uint16_t b) { return std::max(a, b); });
  expect_reduced<std::uint64_t>(
      Opcode::int_min, ElementType::uint64, GetParam(),
      [](std::size_t i) { return std::uint64_t{i * 0x9E3779B97F4A7C15UL}; },
      [](std::uint64_t a, std::uint64_t b) { return std::min(a, b); });
}

TEST_P(Lengths, UnsignedSumsWrapWithoutAWord) {
  expect_reduced<std::uint8_t>(
      Opcode::int_sum, ElementType::uint8, GetParam(),
      [](std::size_t i) { return static_cast<std::uint8_t>(i * 91); },
      [](std::uint8_t a, std::uint8_t b) { return static_cast<std::uint8_t>(a + b); });
}

TEST_P(Lengths, ReproducibleSumsAreExact) {
  expect_reduced<double>(
      Opcode::flt_repsum, ElementType::float64, GetParam(),
      [](std::size_t i) { return static_cast<double>(i) * 1024.0 - 3.0; },
      [](double a, double b) { return a + b; });
}

TEST_P(Lengths, InPlaceIsTheSame) {
  expect_reduced<std::int32_t>(
      Opcode::bit_xor, ElementType::int32, GetParam(),
      [](std::size_t i) { return static_cast<std::int32_t>(i * 2654435761U); },
      [](std::int32_t a, std::int32_t b) { return a ^ b; }, true);
  expect_reduced<double>(
      Opcode::flt_repsum, ElementType::float64, GetParam(),
      [](std::size_t i) { return static_cast<double>(i); },
      [](double a, double b) { return a + b; }, true);
}

INSTANTIATE_TEST_SUITE_P(Elements, Lengths,
                         testing::Values(1, 2, 5, 9, 10, 11, 175, 176, 177, 351, 352, 353, 1408,
                                         1409, 5000));

TEST(WideVectors, HalvesAreAddedAsFloatsAndNarrowedOnce) {
  WideGroup group(3, {});
  for (const ElementType type : {ElementType::float16, ElementType::bfloat16}) {
    Everywhere sum(group, Opcode::flt_sum_nearest, type, 1000);
    const std::uint16_t one = type == ElementType::float16 ? 0x3C00 : 0x3F80;
    const std::uint16_t three = type == ElementType::float16 ? 0x4200 : 0x4040;
    for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
      for (std::size_t i = 0; i < 1000; ++i) {
        sum.set(rank, i, one);
      }
    }
    sum.start();
    ASSERT_TRUE(group.run(second, [&] { return sum.finished(); }));
    for (std::size_t i = 0; i < 1000; ++i) {
      ASSERT_EQ(sum.result<std::uint16_t>(2, i), three);
    }
  }
}

TEST(WideVectors, TheLeastAndGreatestHaveTheirPlaces) {
  struct Tuple {
    double least;
    std::uint64_t at_least;
    double greatest;
    std::uint64_t at_greatest;
  };
  WideGroup group(4, {});
  constexpr std::size_t count = 100;
  Everywhere found(group, Opcode::flt_minmaxloc, ElementType::minmaxloc_float64, count);
  for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = static_cast<double>((i + rank) % 4);
      found.set(rank, i, Tuple{value, rank, value, rank});
    }
  }
  found.start();
  ASSERT_TRUE(group.run(second, [&] { return found.finished(); }));
  for (std::size_t i = 0; i < count; ++i) {
    const auto tuple = found.result<Tuple>(1, i);
    EXPECT_EQ(tuple.least, 0.0);
    EXPECT_EQ(tuple.greatest, 3.0);
    EXPECT_EQ((i + tuple.at_least) % 4, 0U);
    EXPECT_EQ((i + tuple.at_greatest) % 4, 3U);
  }
}

TEST(WideVectors, AMemberWithoutAVectorContributesTheIdentity) {
  WideGroup group(3, {});
  Everywhere sum(group, Opcode::flt_sum_nearest, ElementType::float32, 1000);
  for (std::size_t i = 0; i < 1000; ++i) {
    sum.set(1, i, static_cast<float>(i));
  }
  sum.task(0).in = sum.task(2).in = nullptr;
  sum.task(2).out = nullptr;
  sum.start();
  ASSERT_TRUE(group.run(second, [&] { return sum.finished(); }));
  for (std::size_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(sum.result<float>(0, i), static_cast<float>(i));
  }
}

TEST(WideVectors, TheIdentityOfEveryOperatorLeavesTheOthersValues) {
  for (const Opcode op : wire::all_opcodes) {
    for (std::size_t t = 0; t < element_type_count; ++t) {
      const auto type = static_cast<ElementType>(t);
      if (form_of(op, type) == wire::Form::words || type == ElementType::repsum_state) {
        continue; // a state's M has gaps beside it, which are zero
      }
      // 1.5 and its bits are sound for all types.
      constexpr std::size_t doubles = 400;
      WideGroup group(2, {});
      Everywhere all(group, op, type, doubles * sizeof(double) / bytes_of(type));
      for (std::size_t i = 0; i < doubles; ++i) {
        all.set(1, i, 1.5);
      }
      all.task(0).in = nullptr;
      all.start();
      ASSERT_TRUE(group.run(second, [&] { return all.finished(); }));
      for (std::size_t i = 0; i < doubles; ++i) {
        ASSERT_EQ(all.result<double>(0, i), 1.5)
            << wire::name_of(op) << " on " << wire::name_of(form_of(op, type));
      }
      EXPECT_EQ(all.operation(0).rc(), wire::ResultCode::success) << wire::name_of(op);
    }
  }
}

TEST(WideVectors, BothFormsTakeTurnsUnderOneId) {
  WideGroup group(3, {}, [](GroupParameters& p) { p.slots = 16; });
  std::deque<Everywhere> all;
  for (std::size_t round = 0; round < 60; ++round) {
    all.emplace_back(group, Opcode::int_sum, ElementType::int64, round % 3 == 0 ? 3 : 700);
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      all.back().set(rank, 2, std::int64_t{1} << round);
    }
    all.back().start();
  }
  ASSERT_TRUE(group.run(second, [&] {
    return std::ranges::all_of(all, [](const auto& each) { return each.finished(); });
  }));
  for (std::size_t round = 0; round < 60; ++round) {
    EXPECT_EQ(all[round].result<std::int64_t>(1, 2), std::int64_t{3} << round);
  }
}

TEST(WideVectors, MembersThatDoNotAgreeAreToldWho) {
  struct Case {
    Opcode op;
    ElementType type;
  };
  for (const Case other :
       {Case{Opcode::int_max, ElementType::int32}, Case{Opcode::int_sum, ElementType::int64},
        Case{Opcode::flt_sum_nearest, ElementType::float32}}) {
    WideGroup group(3, {});
    Everywhere sum(group, Opcode::int_sum, ElementType::int32, 320);
    sum.task(2).op = other.op;
    sum.task(2).type = other.type;
    sum.task(2).elements = 320 * 4 / bytes_of(other.type);
    sum.start();
    ASSERT_TRUE(group.run(second, [&] { return sum.finished() || group[0].failure(); }));
    if (group[0].failure()) {
      continue; // other counts end the group
    }
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      ASSERT_EQ(sum.operation(rank).rc(), wire::ResultCode::op_mismatch);
      const Nid one = sum.operation(rank).first_source();
      const Nid two = sum.operation(rank).offending_source();
      EXPECT_TRUE(one == nid_of_rank(2) || two == nid_of_rank(2));
      EXPECT_NE(one, two);
    }
  }
}

TEST(WideVectors, AMemberOfAnOldGroupRefusesThem) {
  WideGroup group(2, {}, [](GroupParameters& p) { p.payload = p.rank == 0 ? 32 : 1408; });
  Everywhere sum(group, Opcode::int_sum, ElementType::int64, 100);
  sum.start(1);
  VectorOperation none({.op = Opcode::barrier});
  group.start(0, none); // opens a sequence
  EXPECT_FALSE(group.run(second / 10, [&] { return none.finished(); }));
  EXPECT_GT(group[0].statistics().malformed, 0U);
}

TEST(WideVectors, MemoryIsTheUsersAgainWhenItsPieceHasCompleted) {
  // One frame a step: outboxes are full of repeated frames when results arrive.
  WideGroup group(3, {.loss = 0.1, .duplicates = 0.1, .seed = 7, .frames_at_once = 1});
  std::deque<Everywhere> all;
  std::vector<std::vector<bool>> freed;
  for (std::size_t round = 0; round < 200; ++round) {
    all.emplace_back(group, Opcode::int_sum, ElementType::int32, 352);
    all.back().set(0, 0, static_cast<std::int32_t>(round));
    all.back().start();
    freed.emplace_back(3, false);
  }
  const auto free_what_has_ended = [&] {
    bool over = true;
    for (std::size_t round = 0; round < all.size(); ++round) {
      for (std::uint32_t rank = 0; rank < 3; ++rank) {
        if (!freed[round][rank] && all[round].operation(rank).finished()) {
          freed[round][rank] = true;
          all[round].free_input(rank);
        }
        over = over && freed[round][rank];
      }
    }
    return over;
  };
  ASSERT_TRUE(group.run(60 * second, free_what_has_ended));
  for (std::size_t round = 0; round < all.size(); ++round) {
    EXPECT_EQ(all[round].result<std::int32_t>(2, 0), static_cast<std::int32_t>(round));
  }
}

TEST(WideVectors, ALossIsMadeUpForInTheTimeOfAPieceNotOfATimer) {
  for (const bool of_root : {false, true}) {
    WideGroup group(3, {});
    Everywhere sum(group, Opcode::int_sum, ElementType::int64, 20'000);
    std::size_t frames = 0;
    group.set_filter([&](std::uint32_t from, std::uint32_t to, std::span<const std::byte> bytes) {
      return (from == 0) != of_root || (of_root ? to : from) != 1 || bytes.size() < 200 ||
             ++frames != 10;
    });
    const TimeNs begin = group.now();
    sum.start();
    ASSERT_TRUE(group.run(second, [&] { return sum.finished(); }));
    EXPECT_LT(elapsed_ns(group.now(), begin), 5 * ms) << "the retry timer is 32 ms";
    EXPECT_GT(group[0].statistics().overdue + group[1].statistics().overdue, 0U);
  }
}

TEST(WideVectors, TheLastPieceIsNotLeftToTheTimer) {
  WideGroup group(3, {});
  Everywhere sum(group, Opcode::int_sum, ElementType::int64, 176 * 10);
  std::size_t frames = 0;
  group.set_filter([&](std::uint32_t from, std::uint32_t, std::span<const std::byte> bytes) {
    return from != 2 || bytes.size() < 200 || ++frames != 10;
  });
  const TimeNs begin = group.now();
  sum.start();
  ASSERT_TRUE(group.run(second, [&] { return sum.finished(); }));
  EXPECT_LT(elapsed_ns(group.now(), begin), 5 * ms);
}

TEST(WideVectors, AStragglerIsNotAskedForEarly) {
  for (const std::uint32_t late : {0U, 3U}) { // the root, a leaf
    WideGroup group(4, {});
    std::deque<Everywhere> all;
    for (std::size_t round = 0; round < 30; ++round) {
      all.emplace_back(group, Opcode::int_sum, ElementType::int64, 50'000);
      for (std::uint32_t rank = 0; rank < 4; ++rank) {
        if (rank != late) {
          all.back().start(rank);
        }
      }
      group.run(20 * ms, [] { return false; }); // less than the retry timer
      all.back().start(late);
      ASSERT_TRUE(group.run(second, [&] { return all.back().finished(); }));
    }
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(group[rank].statistics().overdue, 0U) << "late: " << late;
      EXPECT_EQ(group[rank].statistics().retried, 0U);
      EXPECT_EQ(group[rank].statistics().requests_sent, 0U);
    }
  }
}

TEST(WideVectors, GroupsOfEightHaveOnlyTheirTimers) {
  WideGroup group(3, {}, [](GroupParameters& p) { p.slots = 8; });
  Everywhere sum(group, Opcode::int_sum, ElementType::int64, 20'000);
  std::size_t frames = 0;
  group.set_filter([&](std::uint32_t from, std::uint32_t, std::span<const std::byte> bytes) {
    return from != 1 || bytes.size() < 200 || ++frames != 10;
  });
  const TimeNs begin = group.now();
  sum.start();
  ASSERT_TRUE(group.run(second, [&] { return sum.finished(); }));
  EXPECT_GE(elapsed_ns(group.now(), begin), 32 * ms);
}

TEST(WideVectors, LeavingIsTheSame) {
  WideGroup group(3, {});
  Everywhere sum(group, Opcode::int_sum, ElementType::int32, 10'000);
  sum.start();
  ASSERT_TRUE(group.run(second, [&] { return sum.finished(); }));
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    group[rank].leave(group.now());
  }
  EXPECT_TRUE(
      group.run(second, [&] { return group[0].left() && group[1].left() && group[2].left(); }));
  EXPECT_FALSE(group[0].abandoned());
}

class WideChaos : public testing::TestWithParam<std::uint32_t> {};

TEST_P(WideChaos, EveryElementIsRightAtEveryMember) {
  std::mt19937 random(GetParam());
  const auto size = static_cast<std::uint32_t>(2 + random() % 7);
  const std::uint32_t slots = 8U << random() % 5;
  const bool twins = random() % 3 == 0;
  WideGroup group(size,
                  {.latency_ns = 1000 + random() % 50'000,
                   .jitter_ns = random() % 3 == 0 ? random() % 100'000 : 0,
                   .loss = static_cast<double>(random() % 4) * 0.01,
                   .duplicates = static_cast<double>(random() % 3) * 0.01,
                   .seed = GetParam()},
                  [&](GroupParameters& p) {
                    p.slots = slots;
                    p.payload = 64 * (1 + GetParam() % 22);
                    p.first_sequence = SequenceNumber{GetParam() * 97 % 1000};
                    if (twins) {
                      p.twin = TreeNumber{0xABD};
                    }
                  });
  std::deque<Everywhere> all;
  for (std::size_t round = 0; round < 12; ++round) {
    const std::size_t elements = 1 + random() % 4000;
    all.emplace_back(group, Opcode::int_sum, ElementType::int32, elements);
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      for (std::size_t i = 0; i < elements; ++i) {
        all.back().set(rank, i, static_cast<std::int32_t>(i * (rank + 1) + round));
      }
    }
    all.back().start();
  }
  ASSERT_TRUE(group.run(
      600 * second,
      [&] { return std::ranges::all_of(all, [](const auto& each) { return each.finished(); }); }))
      << "seed " << GetParam();
  const auto ranks = static_cast<std::int32_t>(size * (size + 1) / 2);
  for (std::size_t round = 0; round < all.size(); ++round) {
    const std::size_t elements = all[round].operation(0).task().elements;
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      for (std::size_t i = 0; i < elements; ++i) {
        ASSERT_EQ(all[round].result<std::int32_t>(rank, i),
                  static_cast<std::int32_t>(i) * ranks + static_cast<std::int32_t>(round * size))
            << "seed " << GetParam() << ", rank " << rank << ", element " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, WideChaos, testing::Range(1U, 41U));

} // namespace wide_test
} // namespace tributary::collective::test
