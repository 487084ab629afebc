#include "tests/fuzz/core_world.hpp"

#include "dataplane/core/explain.hpp"
#include "tests/fuzz/require.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <algorithm>
#include <utility>

#include <sanitizer/asan_interface.h>

namespace tributary::fuzz {
namespace {

using core::Action;
using core::Decision;
using core::Event;

constexpr std::uint8_t port_count = 5;
constexpr std::uint8_t table_variants = 4;
constexpr std::uint64_t slot_memory_bytes = 16 * 1024;

core::EngineTimers timers() {
  core::EngineTimers t;
  t.limits = {2, 4, 8};
  t.units = {1, 10, 100, 1000};
  return t;
}

core::SwitchSettings settings_from(Input& input) {
  const std::uint8_t bits = input.take<std::uint8_t>();
  core::SwitchSettings s;
  s.descriptors_per_engine = bits & 7U;
  s.drop_foreign = (bits & 8U) != 0;
  s.nan_mode = (bits & 16U) != 0 ? reduce::NanMode::ieee : reduce::NanMode::associative;
  s.wide_memory = (bits & 32U) != 0 ? slot_memory_bytes : 0;
  s.timers = timers();
  return s;
}

/// Tree t waits for t contributions, so that tree 0 is an ordinary one. Variants change the trees'
/// parents, their children, or leave some of them out. Trees with odd numbers have 16 slots of
/// different sizes. Trees 2 and 5 have in-switch results, except in one variant.
core::SlotDemand slots_of(std::uint16_t tree, std::uint8_t variant, bool wide) {
  const bool in_switch = variant != 3 && (tree == 2 || tree == 5);
  if (!wide || tree % 2 == 0) {
    return {.in_switch = in_switch};
  }
  return {.slots = 16,
          .payload_bytes = variant == 3 && tree == 1 ? 64U : 128U,
          .half_floats = tree == 5,
          .in_switch = in_switch};
}

std::shared_ptr<const core::Tables> build_tables(std::uint8_t variant, bool wide) {
  core::TablesBuilder b(timers(), slot_memory_bytes);
  for (std::uint8_t p = 0; p < port_count; ++p) {
    core::PortPolicy policy;
    if (p == 4) {
      policy.nid = Nid{2};
      auto vnis = std::make_shared<core::VniSet>();
      vnis->set(0);
      policy.vnis = std::move(vnis);
    }
    TRIBUTARY_REQUIRE(b.add_port(policy).empty());
  }
  for (std::uint16_t t = 0; t < 7; ++t) {
    if (variant == 1 && t % 2 == 0) {
      continue;
    }
    const PortNumber parent{static_cast<std::uint8_t>(variant == 2 && t % 3 == 0 ? 3 : t % 2)};
    PortSet children = PortSet::first(variant == 3 ? 3 : port_count);
    children.erase(parent);
    TRIBUTARY_REQUIRE(
        b.add_tree(TreeNumber{t}, t, parent, children, slots_of(t, variant, wide)).empty());
  }
  TRIBUTARY_REQUIRE(b.add_route(Nid{1}, PortNumber{1}).empty());
  return b.build(variant);
}

/// Snapshots are immutable, so all worlds share them.
std::shared_ptr<const core::Tables> tables(std::uint8_t variant, bool wide) {
  using Variants = std::array<std::shared_ptr<const core::Tables>, table_variants>;
  static const std::array<Variants, 2> all = {
      Variants{build_tables(0, false), build_tables(1, false), build_tables(2, false),
               build_tables(3, false)},
      Variants{build_tables(0, true), build_tables(1, true), build_tables(2, true),
               build_tables(3, true)}};
  return all[wide ? 1 : 0][variant];
}

bool is_wide(const std::byte* frame) {
  return wire::total_length_of(frame + wire::ethernet_header_bytes) != wire::reduction_packet_bytes;
}
wire::ReductionWord word_of(const std::byte* frame) {
  return wire::load_word(frame + wire::ethernet_header_bytes);
}

} // namespace

CoreWorld::CoreWorld(Input& input)
    : settings_(settings_from(input)), core_(settings_, PortSet::first(max_ports)) {
  adopt(0);
}

CoreWorld::~CoreWorld() {
  if (settings_.wide_memory != 0) { // poisoned memory may not be given back
    ASAN_UNPOISON_MEMORY_REGION(core_.wide_engine().memory().slot(0), slot_memory_bytes);
  }
}

/// The fields of a frame that the core took for a reduction.
ReductionKey CoreWorld::key_of(const std::byte* frame) const {
  const auto dfa = wire::dfa_of(frame + wire::ethernet_header_bytes);
  const bool upper = core_.tables().tree(dfa.tree()).has_upper_ids();
  return {dfa.tree(), upper ? dfa.slot() : dfa.reduction()};
}

/// Only armed slots may be accessed, until others are armed.
void CoreWorld::guard_slots() {
  if (core_.wide_engine().memory().lines() == 0) {
    return;
  }
  const core::SlotMemory& memory = core_.wide_engine().memory();
  ASAN_POISON_MEMORY_REGION(memory.slot(0), slot_memory_bytes);
  core_.for_each_descriptor([&](const core::DescriptorView& d) {
    const core::SlotPlace& place = core_.tables().slot_place(d.key.tree());
    if (place.slots != 0) {
      ASAN_UNPOISON_MEMORY_REGION(memory.slot(place.line_of(d.key.reduction())),
                                  place.stride_lines() * core::slot_line_bytes);
    }
  });
  for (const std::uint16_t t : {std::uint16_t{2}, std::uint16_t{5}}) {
    const core::SlotPlace& place = core_.tables().slot_place(TreeNumber{t});
    if (place.in_switch) { // a kept result stays, armed or not
      ASAN_UNPOISON_MEMORY_REGION(memory.slot(place.kept_line_of(ReductionId{0})),
                                  place.slots * place.payload_lines() * core::slot_line_bytes);
    }
  }
}

void CoreWorld::step(Input& input) {
  const std::uint8_t what = input.below(10);
  const PortNumber in{input.below(port_count)};
  switch (what) {
  case 0: give(in, {raw_frame(input)}); break;
  case 1: {
    std::vector<Bytes> burst(1 + input.below(70));
    for (Bytes& frame : burst) {
      frame = made_frame(input);
    }
    give(in, std::move(burst));
    break;
  }
  case 2: pass_time(std::uint64_t{input.take<std::uint16_t>()} * 64); break;
  case 3: adopt(input.below(table_variants)); break;
  case 4: buffers_are_free_ = (input.take<std::uint8_t>() & 1U) == 0; break;
  default: give(in, {made_frame(input)}); break;
  }
  check_descriptors();
}

/// A frame that is likely to meet others: trees 0 to 7, three sequences, two groups.
CoreWorld::Bytes CoreWorld::made_frame(Input& input) {
  const std::uint16_t choice = input.take<std::uint16_t>();
  const std::uint8_t op = input.take<std::uint8_t>();
  const std::uint8_t amount = input.take<std::uint8_t>();
  // In a world with wide frames: the form, the length, and one of two ids.
  const std::uint8_t shape = settings_.wide_memory != 0 ? input.take<std::uint8_t>() : 0;
  wire::ReductionFrame f;
  f.source_nid = Nid{1U + (choice & 3U)};
  f.tree = TreeNumber{static_cast<std::uint16_t>(choice >> 2 & 7U)};
  f.reduction = ReductionId{
      static_cast<std::uint8_t>((choice >> 5 & 1U) * (settings_.wide_memory != 0 ? 14U : 1U))};
  f.word.seqno = f.word.resno = SequenceNumber{1021U + (choice >> 6 & 3U)};
  f.word.arm = (choice >> 8 & 3U) == 0;
  if (f.word.arm) { // the root of a tree with in-switch results may or may not have missed a result
    f.word.resno = SequenceNumber{1020U + (amount >> 4 & 3U)};
  }
  f.cookie = Cookie{(choice >> 10 & 7U) == 0 ? 1U : 0U};
  f.vni = Vni{static_cast<std::uint16_t>((choice >> 13 & 7U) == 0 ? 1 : 0)};
  f.word.op = op & 0x3FU;
  f.word.rc = op >> 6;
  f.word.count = amount < 0xF0 ? amount & 7U : max_contributions - (amount & 7U);
  f.word.m = static_cast<std::int8_t>(amount);
  f.signature = std::uint64_t{amount} * 0x0123456789ABCDULL;
  for (auto& lane : f.payload) {
    lane = std::uint64_t{amount} << (op & 0x3FU) | choice;
  }
  if ((shape & 1U) != 0) {
    wire::WideFrame w;
    w.source_nid = f.source_nid;
    w.vni = f.vni;
    w.tree = f.tree;
    w.slot = f.reduction;
    w.signature = f.signature;
    w.cookie = f.cookie;
    w.word = f.word;
    w.form = static_cast<wire::Form>(1 + (shape >> 1 & 7U) % 7);
    w.payload_bytes = wire::least_wide_payload + (shape >> 4) * std::size_t{8};
    Bytes bytes(wire::wide_header_bytes + w.payload_bytes);
    wire::encode_header(w, std::span(bytes).first<wire::wide_header_bytes>());
    for (std::size_t i = 0; i < w.payload_bytes; ++i) {
      bytes[wire::wide_header_bytes + i] =
          static_cast<std::byte>(f.payload[i / 8 % 4] >> (i % 8 * 8));
    }
    return bytes;
  }
  Bytes bytes(wire::reduction_frame_bytes);
  wire::encode(f, std::span<std::byte, wire::reduction_frame_bytes>(bytes));
  return bytes;
}

/// Any bytes; or a good frame with some of them changed, and the checksum made right again or not.
CoreWorld::Bytes CoreWorld::raw_frame(Input& input) {
  const std::uint8_t how = input.take<std::uint8_t>();
  if ((how & 1U) == 0) {
    return input.bytes(how);
  }
  Bytes bytes = made_frame(input);
  for (std::uint8_t changes = how >> 1 & 3U; changes != 0; --changes) {
    const std::uint8_t at = input.below(wire::reduction_frame_bytes);
    bytes[at] = std::byte{input.take<std::uint8_t>()};
  }
  if ((how & 8U) != 0) {
    wire::write_fabric_header_checksum(bytes.data() + wire::ethernet_header_bytes);
  }
  if ((how & 16U) != 0) {
    bytes.resize(input.take<std::uint8_t>());
  }
  return bytes;
}

void CoreWorld::give(PortNumber in, std::vector<Bytes> frames) {
  guard_slots();
  const std::vector<Bytes> before = frames;
  std::vector<core::FrameView> views;
  for (Bytes& frame : frames) {
    views.push_back({frame.data(), static_cast<std::uint32_t>(frame.size())});
  }
  std::vector<Decision> decisions(frames.size());
  const std::uint64_t drops_before = drops();
  if (frames.size() == 1) {
    const core::Explanation explanation = core::explain(core_, in, views[0]);
    TRIBUTARY_REQUIRE(drops() == drops_before && frames == before);
    decisions[0] = core_.process(in, views[0], now_);
    TRIBUTARY_REQUIRE(explanation.decision.action == decisions[0].action);
    TRIBUTARY_REQUIRE(explanation.decision.event == decisions[0].event);
    TRIBUTARY_REQUIRE(explanation.decision.length == decisions[0].length);
    TRIBUTARY_REQUIRE(decisions[0].action != Action::drop ||
                      explanation.decision.reason == decisions[0].reason);
  } else {
    core_.process_burst(in, views, now_, decisions);
  }
  std::uint64_t dropped = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    check(in, before[i], frames[i], decisions[i]);
    dropped += decisions[i].action == Action::drop ? 1 : 0;
  }
  TRIBUTARY_REQUIRE(drops() == drops_before + dropped);
  // A replay is sent even if no descriptor is free for the sequence it opens.
  std::erase_if(held_, [&](const auto& entry) {
    const ReductionKey key = ReductionKey::from_index(entry.first);
    return core_.tables().tree(key.tree()).in_switch &&
           !core_.engines().descriptor(key).match.armed();
  });
}

void CoreWorld::check(PortNumber in, const Bytes& before, const Bytes& after, const Decision& d) {
  TRIBUTARY_REQUIRE(core::name_of(d.action) != "unknown" && core::name_of(d.event) != "unknown");
  TRIBUTARY_REQUIRE((d.action == Action::drop) == (d.event == Event::none));
  if (d.action == Action::emit) {
    const ReductionKey key = key_of(before.data());
    const core::MulticastEntry& entry = core_.tables().tree(key.tree());
    TRIBUTARY_REQUIRE(d.event == Event::directed
                          ? entry.in_switch && word_of(after.data()).wanted() &&
                                (d.port == entry.parent || entry.children.contains(d.port))
                          : d.port == entry.parent);
    TRIBUTARY_REQUIRE(d.length <= after.size());
    TRIBUTARY_REQUIRE(d.length ==
                      wire::ethernet_header_bytes +
                          wire::total_length_of(after.data() + wire::ethernet_header_bytes));
    TRIBUTARY_REQUIRE(
        std::equal(before.begin() + d.length, before.end(), after.begin() + d.length));
    expect_result(after.data(), held_.at(key.index()) + word_of(before.data()).count);
  } else if (d.action == Action::replicate_result) {
    check_in_switch(in, before, after, d);
  } else {
    TRIBUTARY_REQUIRE(before == after);
  }
  check_passing_on(in, before, d);
  note(before, d);
}

void CoreWorld::check_in_switch(PortNumber in, const Bytes& before, const Bytes& after,
                                const Decision& d) {
  const ReductionKey key = key_of(before.data());
  const core::MulticastEntry& entry = core_.tables().tree(key.tree());
  PortSet all = entry.children;
  all.insert(entry.parent);
  if (d.event == Event::directed) { // several want it
    TRIBUTARY_REQUIRE(entry.in_switch && d.ports.size() > 1 && (d.ports.bits() & ~all.bits()) == 0);
    expect_result(after.data(), held_.at(key.index()) + word_of(before.data()).count);
    TRIBUTARY_REQUIRE(word_of(after.data()).wanted());
    return;
  }
  TRIBUTARY_REQUIRE(entry.in_switch && d.ports == all && d.length <= after.size());
  TRIBUTARY_REQUIRE(d.length ==
                    wire::ethernet_header_bytes +
                        wire::total_length_of(after.data() + wire::ethernet_header_bytes));
  TRIBUTARY_REQUIRE(std::equal(before.begin() + d.length, before.end(), after.begin() + d.length));
  TRIBUTARY_REQUIRE(core::IngressCheck::checksum_ok(after.data() + wire::ethernet_header_bytes));
  const wire::ReductionWord word = word_of(after.data());
  TRIBUTARY_REQUIRE(word.arm && word.count != 0 && word.seqno.value() < usable_sequences);
  TRIBUTARY_REQUIRE(word.retry() == (d.event == Event::replayed));
  TRIBUTARY_REQUIRE(d.event == Event::completed_in_switch || in == entry.parent);
  if (d.event == Event::completed_in_switch) {
    const ContributionCount count = held_.at(key.index()) + word_of(before.data()).count;
    TRIBUTARY_REQUIRE(word.count == std::min(count, max_contributions));
    TRIBUTARY_REQUIRE(word.resno == word_of(before.data()).seqno);
  }
}

void CoreWorld::check_passing_on(PortNumber in, const Bytes& frame, const Decision& d) const {
  if (d.action == Action::forward) {
    TRIBUTARY_REQUIRE(d.port.value < port_count && d.port != in);
  }
  if (d.action == Action::replicate) {
    const core::MulticastEntry& entry = core_.tables().tree(key_of(frame.data()).tree());
    PortSet others = entry.children;
    others.insert(entry.parent);
    others.erase(in);
    TRIBUTARY_REQUIRE(d.event == Event::handed_down
                          ? !d.ports.empty() && (d.ports.bits() & ~others.bits()) == 0
                          : d.ports == others);
    TRIBUTARY_REQUIRE(in == entry.parent || (d.event == Event::shared && entry.shared));
  }
  if (d.action == Action::drop) {
    TRIBUTARY_REQUIRE(static_cast<std::size_t>(d.reason) < core::drop_reason_count);
  }
}

/// Updates the ledger.
void CoreWorld::note(const Bytes& frame, const Decision& d) {
  switch (d.event) {
  case Event::armed:
  case Event::rearmed:
  case Event::completed_in_switch: held_[key_of(frame.data()).index()] = 0; break;
  case Event::replayed: held_[key_of(frame.data()).index()] = 0; break; // if one was free
  case Event::arm_failed:
    TRIBUTARY_REQUIRE(!core_.tables().tree(key_of(frame.data()).tree()).has_place());
    break;
  case Event::armed_set: {
    const ReductionKey key = key_of(frame.data());
    const wire::ArmSet set =
        wire::arm_set_in(wire::load_payload(frame.data() + wire::ethernet_header_bytes));
    set.for_each([&](std::uint64_t id) {
      if (id >= core_.tables().tree(key.tree()).slots()) {
        return;
      }
      const ReductionKey one(key.tree(), ReductionId{static_cast<std::uint8_t>(id)});
      if (core_.engines().descriptor(one).match.armed()) { // else none was free
        held_[one.index()] = 0;
      }
    });
    break;
  }
  case Event::disarmed:
  case Event::directed:
  case Event::completed_full: held_.erase(key_of(frame.data()).index()); break;
  case Event::contributed:
    if (const ReductionKey key = key_of(frame.data());
        (held_.at(key.index()) += word_of(frame.data()).count) >=
        core_.tables().tree(key.tree()).wait_count) {
      TRIBUTARY_REQUIRE(core_.tables().tree(key.tree()).in_switch);
      held_[key.index()] = 0; // the root is not in it
    }
    break;
  default: break;
  }
}

void CoreWorld::expect_result(const std::byte* frame, ContributionCount count) const {
  if (is_wide(frame)) {
    const std::size_t length =
        wire::ethernet_header_bytes + wire::total_length_of(frame + wire::ethernet_header_bytes);
    wire::WideFrame w;
    TRIBUTARY_REQUIRE(wire::decode({frame, length}, wire::default_ethertype, w) ==
                      wire::DecodeError::none);
    TRIBUTARY_REQUIRE(w.word.count == std::min(count, max_contributions));
    TRIBUTARY_REQUIRE(!w.word.arm && (w.word.pad & ~wire::pad_wanted) == 0 &&
                      w.word.resno == w.word.seqno);
    TRIBUTARY_REQUIRE(wire::is_supported(w.word.op) && wire::carries(w.form, w.word.opcode()));
    TRIBUTARY_REQUIRE(w.word.rc < static_cast<std::uint8_t>(wire::ResultCode::op_mismatch));
    TRIBUTARY_REQUIRE(core_.tables().tree(w.tree).has_place() ||
                      !core_.tables().tree(w.tree).valid);
    return;
  }
  wire::ReductionFrame f;
  TRIBUTARY_REQUIRE(wire::decode({frame, wire::reduction_frame_bytes}, wire::default_ethertype,
                                 f) == wire::DecodeError::none);
  TRIBUTARY_REQUIRE(f.word.count == std::min(count, max_contributions));
  TRIBUTARY_REQUIRE(!f.word.arm && (f.word.pad & ~wire::pad_wanted) == 0 &&
                    f.word.resno == f.word.seqno);
  TRIBUTARY_REQUIRE(wire::is_supported(f.word.op));
}

void CoreWorld::pass_time(std::uint64_t ns) {
  now_ = now_ + ns;
  guard_slots();
  core_.expire(now_, *this);
  check_emissions();
  core_.for_each_descriptor([&](const core::DescriptorView& d) {
    // Nothing stays past its time, unless no buffer was free for it.
    TRIBUTARY_REQUIRE(d.deadline > now_ || (!buffers_are_free_ && d.have_data));
  });
  std::erase_if(held_, [&](const auto& entry) {
    return !core_.engines().descriptor(ReductionKey::from_index(entry.first)).match.armed();
  });
}

void CoreWorld::adopt(std::uint8_t variant) {
  guard_slots();
  core_.adopt(tables(variant, settings_.wide_memory != 0), now_, *this);
  check_emissions();
  std::erase_if(held_, [&](const auto& entry) {
    return !core_.engines().descriptor(ReductionKey::from_index(entry.first)).match.armed();
  });
}

/// Emissions must match the ledger.
void CoreWorld::check_emissions() {
  for (const Emitted& e : emitted_) {
    const ReductionKey key = key_of(e.bytes.data());
    TRIBUTARY_REQUIRE(e.port.value < port_count);
    if (core_.tables().tree(key.tree()).in_switch && word_of(e.bytes.data()).arm) {
      TRIBUTARY_REQUIRE(word_of(e.bytes.data()).retry());
      continue; // a result that the root has missed
    }
    TRIBUTARY_REQUIRE(held_.contains(key.index()) && held_.at(key.index()) != 0);
    expect_result(e.bytes.data(), held_.at(key.index()));
    TRIBUTARY_REQUIRE(!core_.engines().descriptor(key).match.armed());
  }
  emitted_.clear();
}

void CoreWorld::check_descriptors() const {
  std::array<std::uint32_t, max_ports> in_use{};
  std::size_t armed = 0;
  core_.for_each_descriptor([&](const core::DescriptorView& d) {
    ++armed;
    in_use[d.port.value] += core_.tables().tree(d.key.tree()).has_place() ? 0 : 1;
    TRIBUTARY_REQUIRE(held_.contains(d.key.index()) && held_.at(d.key.index()) == d.count);
    TRIBUTARY_REQUIRE(d.have_data == (d.count != 0));
    TRIBUTARY_REQUIRE(d.count < d.wait_count);
    TRIBUTARY_REQUIRE(d.port == core_.tables().tree(d.key.tree()).parent);
    TRIBUTARY_REQUIRE(d.deadline >= core_.next_deadline());
  });
  TRIBUTARY_REQUIRE(armed == held_.size());
  for (const auto n : in_use) {
    TRIBUTARY_REQUIRE(n <= core_.settings().descriptors_per_engine);
  }
}

std::uint64_t CoreWorld::drops() const {
  std::uint64_t sum = 0;
  for (std::uint8_t p = 0; p < port_count; ++p) {
    for (const core::Counter& c : core_.counters().ports[p].drops) {
      sum += c.read();
    }
  }
  return sum;
}

std::byte* CoreWorld::buffer(PortNumber port, std::uint32_t length, TrafficClass c) {
  if (!buffers_are_free_) {
    return nullptr;
  }
  TRIBUTARY_REQUIRE(c.value == 0); // like all received frames
  return emitted_.emplace_back(Emitted{port, Bytes(length)}).bytes.data();
}

} // namespace tributary::fuzz
