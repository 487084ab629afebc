// The engine against a model of it: a list of contributions per key, added up only at the end, with
// none of the core's code and no thought of speed.

#include "tests/unit/dataplane/core/random_frames.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace tributary::core::test {
namespace {

using wire::Opcode;
using wire::ResultCode;

/// The rules of the wire format page, implemented again.
class Model {
public:
  struct Answer {
    Action action = Action::drop;
    Event event = Event::none;
    DropReason reason{};
    std::optional<wire::ReductionFrame> result;
    std::optional<PortSet> ports{}; ///< of a result for some
  };

  Model(const Tables& tables, const SwitchSettings& settings)
      : tables_(tables), settings_(settings) {}

  Answer give(PortNumber in, const wire::ReductionFrame& f, std::uint64_t now) {
    const MulticastEntry& entry = tables_.tree(f.tree);
    if (!entry.valid) {
      return {.reason = DropReason::unknown_tree, .result = {}};
    }
    const bool up = entry.children.contains(in);
    if (!up && entry.parent != in) {
      return {.reason = DropReason::not_on_tree, .result = {}};
    }
    if (entry.wait_count == 0) {
      return up ? Answer{.reason = DropReason::not_from_parent, .result = {}}
                : Answer{Action::replicate, Event::multicast, {}, {}};
    }
    if (!up && f.word.arm && f.word.op == 0x3E && f.payload[0] != f.reduction.value) {
      return {.reason = DropReason::bad_reduction_id, .result = {}};
    }
    if (!up && !f.word.arm && f.word.count > 0 && (f.word.pad & 2U) != 0) {
      const auto wanted = wanted_.find({f.tree, f.reduction});
      const bool known = wanted != wanted_.end() && !wanted->second.by.empty() &&
                         wanted->second.sequence == f.word.seqno.value();
      return {Action::replicate,
              Event::handed_down,
              {},
              {},
              known ? wanted->second.by : entry.children};
    }
    return up ? upward(in, f, entry) : Answer{Action::replicate, downward(f, entry, now), {}, {}};
  }

  /// Due emissions, in no order.
  std::vector<wire::ReductionFrame> expire(std::uint64_t now) {
    std::vector<wire::ReductionFrame> results;
    for (auto it = armed_.begin(); it != armed_.end();) {
      if (it->second.deadline > now) {
        ++it;
        continue;
      }
      if (!it->second.contributions.empty()) {
        results.push_back(result_of(it->second, tables_.tree(it->first.first).wait_count));
      }
      ended_[it->first] = it->second.sequence;
      it = armed_.erase(it);
    }
    return results;
  }

  [[nodiscard]] std::size_t armed() const { return armed_.size(); }

private:
  using Key = std::pair<TreeNumber, ReductionId>;
  struct Armed {
    Cookie cookie;
    Vni vni;
    unsigned sequence = 0;
    std::uint64_t deadline = 0;
    PortNumber port;
    std::vector<wire::ReductionFrame> contributions;
  };

  /// The reduction a contribution belongs to, within its key.
  using Name = std::tuple<std::uint32_t, std::uint16_t, unsigned>;
  static Name reduction_of(const wire::ReductionFrame& f) {
    return {f.cookie.value, f.vni.value, f.word.seqno.value()};
  }
  struct Counted {
    std::optional<Name> of;
    PortSet ports;
    bool opened = false; ///< by a frame from the parent
  };

  Event downward(const wire::ReductionFrame& f, const MulticastEntry& entry, std::uint64_t now) {
    if (f.word.arm && f.word.op == 0x3E) {
      for (unsigned i = 0; i < 64; ++i) {
        if ((f.payload[2] >> i & 1U) != 0 && f.reduction.value + i < 8) {
          wire::ReductionFrame one = f;
          one.reduction = ReductionId{static_cast<std::uint8_t>(f.reduction.value + i)};
          one.word.op = 0;
          static_cast<void>(downward(one, entry, now));
        }
      }
      return Event::armed_set;
    }
    const Key key{f.tree, f.reduction};
    const auto found = armed_.find(key);
    Counted& counted = counted_[key];
    const bool stays_armed =
        found != armed_.end() && (found->second.cookie != f.cookie || found->second.vni != f.vni);
    if (f.word.arm || (f.word.seqno != pre_arm_sequence && !stays_armed)) {
      const bool stays = counted.of == reduction_of(f) && (!f.word.arm || !counted.opened);
      counted = {reduction_of(f), stays ? counted.ports : PortSet(), true};
    }
    if (!f.word.arm) {
      if (found == armed_.end() || found->second.cookie != f.cookie || found->second.vni != f.vni) {
        return Event::disarm_no_match;
      }
      armed_.erase(found);
      return Event::disarmed;
    }
    const auto in_use = std::count_if(armed_.begin(), armed_.end(),
                                      [&](const auto& a) { return a.second.port == entry.parent; });
    if (found == armed_.end() && in_use >= settings_.descriptors_per_engine) {
      return Event::arm_failed;
    }
    std::size_t timer = 0;
    while (timer < 3 && settings_.timers.limits[timer] <= entry.wait_count) {
      ++timer;
    }
    const std::uint64_t length = std::uint64_t{settings_.timers.units[timer]} * 1024000 / 850;
    armed_[key] = {f.cookie, f.vni, f.word.seqno.value(), now + length, entry.parent, {}};
    return found == armed_.end() ? Event::armed : Event::rearmed;
  }

  Answer upward(PortNumber in, const wire::ReductionFrame& f, const MulticastEntry& entry) {
    const bool one = static_cast<ContributionCount>(entry.children.size()) == entry.wait_count;
    Counted& counted = counted_[{f.tree, f.reduction}];
    const bool mine = counted.of == reduction_of(f);
    const auto passed = [&](Event event) {
      if (one && f.word.count > 0 && wire::is_supported(f.word.op)) {
        if (!counted.of) {
          counted = {reduction_of(f), {}};
        }
        if (counted.of == reduction_of(f)) {
          counted.ports.insert(in);
        }
      }
      return Answer{Action::forward, event, {}, {}};
    };
    if (f.word.arm) {
      return {.reason = DropReason::arm_from_child, .result = {}};
    }
    if (f.word.count == 0) {
      return f.word.retry() ? passed(Event::passed_empty)
                            : Answer{.reason = DropReason::result_from_child, .result = {}};
    }
    if (one && f.word.count > 1) {
      return {.reason = DropReason::counts_others, .result = {}};
    }
    if (one && mine && wire::is_supported(f.word.op) && counted.ports.contains(in)) {
      return {.reason = DropReason::counted_twice, .result = {}};
    }
    const Key key{f.tree, f.reduction};
    const auto found = armed_.find(key);
    const bool is_foreign =
        found != armed_.end() && (found->second.cookie != f.cookie || found->second.vni != f.vni);
    if (one && !mine && counted.of && !is_foreign && wire::is_supported(f.word.op)) {
      const auto [of_cookie, of_vni, opened] = *counted.of;
      const bool same_group = of_cookie == f.cookie.value && of_vni == f.vni.value;
      const bool older = (f.word.seqno.value() + 1024U - opened) % 1024U >= 512;
      return {.reason = same_group && older ? DropReason::stale_sequence : DropReason::not_opened,
              .result = {}};
    }
    if (found == armed_.end()) {
      const auto ended = ended_.find(key);
      return passed(ended != ended_.end() && ended->second == f.word.seqno.value()
                        ? Event::passed_late
                        : Event::passed_not_armed);
    }
    Armed& a = found->second;
    if (a.cookie != f.cookie || a.vni != f.vni) {
      return passed(Event::passed_foreign);
    }
    const unsigned d = (f.word.seqno.value() + 1024U - a.sequence) % 1024U;
    if (d >= 512) {
      return {.reason = DropReason::stale_sequence, .result = {}};
    }
    if (d != 0) {
      return passed(Event::passed_newer);
    }
    if (!wire::is_supported(f.word.op)) {
      return passed(Event::passed_reserved);
    }
    counted.ports.insert(in);
    Wanted& wanted = wanted_[key];
    if (a.contributions.empty()) {
      wanted = {};
    }
    if ((f.word.pad & 2U) != 0) {
      wanted.sequence = f.word.seqno.value();
      wanted.by.insert(in);
    }
    a.contributions.push_back(f);
    std::uint64_t count = 0;
    for (const auto& c : a.contributions) {
      count += c.word.count;
    }
    if (count < entry.wait_count) {
      return {Action::absorb, Event::contributed, {}, {}};
    }
    Answer answer{Action::emit, Event::completed_full, {}, result_of(a, entry.wait_count)};
    ended_[key] = a.sequence;
    armed_.erase(found);
    return answer;
  }

  /// INT_SUM, INT_MAX, BIT_XOR and BARRIER; the others only for a single contribution or beside
  /// another opcode.
  static wire::ReductionFrame result_of(const Armed& a, ContributionCount wait) {
    wire::ReductionFrame r = a.contributions.front();
    r.word.arm = false;
    r.word.resno = r.word.seqno;
    r.word.pad = 0;
    for (const wire::ReductionFrame& c : a.contributions) {
      r.word.pad |= c.word.pad & 2U;
    }
    const Opcode op = r.word.opcode();
    bool report = r.word.rc >= 8;
    if (op == Opcode::barrier && !report) {
      r.payload = {};
    }
    for (std::size_t i = 1; i < a.contributions.size(); ++i) {
      const wire::ReductionFrame& c = a.contributions[i];
      r.word.count += c.word.count;
      r.signature = (r.signature + c.signature) & wire::signature_mask;
      r.word.rc = std::max(r.word.rc, c.word.rc);
      if (report) {
        continue;
      }
      if (c.word.rc >= 8) {
        r.payload = c.payload;
        report = true;
      } else if (c.word.opcode() != op) {
        r.word.rc = 8;
        const auto sfa = [](const wire::ReductionFrame& f) {
          return std::uint64_t{f.source_nid.value} << 12;
        };
        r.payload = {sfa(a.contributions.front()) << 32 | sfa(c), 0, 0, 0};
        report = true;
      } else {
        for (std::size_t lane = 0; lane < 4; ++lane) {
          combine(op, r.payload[lane], c.payload[lane], r.word.rc);
        }
      }
    }
    if (r.word.count > wait) {
      r.word.rc = std::max<std::uint8_t>(r.word.rc, 7);
    }
    return r;
  }

  static void combine(Opcode op, std::uint64_t& a, std::uint64_t b, std::uint8_t& rc) {
    const auto x = static_cast<std::int64_t>(a);
    const auto y = static_cast<std::int64_t>(b);
    std::int64_t sum = 0;
    switch (op) {
    case Opcode::int_sum:
      if (__builtin_add_overflow(x, y, &sum)) {
        rc = std::max<std::uint8_t>(rc, 6);
      }
      a = static_cast<std::uint64_t>(sum);
      break;
    case Opcode::int_max: a = static_cast<std::uint64_t>(std::max(x, y)); break;
    case Opcode::bit_xor: a ^= b; break;
    default: break;
    }
  }

  const Tables& tables_;
  SwitchSettings settings_;
  std::map<Key, Armed> armed_;
  std::map<Key, unsigned> ended_;
  std::map<Key, Counted> counted_;
  /// The ports by which contributions came that want the result.
  struct Wanted {
    unsigned sequence = 0;
    PortSet by;
  };
  std::map<Key, Wanted> wanted_;
};

/// All fields of a result, for comparison and for messages.
std::string text_of(const wire::ReductionFrame& f) {
  std::string text =
      "tree " + std::to_string(f.tree.value) + " id " + std::to_string(f.reduction.value) +
      " cookie " + std::to_string(f.cookie.value) + " vni " + std::to_string(f.vni.value) +
      " word " + std::to_string(wire::pack(f.word)) + " signature " + std::to_string(f.signature) +
      " from " + std::to_string(f.source_nid.value) + " rank " + std::to_string(f.rank) + " data";
  for (const auto w : f.payload) {
    text += ' ' + std::to_string(w);
  }
  return text;
}

TEST(Engine, AgreesWithTheModelOnRandomFrames) {
  RandomFrames random(seed() + 3);
  const SwitchSettings settings = random_test_settings();
  TestSwitch s(settings);
  s.adopt(random_test_tables(settings.timers));
  Model model(s.core.tables(), settings);
  std::map<Event, int> seen;
  std::map<DropReason, int> dropped;
  for (int i = 0; i < 200'000; ++i) {
    const PortNumber in = random.port();
    wire::ReductionFrame r = random.reduction();
    // The model knows four operators; any other may only be the mismatching one.
    if (wire::is_supported(r.word.op) && r.word.opcode() != Opcode::int_sum &&
        r.word.opcode() != Opcode::int_max && r.word.opcode() != Opcode::bit_xor &&
        r.word.opcode() != Opcode::barrier) {
      r.word.op = static_cast<std::uint8_t>(Opcode::bit_xor);
    }
    if (r.word.arm && random.one_in(8)) {
      r.word.op = wire::arm_set_opcode;
      r.payload = {r.reduction.value + (random.one_in(8) ? 1U : 0U), 0, random.below(1024), 0};
    }
    Frame f(r);
    const Frame before = f;
    const Decision d = s.give(in, f);
    const Model::Answer expected = model.give(in, r, s.now.value);
    ASSERT_EQ(d.action, expected.action) << i << ' ' << name_of(expected.event);
    ASSERT_EQ(d.event, expected.event) << i << ' ' << name_of(expected.event);
    if (d.action == Action::drop) {
      ASSERT_EQ(d.reason, expected.reason) << i << ' ' << name_of(expected.reason);
      ++dropped[d.reason];
    }
    if (d.action == Action::emit) {
      ASSERT_EQ(text_of(f.decoded()), text_of(*expected.result)) << i;
    } else {
      ASSERT_EQ(f, before);
    }
    if (expected.ports) {
      ASSERT_EQ(d.ports, *expected.ports) << i;
    }
    ++seen[d.event];

    s.emitted.clear();
    s.pass(random.below(20'000));
    std::vector<std::string> partials;
    std::vector<std::string> expected_partials;
    for (const auto& e : s.emitted) {
      partials.push_back(text_of(e.frame.decoded()));
      ASSERT_EQ(e.port, s.core.tables().tree(e.frame.decoded().tree).parent);
      ++seen[Event::emitted_partial];
    }
    for (const auto& p : model.expire(s.now.value)) {
      expected_partials.push_back(text_of(p));
    }
    std::sort(partials.begin(), partials.end());
    std::sort(expected_partials.begin(), expected_partials.end());
    ASSERT_EQ(partials, expected_partials) << i;
    ASSERT_EQ(s.descriptors().size(), model.armed()) << i;
  }
  for (const Event e :
       {Event::armed, Event::armed_set, Event::handed_down, Event::rearmed, Event::arm_failed,
        Event::disarmed, Event::contributed, Event::completed_full, Event::passed_not_armed,
        Event::passed_late, Event::passed_foreign, Event::passed_newer, Event::passed_reserved,
        Event::passed_empty, Event::emitted_partial}) {
    EXPECT_GT(seen[e], 0) << name_of(e);
  }
  for (const DropReason r :
       {DropReason::unknown_tree, DropReason::not_on_tree, DropReason::arm_from_child,
        DropReason::stale_sequence, DropReason::counted_twice, DropReason::counts_others,
        DropReason::not_opened, DropReason::result_from_child, DropReason::bad_reduction_id}) {
    EXPECT_GT(dropped[r], 0) << name_of(r);
  }
}

} // namespace
} // namespace tributary::core::test
