// Atomics: what each does to memory, and between two programs.
#include "endpoint/messages/atomics.hpp"
#include "tests/unit/endpoint/messages/two_programs.hpp"
#include "tributary/wire/atomic.hpp"

#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <span>
#include <vector>

namespace tributary::messages::test {
namespace {

using Op = wire::AtomicOperation;
using Type = wire::AtomicType;

/// The value that memory with `value` has afterwards. What was there before has to be returned.
template <typename T> T applied(Op op, Type type, T value, T operand, T compare = T{}) {
  const auto at = [](auto& v) { return reinterpret_cast<std::byte*>(&v); };
  EXPECT_EQ(wire::atomic_width(type), sizeof(T));
  EXPECT_TRUE(wire::is_atomic(op, type));
  // Not aligned, and with something on both sides.
  std::array<std::byte, sizeof(T) + 2> memory{};
  memory.fill(std::byte{0xC5});
  std::memcpy(&memory[1], &value, sizeof value);
  T old{};
  apply({.operation = op,
         .type = type,
         .count = 1,
         .memory = &memory[1],
         .operand = at(operand),
         .compare = at(compare),
         .old = at(old)});
  EXPECT_EQ(old, value);
  EXPECT_EQ(memory.front(), std::byte{0xC5});
  EXPECT_EQ(memory.back(), std::byte{0xC5});
  T after{};
  std::memcpy(&after, &memory[1], sizeof after);
  return after;
}

TEST(Atomics, OfIntegers) {
  constexpr std::uint8_t six = 6;
  constexpr std::uint8_t three = 3;
  EXPECT_EQ(applied<std::uint8_t>(Op::minimum, Type::uint8, six, three), 3);
  EXPECT_EQ(applied<std::uint8_t>(Op::maximum, Type::uint8, six, three), 6);
  EXPECT_EQ(applied<std::uint8_t>(Op::sum, Type::uint8, 250, 10), 4) << "it wraps";
  EXPECT_EQ(applied<std::uint8_t>(Op::product, Type::uint8, 100, 3), 44) << "it wraps";
  EXPECT_EQ(applied<std::uint8_t>(Op::logical_or, Type::uint8, 0, 7), 1);
  EXPECT_EQ(applied<std::uint8_t>(Op::logical_and, Type::uint8, 8, 7), 1);
  EXPECT_EQ(applied<std::uint8_t>(Op::logical_xor, Type::uint8, 8, 7), 0);
  EXPECT_EQ(applied<std::uint8_t>(Op::bit_or, Type::uint8, six, three), 7);
  EXPECT_EQ(applied<std::uint8_t>(Op::bit_and, Type::uint8, six, three), 2);
  EXPECT_EQ(applied<std::uint8_t>(Op::bit_xor, Type::uint8, six, three), 5);
  EXPECT_EQ(applied<std::uint8_t>(Op::read, Type::uint8, six, three), 6);
  EXPECT_EQ(applied<std::uint8_t>(Op::write, Type::uint8, six, three), 3);
  EXPECT_EQ(applied<std::uint16_t>(Op::swap_bits, Type::uint16, 0xABCD, 0x1234, 0x0FF0), 0xA23D);
  EXPECT_EQ(applied<std::int8_t>(Op::minimum, Type::int8, -5, 3), -5) << "signs count";
  EXPECT_EQ(applied<std::int16_t>(Op::product, Type::int16, -300, 2), -600);
  EXPECT_EQ(applied<std::int32_t>(Op::sum, Type::int32, std::numeric_limits<int>::max(), 1),
            std::numeric_limits<int>::min());
  EXPECT_EQ(applied<std::int64_t>(Op::sum, Type::int64, -1, -1), -2);
  EXPECT_EQ(applied<std::uint32_t>(Op::sum, Type::uint32, 5, 6), 11U);
  EXPECT_EQ(applied<std::uint64_t>(Op::product, Type::uint64, 1ULL << 40U, 4), 1ULL << 42U);
}

TEST(Atomics, OfFloatsAndComplexNumbers) {
  EXPECT_EQ(applied<float>(Op::sum, Type::float32, 1.5F, 2.25F), 3.75F);
  EXPECT_EQ(applied<double>(Op::maximum, Type::float64, -1.5, 2.25), 2.25);
  EXPECT_EQ(applied<double>(Op::logical_and, Type::float64, -1.5, 2.25), 1.0);
  using C = std::complex<float>;
  using D = std::complex<double>;
  EXPECT_EQ(applied<C>(Op::product, Type::complex32, C(1, 2), C(3, -1)), C(5, 5));
  EXPECT_EQ(applied<D>(Op::sum, Type::complex64, D(1, 2), D(3, -1)), D(4, 1));
  EXPECT_EQ(applied<D>(Op::swap_if_equal, Type::complex64, D(1, 2), D(7, 7), D(1, 2)), D(7, 7));
  EXPECT_FALSE(wire::is_atomic(Op::minimum, Type::complex64)) << "they have no order";
  EXPECT_FALSE(wire::is_atomic(Op::bit_xor, Type::float64));
  EXPECT_FALSE(wire::is_atomic(Op::swap_bits, Type::float32));
}

TEST(Atomics, SwapIfTheComparedValueStandsInThatRelationToTheOldOne) {
  struct Case {
    Op op;
    std::array<bool, 3> swaps; ///< compared with less than the old value, the same, more
  };
  for (const Case& c : {Case{Op::swap_if_equal, {false, true, false}},
                        Case{Op::swap_if_different, {true, false, true}},
                        Case{Op::swap_if_at_most, {true, true, false}},
                        Case{Op::swap_if_less, {true, false, false}},
                        Case{Op::swap_if_at_least, {false, true, true}},
                        Case{Op::swap_if_greater, {false, false, true}}}) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(applied<std::int32_t>(c.op, Type::int32, 10, 99, 9 + i),
                c.swaps[static_cast<std::size_t>(i)] ? 99 : 10)
          << static_cast<int>(c.op) << ", " << i;
    }
  }
}

class AtomicsBetweenPrograms : public TwoPrograms {
protected:
  AtomicsBetweenPrograms() { register_counters({.peers_write = true, .peers_read = true}); }
  void register_counters(rdma::Rights rights) {
    key = *right->register_region(std::as_writable_bytes(std::span(counters)), rights, job);
  }
  BeginError add(std::uint64_t more, std::size_t to, std::uint64_t* old, std::uint64_t user = 1) {
    const BeginError error = left->atomic(
        {.peer = right_address,
         .vni = job,
         .operation = Op::sum,
         .type = Type::uint64,
         .count = 1,
         .operand = std::as_bytes(std::span(&more, 1)),
         .old = old == nullptr ? std::span<std::byte>() : std::as_writable_bytes(std::span(old, 1)),
         .key = key,
         .offset = 8 * to,
         .user = user});
    network().pump();
    return error;
  }
  /// As a program does that tries again.
  void add_at_last(std::uint64_t more, std::size_t to, std::uint64_t* old, std::uint64_t user) {
    ASSERT_TRUE(network().run_until(network().now() + ns_per_second,
                                    [&] { return add(more, to, old, user) == BeginError::none; }));
  }

  std::vector<std::uint64_t> counters = std::vector<std::uint64_t>(200);
  rdma::RegionKey key{};
};

TEST_F(AtomicsBetweenPrograms, AddAndReturnWhatWasThere) {
  counters[3] = 40;
  std::uint64_t old = 0;
  add_at_last(2, 3, &old, 7);
  const Completion fetched = completion(*left);
  EXPECT_TRUE(fetched.done());
  EXPECT_EQ(fetched.kind, Completion::Kind::fetch);
  EXPECT_EQ(fetched.user, 7U);
  EXPECT_EQ(fetched.peer, right_address);
  EXPECT_EQ(fetched.length, 8U);
  EXPECT_EQ(old, 40U);
  EXPECT_EQ(counters[3], 42U);
  add_at_last(1, 3, nullptr, 8);
  EXPECT_EQ(completion(*left).kind, Completion::Kind::atomic);
  EXPECT_EQ(counters[3], 43U);
  EXPECT_EQ(counters[2] + counters[4], 0U);
  EXPECT_EQ(right->counters().atomics, 2U);
}

TEST_F(AtomicsBetweenPrograms, CompareSwapOfManyElements) {
  std::vector<std::uint64_t> operand(64);
  std::vector<std::uint64_t> compare(64);
  std::vector<std::uint64_t> old(64);
  for (std::size_t i = 0; i < 64; ++i) {
    counters[i] = i;
    compare[i] = i % 2 == 0 ? i : 1'000;
    operand[i] = 500 + i;
  }
  const auto begin = [&](std::size_t count) {
    const auto bytes = [&](auto& of) {
      return std::as_writable_bytes(std::span(of)).first(8 * count);
    };
    return left->atomic({.peer = right_address,
                         .vni = job,
                         .operation = Op::swap_if_equal,
                         .type = Type::uint64,
                         .count = count,
                         .operand = bytes(operand),
                         .compare = bytes(compare),
                         .old = bytes(old),
                         .key = key,
                         .user = 1});
  };
  add_at_last(0, 199, nullptr, 9); // the session is open
  completion(*left);
  EXPECT_EQ(begin(64), BeginError::too_long) << "two times 512 bytes are in no frame";
  ASSERT_EQ(begin(60), BeginError::none);
  network().pump();
  EXPECT_TRUE(completion(*left).done());
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(counters[i], i % 2 == 0 && i < 60 ? 500 + i : i);
    EXPECT_EQ(old[i], i < 60 ? i : 0);
  }
}

TEST_F(AtomicsBetweenPrograms, ThatAreNotAllowedEndWithTheCauseAndChangeNothing) {
  std::uint64_t old = 77;
  add_at_last(1, 200, &old, 1);
  EXPECT_EQ(completion(*left).status, wire::RdmaStatus::out_of_bounds);
  ++key.value;
  add_at_last(1, 0, &old, 1);
  const Completion wrong = completion(*left);
  EXPECT_EQ(wrong.failure, Failure::transfer);
  EXPECT_EQ(wrong.transfer, rdma::Cause::refused);
  EXPECT_EQ(wrong.status, wire::RdmaStatus::wrong_key);
  register_counters({.peers_read = true});
  add_at_last(1, 0, nullptr, 1);
  EXPECT_EQ(completion(*left).status, wire::RdmaStatus::no_right) << "it writes";
  register_counters({.peers_write = true});
  add_at_last(1, 0, &old, 1);
  EXPECT_EQ(completion(*left).status, wire::RdmaStatus::no_right) << "it reads";
  add_at_last(1, 0, nullptr, 1);
  EXPECT_TRUE(completion(*left).done());
  EXPECT_EQ(counters[0], 1U);
  EXPECT_EQ(old, 77U);
}

TEST_F(AtomicsBetweenPrograms, EachIsDoneOnceOnANetworkThatLosesAndRepeats) {
  network().set_faults({.loss = 0.05, .duplicate = 0.05});
  constexpr std::uint64_t adds = 500;
  std::vector<std::uint64_t> old(adds);
  std::size_t ended = 0;
  for (std::uint64_t n = 0; n < adds;) {
    ASSERT_TRUE(network().run_until(network().now() + ns_per_second, [&] {
      while (const auto c = left->take_completion()) {
        EXPECT_TRUE(c->done());
        ++ended;
      }
      return add(1, 0, &old[n], n) == BeginError::none;
    }));
    ++n;
  }
  ASSERT_TRUE(network().run_until(network().now() + ns_per_second, [&] {
    while (left->take_completion()) {
      ++ended;
    }
    return ended == adds;
  }));
  EXPECT_EQ(counters[0], adds);
  for (std::uint64_t n = 0; n < adds; ++n) {
    EXPECT_EQ(old[n], n) << "in the order of the calls";
  }
}

TEST_F(AtomicsBetweenPrograms, OfTwoProgramsAtEachOtherDoNotBlockEachOther) {
  std::uint64_t mine = 0;
  const auto back = left->register_region(std::as_writable_bytes(std::span(&mine, 1)),
                                          {.peers_write = true, .peers_read = true}, job);
  std::uint64_t one = 1;
  std::vector<std::uint64_t> old(2'000);
  std::size_t begun = 0;
  std::size_t ended = 0;
  ASSERT_TRUE(network().run_until(network().now() + ns_per_second, [&] {
    for (Messenger* const each : {left.get(), right.get()}) {
      while (each->take_completion()) {
        ++ended;
      }
      const bool is_left = each == left.get();
      while (begun < old.size() &&
             each->atomic({.peer = is_left ? right_address : left_address,
                           .vni = job,
                           .operation = Op::sum,
                           .type = Type::uint64,
                           .count = 1,
                           .operand = std::as_bytes(std::span(&one, 1)),
                           .old = std::as_writable_bytes(std::span(&old[begun], 1)),
                           .key = is_left ? key : *back}) == BeginError::none) {
        ++begun;
      }
    }
    network().pump();
    return ended == old.size();
  }));
  EXPECT_EQ(mine + counters[0], old.size());
}

TEST_F(AtomicsBetweenPrograms, AShortWriteIsDoneWithoutTheCallersMemory) {
  Bytes data = pattern(700);
  const Bytes before = data;
  const auto put = [&](std::span<std::byte> memory) {
    const BeginError error = left->put({.peer = right_address,
                                        .vni = job,
                                        .memory = memory,
                                        .key = key,
                                        .offset = 5,
                                        .data = 99,
                                        .user = 3});
    network().pump();
    return error;
  };
  ASSERT_TRUE(network().run_until(network().now() + ns_per_second,
                                  [&] { return put(data) == BeginError::none; }));
  std::ranges::fill(data, std::byte{0});
  const Completion done = completion(*left);
  EXPECT_EQ(done.kind, Completion::Kind::write);
  EXPECT_EQ(done.length, 700U);
  const Completion arrival = completion(*right);
  EXPECT_EQ(arrival.kind, Completion::Kind::arrival);
  EXPECT_EQ(arrival.data, 99U);
  EXPECT_EQ(arrival.length, 700U);
  const auto there = std::as_bytes(std::span(counters)).subspan(5, 700);
  EXPECT_TRUE(std::ranges::equal(there, before));
  EXPECT_EQ(put({}), BeginError::none) << "nothing, but with data";
  EXPECT_EQ(completion(*right).length, 0U);
  Bytes much(atomic_bytes + 1);
  EXPECT_EQ(put(much), BeginError::too_long);
}

TEST_F(AtomicsBetweenPrograms, OfAPeerThatIsGoneFail) {
  add_at_last(1, 0, nullptr, 1);
  EXPECT_TRUE(completion(*left).done());
  network().set_dead(1, true);
  std::uint64_t old = 5;
  ASSERT_EQ(add(1, 0, &old, 4), BeginError::none);
  const Completion failed = completion(*left);
  EXPECT_EQ(failed.user, 4U);
  EXPECT_EQ(failed.failure, Failure::session);
  EXPECT_EQ(old, 5U);
  EXPECT_EQ(left->operations_in_use(), 0U);
}

} // namespace
} // namespace tributary::messages::test
