// Vectors cut into pieces: every operator with every type it reduces, lengths around the boundaries
// of pieces, several operations at the same time.
#include "endpoint/collective/vector_pipeline.hpp"
#include "endpoint/collective/wide_codec.hpp"
#include "star_group.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace tributary::collective::test {
namespace vector_test {

using wire::Opcode;

/// A group whose members reduce vectors.
class VectorGroup {
public:
  explicit VectorGroup(std::uint32_t size) : star(size) {
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      pipelines.emplace_back(star[rank]);
    }
  }
  template <typename Done> void run_until(const Done& done) {
    for (int turns = 0; !done(); ++turns) {
      ASSERT_LT(turns, 1'000'000) << "no end in sight";
      star.pass(ms);
      for (auto& pipeline : pipelines) {
        pipeline.pump(star.now());
      }
    }
  }
  StarGroup star;
  std::vector<VectorPipeline> pipelines;
};

template <typename T> const std::byte* bytes(const std::vector<T>& v) {
  return reinterpret_cast<const std::byte*>(v.data());
}
template <typename T> std::byte* bytes(std::vector<T>& v) {
  return reinterpret_cast<std::byte*>(v.data());
}

/// Reduces `in[rank]` everywhere and returns every member's result.
template <typename T>
std::vector<std::vector<T>> reduce_all(Opcode op, ElementType type,
                                       const std::vector<std::vector<T>>& in,
                                       wire::ResultCode expected_rc = wire::ResultCode::success) {
  const auto size = static_cast<std::uint32_t>(in.size());
  VectorGroup group(size);
  std::vector<std::vector<T>> out(size, std::vector<T>(in[0].size()));
  std::vector<std::unique_ptr<VectorOperation>> operations;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    operations.push_back(std::make_unique<VectorOperation>(
        VectorTask{op, type, bytes(in[rank]), bytes(out[rank]), in[rank].size()}));
    group.pipelines[rank].start(*operations[rank], group.star.now());
  }
  group.run_until([&] {
    return std::all_of(operations.begin(), operations.end(),
                       [](const auto& o) { return o->finished(); });
  });
  for (const auto& operation : operations) {
    EXPECT_EQ(operation->rc(), expected_rc) << wire::name_of(operation->rc());
  }
  return out;
}

template <typename T> class NarrowBits : public testing::Test {};
template <typename T> constexpr ElementType type_of() {
  if constexpr (std::is_same_v<T, std::int8_t>)
    return ElementType::int8;
  if constexpr (std::is_same_v<T, std::uint8_t>)
    return ElementType::uint8;
  if constexpr (std::is_same_v<T, std::int16_t>)
    return ElementType::int16;
  if constexpr (std::is_same_v<T, std::uint16_t>)
    return ElementType::uint16;
  if constexpr (std::is_same_v<T, std::int32_t>)
    return ElementType::int32;
  if constexpr (std::is_same_v<T, std::uint32_t>)
    return ElementType::uint32;
  if constexpr (std::is_same_v<T, std::int64_t>)
    return ElementType::int64;
  return ElementType::uint64;
}
using IntegerTypes = testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                                    std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>;
TYPED_TEST_SUITE(NarrowBits, IntegerTypes);

TYPED_TEST(NarrowBits, AndOrXorOfEveryLengthAroundTheEdgesOfAPiece) {
  std::mt19937_64 random(7);
  const std::size_t per_piece = 32 / sizeof(TypeParam);
  for (const std::size_t length : {std::size_t{1}, per_piece - 1, per_piece, per_piece + 1,
                                   9 * per_piece + 3, 40 * per_piece}) {
    std::vector<std::vector<TypeParam>> in(3, std::vector<TypeParam>(length));
    for (auto& vector : in) {
      for (auto& value : vector) {
        value = static_cast<TypeParam>(random());
      }
    }
    for (const Opcode op : {Opcode::bit_and, Opcode::bit_or, Opcode::bit_xor}) {
      const auto out = reduce_all(op, type_of<TypeParam>(), in);
      for (std::size_t i = 0; i < length; ++i) {
        const auto expected =
            static_cast<TypeParam>(op == Opcode::bit_and  ? in[0][i] & in[1][i] & in[2][i]
                                   : op == Opcode::bit_or ? in[0][i] | in[1][i] | in[2][i]
                                                          : in[0][i] ^ in[1][i] ^ in[2][i]);
        for (const auto& result : out) {
          ASSERT_EQ(result[i], expected) << wire::name_of(op) << " element " << i;
        }
      }
    }
  }
}

TEST(Vector, IntegerMinMaxSumOfFullRangeValues) {
  const std::vector<std::vector<std::int64_t>> in = {
      {1, -5, std::numeric_limits<std::int64_t>::max(), 0, 7, -1},
      {2, 5, -1, 0, -7, -1},
      {3, -6, std::numeric_limits<std::int64_t>::min(), 0, 0, -1}};
  EXPECT_EQ(
      reduce_all(Opcode::int_min, ElementType::int64, in)[2],
      (std::vector<std::int64_t>{1, -6, std::numeric_limits<std::int64_t>::min(), 0, -7, -1}));
  EXPECT_EQ(reduce_all(Opcode::int_max, ElementType::int64, in)[1],
            (std::vector<std::int64_t>{3, 5, std::numeric_limits<std::int64_t>::max(), 0, 7, -1}));
  EXPECT_EQ(reduce_all(Opcode::int_sum, ElementType::int64, in)[0],
            (std::vector<std::int64_t>{6, -6, -2, 0, 0, -3}));
}

TEST(Vector, IntegerSumThatWrapsSaysSoForTheWholeOperation) {
  std::vector<std::int64_t> ones(100, 1);
  std::vector<std::int64_t> one_large = ones;
  one_large[42] = std::numeric_limits<std::int64_t>::max();
  const auto out = reduce_all<std::int64_t>(Opcode::int_sum, ElementType::int64, {ones, one_large},
                                            wire::ResultCode::int_overflow);
  EXPECT_EQ(out[0][42], std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(out[1][43], 2);
}

TEST(Vector, FloatMinimaAndMaximaOfOddLength) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<std::vector<double>> in = {{1.5, -2, inf, 0.0, 9}, {0.5, -3, 1, -0.0, 8}};
  const auto bits = [](const std::vector<double>& v) {
    std::vector<std::uint64_t> b;
    for (const double d : v) {
      b.push_back(std::bit_cast<std::uint64_t>(d));
    }
    return b;
  };
  for (const Opcode op : {Opcode::flt_min, Opcode::flt_minnum}) {
    EXPECT_EQ(bits(reduce_all(op, ElementType::float64, in)[1]), bits({0.5, -3, 1, -0.0, 8}));
  }
  for (const Opcode op : {Opcode::flt_max, Opcode::flt_maxnum}) {
    EXPECT_EQ(bits(reduce_all(op, ElementType::float64, in)[1]), bits({1.5, -2, inf, 0.0, 9}));
  }
}

TEST(Vector, FloatSumsInEveryRoundingModeAndTheTailRoundsNothing) {
  const std::vector<std::vector<double>> exact = {{1, 2, 3, 4, 5}, {10, 20, 30, 40, 50}};
  const double tiny = std::ldexp(1.0, -60);
  const std::vector<std::vector<double>> inexact = {{1, 1, 1, 1, 1},
                                                    {tiny, tiny, tiny, tiny, tiny}};
  for (unsigned code = 0x28; code <= 0x2F; ++code) {
    const auto op = static_cast<Opcode>(code);
    EXPECT_EQ(reduce_all(op, ElementType::float64, exact)[0],
              (std::vector<double>{11, 22, 33, 44, 55}))
        << wire::name_of(op);
    const double up = std::nextafter(1.0, 2.0);
    const double expected = wire::rounding_of(op) == wire::Rounding::upward ? up : 1.0;
    EXPECT_EQ(reduce_all(op, ElementType::float64, inexact, wire::ResultCode::flt_inexact)[1],
              std::vector<double>(5, expected))
        << wire::name_of(op);
  }
}

TEST(Vector, ReproducibleSumTakesAndGivesDoubles) {
  const std::vector<std::vector<double>> in = {
      {0.1, 1e16, -3.5, 1e300}, {0.2, 1, 1.25, -1e300}, {0, 1, 0.25, 1}};
  const auto out =
      reduce_all(Opcode::flt_repsum, ElementType::float64, in, wire::ResultCode::repsum_inexact);
  for (const auto& result : out) {
    EXPECT_EQ(result[0], 0.30000000000000004);
    EXPECT_EQ(result[1], 10000000000000002.0) << "exact, where plain addition loses both ones";
    EXPECT_EQ(result[2], -2.0);
    EXPECT_EQ(result[3], 0.0) << "the 1 lies too far below 1e300";
  }
}

TEST(Vector, ASignallingNanIsInvalidForEverySumAndMinimumAndAQuietOneIsNot) {
  // Whichever member contributes it, alone or beside an infinity or a value smaller than a bin.
  const double signalling = std::numeric_limits<double>::signaling_NaN();
  const double quiet = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  for (const Opcode op :
       {Opcode::flt_repsum, Opcode::flt_sum_nearest, Opcode::flt_min, Opcode::flt_max}) {
    for (const double other : {1.5, inf, 1e-300}) {
      for (const bool first : {true, false}) {
        const auto with = [&](double nan) {
          return std::vector<std::vector<double>>{{first ? nan : other}, {first ? other : nan}};
        };
        const auto invalid =
            reduce_all(op, ElementType::float64, with(signalling), wire::ResultCode::flt_invalid);
        EXPECT_TRUE(std::isnan(invalid[0][0]) && std::isnan(invalid[1][0])) << wire::name_of(op);
        EXPECT_TRUE(std::isnan(reduce_all(op, ElementType::float64, with(quiet))[1][0]));
      }
    }
  }
}

struct IntTuple {
  std::int64_t min;
  std::uint64_t min_index;
  std::int64_t max;
  std::uint64_t max_index;
  bool operator==(const IntTuple&) const = default;
};
struct FloatTuple {
  double min;
  std::uint64_t min_index;
  double max;
  std::uint64_t max_index;
  bool operator==(const FloatTuple&) const = default;
};

TEST(Vector, MinimaAndMaximaWithTheirPlaces) {
  const std::vector<std::vector<IntTuple>> in = {{{5, 10, 5, 10}, {-1, 0, -1, 0}},
                                                 {{-5, 11, -5, 11}, {-1, 1, -1, 1}},
                                                 {{7, 12, 7, 12}, {-1, 2, -1, 2}}};
  EXPECT_EQ(reduce_all(Opcode::int_minmaxloc, ElementType::minmaxloc_int64, in)[2],
            (std::vector<IntTuple>{{-5, 11, 7, 12}, {-1, 0, -1, 0}}));
  const std::vector<std::vector<FloatTuple>> floats = {{{0.5, 1, 0.5, 1}}, {{-0.5, 2, 4.5, 2}}};
  for (const Opcode op : {Opcode::flt_minmaxloc, Opcode::flt_minmaxnumloc}) {
    EXPECT_EQ(reduce_all(op, ElementType::minmaxloc_float64, floats)[0],
              (std::vector<FloatTuple>{{-0.5, 2, 4.5, 2}}));
  }
}

TEST(Vector, InputMayBeTheOutput) {
  VectorGroup group(3);
  std::vector<std::vector<std::int64_t>> buffers(3, std::vector<std::int64_t>(1000));
  std::vector<std::unique_ptr<VectorOperation>> operations;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    for (std::size_t i = 0; i < 1000; ++i) {
      buffers[rank][i] = static_cast<std::int64_t>(i * (rank + 1));
    }
    operations.push_back(std::make_unique<VectorOperation>(VectorTask{
        Opcode::int_sum, ElementType::int64, bytes(buffers[rank]), bytes(buffers[rank]), 1000}));
    group.pipelines[rank].start(*operations[rank], group.star.now());
  }
  group.run_until([&] {
    return operations[0]->finished() && operations[1]->finished() && operations[2]->finished();
  });
  for (std::size_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(buffers[2][i], static_cast<std::int64_t>(6 * i));
  }
}

TEST(Vector, MemberWithoutInputContributesTheIdentityAndOneWithoutOutputKeepsNothing) {
  VectorGroup group(2);
  const std::vector<std::uint32_t> message = {0xDEADBEEF, 1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<std::uint32_t> heard(message.size());
  VectorOperation speak(
      {Opcode::bit_or, ElementType::uint32, bytes(message), nullptr, message.size()});
  VectorOperation listen(
      {Opcode::bit_or, ElementType::uint32, nullptr, bytes(heard), heard.size()});
  group.pipelines[0].start(speak, group.star.now());
  group.pipelines[1].start(listen, group.star.now());
  group.run_until([&] { return speak.finished() && listen.finished(); });
  EXPECT_EQ(heard, message);
}

TEST(Vector, IdentityOfEveryOperatorLeavesTheOthersValues) {
  for (const Opcode op : wire::all_opcodes) {
    for (std::size_t t = 0; t < element_type_count; ++t) {
      const auto type = static_cast<ElementType>(t);
      if (!reduces(op, type) || type == ElementType::repsum_state) {
        continue; // a state's M has gaps beside it, which are zero
      }
      // Values that are sound for integers, doubles and tuples alike: 1.5 and its bits.
      std::vector<double> values(20, 1.5);
      const std::size_t elements = values.size() * sizeof(double) / bytes_of(type);
      std::vector<double> heard(values.size());
      VectorGroup group(2);
      VectorOperation speak({op, type, bytes(values), nullptr, elements});
      VectorOperation listen({op, type, nullptr, bytes(heard), elements});
      group.pipelines[0].start(speak, group.star.now());
      group.pipelines[1].start(listen, group.star.now());
      group.run_until([&] { return speak.finished() && listen.finished(); });
      EXPECT_EQ(heard, values) << wire::name_of(op);
      EXPECT_EQ(listen.rc(), wire::ResultCode::success) << wire::name_of(op);
    }
  }
}

TEST(Vector, OperationsOneAfterTheOther) {
  VectorGroup group(2);
  for (std::int64_t i = 0; i < 20; ++i) {
    std::vector<std::int64_t> a(3, i);
    std::vector<std::int64_t> b(3, 2 * i);
    VectorOperation first({Opcode::int_sum, ElementType::int64, bytes(a), bytes(a), 3});
    VectorOperation second({Opcode::int_sum, ElementType::int64, bytes(b), bytes(b), 3});
    group.pipelines[0].start(first, group.star.now());
    group.pipelines[1].start(second, group.star.now());
    group.run_until([&] { return first.finished() && second.finished(); });
    ASSERT_EQ(a, std::vector<std::int64_t>(3, 3 * i));
    ASSERT_EQ(b, a);
    ASSERT_TRUE(group.pipelines[0].is_idle());
  }
}

TEST(Vector, NoElementsFinishAtOnceAndTakeNoPiece) {
  VectorGroup group(2);
  VectorOperation nothing({Opcode::int_sum, ElementType::int64, nullptr, nullptr, 0});
  group.pipelines[1].start(nothing, group.star.now());
  EXPECT_TRUE(nothing.finished());
  EXPECT_EQ(group.star[1].next_piece(), 0U);
  EXPECT_TRUE(group.pipelines[1].is_idle());
}

TEST(Vector, EightPiecesAreInFlightAndNoMore) {
  VectorGroup group(2);
  std::vector<std::int64_t> values(400, 1);
  VectorOperation sum({Opcode::int_sum, ElementType::int64, bytes(values), nullptr, 400});
  group.pipelines[0].start(sum, group.star.now());
  EXPECT_EQ(sum.pieces(), 100U);
  EXPECT_EQ(group.star[0].next_piece(), 8U);
}

TEST(Vector, SeveralOperationsAtOnceFinishEachWithItsOwn) {
  VectorGroup group(3);
  constexpr std::size_t count = 30;
  struct Work {
    std::vector<std::int64_t> values;
    std::unique_ptr<VectorOperation> operation;
  };
  std::vector<std::vector<Work>> work(3);
  // Frames of one reduction id alone are lost, so pieces of the others overtake.
  std::mt19937 random(11);
  group.star.set_script([&](auto, auto, const wire::ReductionFrame& f) {
    return f.reduction == ReductionId{0} && random() % 3 == 0 ? 0 : 1;
  });
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    for (std::size_t i = 0; i < count; ++i) {
      Work w;
      w.values.assign(i % 7 == 0 ? 1 : i, static_cast<std::int64_t>(i));
      w.operation = std::make_unique<VectorOperation>(
          i % 5 == 4 ? VectorTask{}
                     : VectorTask{Opcode::int_sum, ElementType::int64, bytes(w.values),
                                  bytes(w.values), w.values.size()});
      work[rank].push_back(std::move(w));
    }
    for (Work& w : work[rank]) {
      group.pipelines[rank].start(*w.operation, group.star.now());
    }
  }
  group.run_until([&] {
    return std::all_of(group.pipelines.begin(), group.pipelines.end(),
                       [](const auto& p) { return p.is_idle(); });
  });
  for (const auto& of_rank : work) {
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_TRUE(of_rank[i].operation->finished());
      const auto factor = static_cast<std::int64_t>(i % 5 == 4 ? 1 : 3);
      for (const std::int64_t value : of_rank[i].values) {
        ASSERT_EQ(value, factor * static_cast<std::int64_t>(i));
      }
    }
  }
  EXPECT_GT(group.star.root().statistics().retried + group.star.root().statistics().replayed, 0U);
}

TEST(Vector, MembersThatCallDifferentOperatorsLearnWhoDiffered) {
  VectorGroup group(2);
  std::vector<std::int64_t> values(4, 1);
  VectorOperation sum({Opcode::int_sum, ElementType::int64, bytes(values), bytes(values), 4});
  VectorOperation min({Opcode::int_min, ElementType::int64, bytes(values), nullptr, 4});
  group.pipelines[0].start(sum, group.star.now());
  group.pipelines[1].start(min, group.star.now());
  group.run_until([&] { return sum.finished() && min.finished(); });
  for (const VectorOperation* operation : {&sum, &min}) {
    EXPECT_EQ(operation->rc(), wire::ResultCode::op_mismatch);
    EXPECT_EQ(operation->first_source(), nid_of_rank(0));
    EXPECT_EQ(operation->offending_source(), nid_of_rank(1));
  }
  EXPECT_EQ(values, std::vector<std::int64_t>(4, 1)) << "a report is not a result";
}

TEST(Vector, AGroupOfOneCopies) {
  VectorGroup group(1);
  std::vector<double> values(1000, 0.1);
  std::vector<double> sums(1000);
  VectorOperation sum({Opcode::flt_repsum, ElementType::float64, bytes(values), bytes(sums), 1000});
  group.pipelines[0].start(sum, group.star.now());
  EXPECT_TRUE(sum.finished());
  EXPECT_EQ(sums, values);
}

TEST(Vector, AStateOfAReproducibleSumIsWorthTheDoublesThatWereAddedUpInIt) {
  const auto state_of = [](double value) {
    std::vector<std::byte> state(bytes_of(ElementType::repsum_state));
    encode_elements(Opcode::flt_repsum, ElementType::float64,
                    reinterpret_cast<const std::byte*>(&value), 1, state.data());
    return state;
  };
  const std::vector<std::byte> mine = state_of(3.25);
  const std::vector<std::byte> theirs = state_of(-0x1p60);
  std::vector<std::byte> sum(mine.size());
  VectorGroup group(2);
  VectorOperation first(
      {Opcode::flt_repsum, ElementType::repsum_state, mine.data(), sum.data(), 1});
  VectorOperation second(
      {Opcode::flt_repsum, ElementType::repsum_state, theirs.data(), nullptr, 1});
  group.pipelines[0].start(first, group.star.now());
  group.pipelines[1].start(second, group.star.now());
  group.run_until([&] { return first.finished() && second.finished(); });
  double value = 0;
  decode_elements(Opcode::flt_repsum, ElementType::float64, sum.data(), 1,
                  reinterpret_cast<std::byte*>(&value));
  EXPECT_EQ(value, 3.25 - 0x1p60);
}

TEST(ElementType, EveryOperatorButBarrierReducesSomeTypeAndFillsAFrame) {
  for (const Opcode op : wire::all_opcodes) {
    int types = 0;
    for (std::size_t t = 0; t < element_type_count; ++t) {
      const auto type = static_cast<ElementType>(t);
      if (!reduces(op, type)) {
        continue;
      }
      ++types;
      const std::size_t expected = op == Opcode::flt_repsum ? 1 : 32 / bytes_of(type);
      EXPECT_EQ(elements_per_piece(op, type), expected);
    }
    EXPECT_EQ(types > 0, op != Opcode::barrier) << wire::name_of(op);
  }
}

} // namespace vector_test
} // namespace tributary::collective::test
