// Tuples and reproducible sums of wide frames: element by element equal to the kernel of the
// 84-byte frame, with the exceptions in wide_kernel.hpp.
#include "tests/unit/include/reduce/bit_patterns.hpp"
#include "tests/unit/include/reduce/contributions.hpp"
#include "tests/unit/include/reduce/wide_operands.hpp"
#include "tributary/reduce/reducer.hpp"
#include "tributary/reduce/wide_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace tributary::test::wide {
namespace {

/// An element of either form, as an 84-byte frame would carry it.
Contribution random_element(Random& random, Opcode op, const Contribution* other) {
  Contribution c = random_contribution(random, op, other);
  c.rc = ResultCode::success;
  if (op == Opcode::flt_repsum && random() % 8 == 0) {
    c.m = random() % 2 == 0 ? reduce::repsum_positive_infinity : reduce::repsum_negative_infinity;
  }
  return c;
}
void put_element(std::byte* to, const Contribution& c) {
  for (std::size_t i = 0; i < 4; ++i) {
    wire::store_le(to + 8 * i, c.payload[i]);
  }
  if (c.op == Opcode::flt_repsum) {
    // The bits above M are ignored.
    wire::store_le(to + 32, std::uint64_t{0xABCDEF} << 8 | static_cast<std::uint8_t>(c.m));
  }
}

/// One element by the kernel of the 84-byte frame, without the state that wide frames do not carry.
class Element {
public:
  explicit Element(const Contribution& first) {
    reduce::start(acc_, first);
    code_ = acc_.result_code();
    forget();
  }
  void add(const Contribution& in, NanMode mode) {
    Contribution known = in;
    if (in.op == Opcode::flt_minmaxloc) {
      for (const std::size_t i : {0U, 2U}) {
        code_ = reduce::is_signalling_nan(in.payload[i]) ? worse(code_, ResultCode::flt_invalid)
                                                         : code_;
        known.payload[i] = reduce::is_nan(in.payload[i]) ? reduce::canonical_nan : in.payload[i];
      }
    }
    acc_.rc = ResultCode::success;
    reduce::combine(acc_, known, mode);
    code_ = worse(code_, acc_.result_code());
    forget();
  }
  [[nodiscard]] ResultCode code() const { return code_; }
  [[nodiscard]] Contribution left() const {
    Contribution c;
    c.op = acc_.op;
    c.payload = acc_.payload;
    c.m = acc_.m;
    return c;
  }

private:
  void forget() {
    acc_.repsum_overflow = false;
    acc_.repsum_inexact = false;
    acc_.overflow_id = 0;
    if (acc_.op == Opcode::flt_minmaxloc) {
      acc_.signalling_lanes = 0;
    }
  }

  Accumulator acc_;
  ResultCode code_ = ResultCode::success;
};

void expect_elements(std::span<const std::byte> frame, Form form,
                     const std::vector<Element>& elements) {
  const std::size_t size = wire::element_bytes(form);
  std::vector<std::byte> expected(frame.size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const Contribution c = elements[i].left();
    for (std::size_t w = 0; w < 4; ++w) {
      wire::store_le(&expected[i * size + 8 * w], c.payload[w]);
    }
    if (form == Form::repsum) {
      expected[i * size + 32] = static_cast<std::byte>(c.m);
    }
  }
  ASSERT_TRUE(std::equal(expected.begin(), expected.end(), frame.begin()));
}

struct TupleCase {
  Form form;
  Opcode op;
  NanMode mode;
};

class WideTuples : public testing::TestWithParam<TupleCase> {};
INSTANTIATE_TEST_SUITE_P(
    Operators, WideTuples,
    testing::Values(TupleCase{Form::tuple, Opcode::int_minmaxloc, NanMode::associative},
                    TupleCase{Form::tuple, Opcode::flt_minmaxloc, NanMode::associative},
                    TupleCase{Form::tuple, Opcode::flt_minmaxloc, NanMode::ieee},
                    TupleCase{Form::tuple, Opcode::flt_minmaxnumloc, NanMode::associative},
                    TupleCase{Form::tuple, Opcode::flt_minmaxnumloc, NanMode::ieee},
                    TupleCase{Form::repsum, Opcode::flt_repsum, NanMode::associative}),
    [](const auto& p) {
      return std::string(wire::name_of(p.param.op)) +
             (p.param.mode == NanMode::ieee ? "_ieee" : "");
    });

TEST_P(WideTuples, EqualTheKernelOf84ByteFramesInEveryElement) {
  const auto [form, op, mode] = GetParam();
  const std::size_t size = wire::element_bytes(form);
  const reduce::WideKernel kernel = reduce::WideKernels(mode).of(op, form);
  Random random(seed() ^ static_cast<std::uint64_t>(op));
  std::set<ResultCode> codes;
  for (int round = 0; round < 2'000; ++round) {
    const std::size_t count = round % 4 != 0 ? 1 : random() % 40;
    const std::size_t rest = random() % 4 == 0 ? 8 * (random() % (size / 8)) : 0;
    const std::size_t bytes = count * size + rest;
    const Guarded slot(bytes, 0);
    const Guarded frame(bytes, random() % 64);
    std::vector<Element> elements;
    std::vector<Contribution> last(count);
    ResultCode code = ResultCode::success;
    const std::size_t contributions = 1 + random() % 4;
    for (std::size_t n = 0; n < contributions; ++n) {
      std::vector<std::byte> sent(bytes, std::byte{0x5A});
      for (std::size_t i = 0; i < count; ++i) {
        last[i] = random_element(random, op, n == 0 ? nullptr : &last[i]);
        put_element(&sent[i * size], last[i]);
        if (n == 0) {
          elements.emplace_back(last[i]);
        } else {
          elements[i].add(last[i], mode);
        }
      }
      std::copy(sent.begin(), sent.end(), frame.data());
      if (n + 1 == contributions && n != 0) {
        const ResultCode ended = worse(code, kernel.end(slot.data(), frame.span()));
        expect_elements(frame.span(), form, elements);
        ResultCode expected = ResultCode::success;
        for (const Element& e : elements) {
          expected = worse(expected, e.code());
        }
        ASSERT_EQ(ended, expected);
        std::copy(sent.begin(), sent.end(), frame.data());
      }
      code = worse(code, n == 0 ? kernel.begin(slot.data(), frame.span())
                                : kernel.add(slot.data(), frame.span()));
    }
    code = worse(code, kernel.emit(slot.data(), frame.span()));
    expect_elements(frame.span(), form, elements);
    ResultCode expected = ResultCode::success;
    for (const Element& e : elements) {
      expected = worse(expected, e.code());
    }
    ASSERT_EQ(code, expected);
    ASSERT_TRUE(slot.intact() && frame.intact());
    codes.insert(code);
  }
  std::set<ResultCode> possible{ResultCode::success};
  if (op == Opcode::flt_repsum) {
    possible.insert(
        {ResultCode::flt_invalid, ResultCode::repsum_inexact, ResultCode::int_overflow});
  } else if (op != Opcode::int_minmaxloc) {
    possible.insert(ResultCode::flt_invalid);
  }
  EXPECT_EQ(codes, possible) << "a code was not tested";
}

TEST(WideTuple, OfTwoNansTheOneOfTheLowerIndexWinsWhicheverSignals) {
  const auto op = Opcode::flt_minmaxloc;
  const reduce::WideKernel kernel = reduce::WideKernels(NanMode::associative).of(op, Form::tuple);
  for (const bool signalling_first : {true, false}) {
    const Guarded slot(32, 0);
    const Guarded frame(32, 0);
    const std::uint64_t a = signalling_first ? signalling_nan : quiet_nan;
    const std::uint64_t b = signalling_first ? quiet_nan : signalling_nan;
    put_element(frame.data(), contribution(op, {a, 7, a, 7}));
    const ResultCode begun = kernel.begin(slot.data(), frame.span());
    put_element(frame.data(), contribution(op, {b, 3, b, 3}));
    const ResultCode ended = kernel.end(slot.data(), frame.span());
    EXPECT_EQ(worse(begun, ended), ResultCode::flt_invalid);
    EXPECT_EQ(taken(frame.data(), Form::bits64, 4), (Vector{quiet_nan, 3, quiet_nan, 3}));
  }
}

} // namespace
} // namespace tributary::test::wide
