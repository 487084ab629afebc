// A tree of switches against one loop over all operands: random operators, forms and lengths, over
// links that lose, repeat and reorder frames. Whatever the root accepts as complete is exact.
//
//     root host - switch 0 - switches 1 to 3 - three hosts each
//
// The hosts are as simple as can be: a leaf answers each arm it has not seen with its operand, the
// root combines what arrives, and arms again, with another sequence, unless every leaf was counted
// once. Time passes for the switches when no frame is in flight.

#include "tests/unit/dataplane/core/random_frames.hpp"
#include "tests/unit/dataplane/core/wide_frames.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <type_traits>
#include <utility>

namespace tributary::core::test {
namespace {

constexpr std::size_t switches = 4;
constexpr std::size_t hosts_each = 3;
constexpr std::size_t hosts = (switches - 1) * hosts_each;
constexpr std::uint64_t long_time = 30'000'000'000;

/// The parameters of one reduction. Floats are small whole numbers, so that any order gives the
/// same.
struct Work {
  bool wide = true;
  ReductionId id;
  wire::Form form = wire::Form::bits32;
  wire::Opcode op = wire::Opcode::int_sum;
  std::size_t payload_bytes = 64;
};

template <typename T, typename Combine>
void combine_as(std::vector<std::byte>& a, const std::vector<std::byte>& b, Combine combine) {
  for (std::size_t at = 0; at + sizeof(T) <= a.size(); at += sizeof(T)) {
    T x;
    T y;
    std::memcpy(&x, a.data() + at, sizeof x);
    std::memcpy(&y, b.data() + at, sizeof y);
    x = static_cast<T>(combine(x, y));
    std::memcpy(a.data() + at, &x, sizeof x);
  }
}
template <typename T>
void combine_integers(wire::Opcode op, std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  using Signed = std::make_signed_t<T>;
  combine_as<T>(a, b, [op](T x, T y) -> std::uint64_t {
    const auto sx = static_cast<Signed>(x);
    const auto sy = static_cast<Signed>(y);
    return op == wire::Opcode::int_sum   ? std::uint64_t{x} + y
           : op == wire::Opcode::int_max ? static_cast<std::uint64_t>(std::max(sx, sy))
           : op == wire::Opcode::int_min ? static_cast<std::uint64_t>(std::min(sx, sy))
                                         : std::uint64_t{x} ^ y;
  });
}
/// One element after the other, with none of the product's code.
void combine_scalar(const Work& work, std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  if (work.op == wire::Opcode::flt_sum_nearest && work.form == wire::Form::bits32) {
    combine_as<float>(a, b, [](float x, float y) { return x + y; });
  } else if (work.op == wire::Opcode::flt_sum_nearest) {
    combine_as<double>(a, b, [](double x, double y) { return x + y; });
  } else if (work.form == wire::Form::bits64) {
    combine_integers<std::uint64_t>(work.op, a, b);
  } else if (work.form == wire::Form::bits32) {
    combine_integers<std::uint32_t>(work.op, a, b);
  } else if (work.form == wire::Form::bits16) {
    combine_integers<std::uint16_t>(work.op, a, b);
  } else {
    combine_integers<std::uint8_t>(work.op, a, b);
  }
}

class Fabric {
public:
  explicit Fabric(std::uint64_t seed) : random_(seed) {
    for (std::size_t i = 0; i < switches; ++i) {
      TablesBuilder builder;
      for (std::size_t p = 0; p <= hosts_each; ++p) {
        EXPECT_EQ(builder.add_port({}), "");
      }
      EXPECT_EQ(builder.add_tree(tree, i == 0 ? hosts : hosts_each, parent, PortSet{0b1110},
                                 {.slots = 128, .payload_bytes = limit}),
                "");
      switches_[i].adopt(std::move(builder));
    }
  }

  /// Runs until it is complete; returns how many times it was armed.
  unsigned reduce(const Work& work) {
    work_ = work;
    for (auto& operand : operands_) {
      operand = random_operand();
    }
    for (unsigned attempt = 1; attempt < 500; ++attempt) {
      begin();
      run();
      if (complete()) {
        expect_exact();
        return attempt;
      }
    }
    ADD_FAILURE() << "no attempt was complete";
    return 0;
  }

  double lost = 0;
  double repeated = 0;
  std::map<Event, unsigned> seen;

private:
  /// Where a frame arrives: at a port of a switch, or at a host.
  struct Arrival {
    std::size_t at;  ///< a switch; `switches` is the root host, beyond it leaves
    PortNumber port; ///< of the switch
    Frame frame;
  };

  std::vector<std::byte> random_operand() {
    std::vector<std::byte> operand(work_.payload_bytes);
    const bool floating = work_.op == wire::Opcode::flt_sum_nearest;
    if (floating && work_.form == wire::Form::bits32) {
      combine_as<float>(operand, operand, [&](float, float) { return float(random_() % 1000); });
    } else if (floating) {
      combine_as<double>(operand, operand, [&](double, double) { return double(random_() % 999); });
    } else {
      for (std::byte& b : operand) {
        b = static_cast<std::byte>(random_() % 256);
      }
    }
    return operand;
  }

  void begin() {
    sequence_ = SequenceNumber{(sequence_.value() + 1U) % usable_sequences};
    gathered_count_ = 0;
    gathered_signature_ = 0;
    gathered_.clear();
    gathered_rc_ = 0;
    answered_.fill(false);
    for (auto& signature : signatures_) {
      signature = random_() & wire::signature_mask;
    }
    // Wide now and then, as if it carried a result.
    if (random_() % 2 == 0) {
      send({0, parent, Frame(with_id(arm(sequence_.value()), work_.id))});
      return;
    }
    wire::WideFrame f = wide_contribution(sequence_.value(), Nid{1}, work_.id);
    f.word.arm = true;
    send({0, parent, wide_frame(f)});
  }

  void run() {
    for (int rounds = 0; rounds < 4; ++rounds) {
      while (!underway_.empty()) {
        const std::size_t which = random_() % underway_.size();
        std::swap(underway_[which], underway_.back());
        Arrival arrival = std::move(underway_.back());
        underway_.pop_back();
        arrive(std::move(arrival));
      }
      for (std::size_t i = 0; i < switches; ++i) {
        switches_[i].pass(long_time);
        for (auto& emitted : switches_[i].emitted) {
          ++seen[Event::emitted_partial];
          leave(i, emitted.port, emitted.frame);
        }
        switches_[i].emitted.clear();
      }
    }
  }

  void arrive(Arrival arrival) {
    if (arrival.at == switches) {
      gather(arrival.frame);
    } else if (arrival.at > switches) {
      answer(arrival.at - switches - 1, arrival.frame);
    } else {
      pass_through(arrival);
    }
  }

  void pass_through(Arrival& arrival) {
    const Decision d = switches_[arrival.at].give(arrival.port, arrival.frame);
    ++seen[d.event];
    switch (d.action) {
    case core::Action::replicate:
      d.ports.for_each([&](PortNumber p) { leave(arrival.at, p, arrival.frame); });
      break;
    case core::Action::emit: arrival.frame.resize(d.length); [[fallthrough]];
    case core::Action::forward: leave(arrival.at, d.port, arrival.frame); break;
    default: break;
    }
  }

  void leave(std::size_t from, PortNumber port, const Frame& frame) {
    if (port == parent) {
      send({from == 0 ? switches : 0,
            from == 0 ? parent : PortNumber{static_cast<std::uint8_t>(from)}, frame});
    } else if (from == 0) {
      send({port.value, parent, frame});
    } else {
      send({switches + 1 + (from - 1) * hosts_each + port.value - 1U, parent, frame});
    }
  }

  void send(const Arrival& arrival) {
    if (chance(lost)) {
      return;
    }
    underway_.push_back(arrival);
    if (chance(repeated)) {
      underway_.push_back(arrival);
    }
  }
  bool chance(double p) { return static_cast<double>(random_() % 1'000'000) < p * 1'000'000; }

  void answer(std::size_t host, const Frame& frame) {
    const wire::ReductionWord word =
        wire::load_word(frame.bytes().data() + wire::ethernet_header_bytes);
    if (!word.arm || word.seqno != sequence_ || answered_[host]) {
      return;
    }
    answered_[host] = true;
    const Nid nid{static_cast<std::uint32_t>(10 + host)};
    const std::size_t at = 1 + host / hosts_each;
    const PortNumber port{static_cast<std::uint8_t>(1 + host % hosts_each)};
    if (work_.wide) {
      wire::WideFrame f = wide_contribution(sequence_.value(), nid, work_.id);
      f.word.op = static_cast<std::uint8_t>(work_.op);
      f.form = work_.form;
      f.payload_bytes = work_.payload_bytes;
      f.signature = signatures_[host];
      send({at, port, wide_frame(f, operands_[host])});
      return;
    }
    wire::ReductionFrame f = with_id(contribution(sequence_.value(), nid), work_.id);
    f.word.op = static_cast<std::uint8_t>(work_.op);
    f.signature = signatures_[host];
    std::memcpy(f.payload.data(), operands_[host].data(), sizeof f.payload);
    send({at, port, Frame(f)});
  }

  /// Combines like any root, which treats results and single contributions alike.
  void gather(const Frame& frame) {
    const std::byte* p = frame.bytes().data() + wire::ethernet_header_bytes;
    const wire::ReductionWord word = wire::load_word(p);
    if (word.seqno != sequence_ || word.count == 0) {
      return; // of an attempt that is over
    }
    gathered_rc_ = std::max(gathered_rc_, word.rc);
    gathered_count_ += word.count;
    gathered_signature_ += wire::signature_of(p);
    std::vector<std::byte> vector;
    if (work_.wide) {
      const wire::WideFrame f = decoded_wide(frame);
      EXPECT_EQ(f.form, work_.form);
      EXPECT_EQ(f.payload_bytes, work_.payload_bytes);
      const auto payload = wire::payload_of(frame.bytes(), f);
      vector.assign(payload.begin(), payload.end());
    } else {
      const wire::Payload payload = frame.decoded().payload;
      vector.resize(sizeof payload);
      std::memcpy(vector.data(), payload.data(), sizeof payload);
    }
    if (gathered_.empty()) {
      gathered_ = std::move(vector);
    } else {
      combine_scalar(work_, gathered_, vector);
    }
  }

  [[nodiscard]] bool complete() const {
    std::uint64_t expected = 0;
    for (const std::uint64_t signature : signatures_) {
      expected += signature;
    }
    return gathered_count_ == hosts &&
           ((gathered_signature_ ^ expected) & wire::signature_mask) == 0;
  }

  void expect_exact() const {
    std::vector<std::byte> sum = operands_[0];
    for (std::size_t i = 1; i < hosts; ++i) {
      combine_scalar(work_, sum, operands_[i]);
    }
    EXPECT_EQ(gathered_, sum);
    EXPECT_LT(gathered_rc_, static_cast<unsigned>(wire::ResultCode::contr_overflow));
  }

  Random random_;
  std::array<TestSwitch, switches> switches_;
  std::vector<Arrival> underway_;
  Work work_;
  SequenceNumber sequence_;
  std::array<std::vector<std::byte>, hosts> operands_;
  std::array<std::uint64_t, hosts> signatures_{};
  std::array<bool, hosts> answered_{};
  ContributionCount gathered_count_ = 0;
  std::uint64_t gathered_signature_ = 0;
  std::vector<std::byte> gathered_;
  std::uint8_t gathered_rc_ = 0;
};

Work random_work(Random& random) {
  static constexpr wire::Opcode integer_ops[] = {wire::Opcode::int_sum, wire::Opcode::int_max,
                                                 wire::Opcode::int_min, wire::Opcode::bit_xor};
  static constexpr wire::Form integer_forms[] = {wire::Form::bits64, wire::Form::bits32,
                                                 wire::Form::bits16, wire::Form::bits8};
  Work work;
  work.id = ReductionId{static_cast<std::uint8_t>(random() % 128)};
  work.payload_bytes = 40 + random() % ((limit - 40) / 8 + 1) * 8;
  if (random() % 4 == 0) { // of 84 bytes
    work.wide = false;
    work.form = wire::Form::bits64;
    work.payload_bytes = sizeof(wire::Payload);
    work.op = integer_ops[random() % std::size(integer_ops)];
  } else if (random() % 3 == 0) {
    work.op = wire::Opcode::flt_sum_nearest;
    work.form = random() % 2 == 0 ? wire::Form::bits32 : wire::Form::bits64;
  } else {
    work.op = integer_ops[random() % std::size(integer_ops)];
    work.form = integer_forms[random() % std::size(integer_forms)];
  }
  return work;
}

TEST(WideTree, IsExactOverLinksWithoutFaults) {
  Random random(seed() + 11);
  Fabric fabric(seed());
  for (int i = 0; i < 400; ++i) {
    ASSERT_EQ(fabric.reduce(random_work(random)), 1U) << i;
  }
  EXPECT_EQ(fabric.seen[Event::emitted_partial], 0U);
  EXPECT_EQ(fabric.seen[Event::completed_full], 400U * switches);
  EXPECT_EQ(fabric.seen[Event::contributed], 400U * (hosts + switches - 1 - switches));
}

TEST(WideTree, IsExactWhateverLinksDo) {
  Random random(seed() + 12);
  Fabric fabric(seed() + 1);
  fabric.lost = 0.02;
  fabric.repeated = 0.02;
  unsigned attempts = 0;
  for (int i = 0; i < 300; ++i) {
    attempts += fabric.reduce(random_work(random));
    ASSERT_FALSE(testing::Test::HasFailure()) << i;
  }
  EXPECT_GT(attempts, 300U) << "no fault happened";
  for (const Event e :
       {Event::emitted_partial, Event::completed_full, Event::passed_late, Event::contributed}) {
    EXPECT_GT(fabric.seen[e], 0U) << name_of(e);
  }
}

} // namespace
} // namespace tributary::core::test
