// A member of groups that share a tree is hostile. It knows all that the programs of its host know,
// receives all that its host receives, and sends as soon as it does: frames of one group under the
// ids and sequences of another one, and guesses.
//
//   its place     a leaf; or, with frames of other groups alone, the root's host
//   ids           change hands, so frames of groups that had them are known, too
//   the network   is whole; or loses, duplicates and reorders, restarts, and reroutes the tree
//
// What the groups check at each completion (vector_group.hpp): every element is that of all
// members' operands, each once. A member may forge one thing: its own operand, in groups that its
// host is a member of. There results may have that, and nothing else, in the operand's place.
// (docs/protocol/contexts.md, "What a member can forge")
#include "tests/fabric/scenarios/context_groups.hpp"
#include "tests/fabric/scenarios/scenario.hpp"

#include "endpoint/collective/signature.hpp"
#include "tributary/wire/reduction.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace tributary::fabric {

namespace of_hostile_contexts {

using namespace context_groups;
using collective::PieceNumber;
using Frame = std::vector<std::byte>;

enum class Forgery : std::uint8_t {
  own_frame,       ///< another group's frame, under the victim's id and sequence
  victims_cookie,  ///< the victim's frame, under an id and sequence of another group
  former,          ///< a frame of a group that had the id before, under the sequence of now
  wrong_signature, ///< all as the victim has it, besides the signature
  stands_in,       ///< with the signature of another member
  for_all,         ///< counts several members, with the sum of all signatures
  result,          ///< a result, as the root or the switch next to it sends it
  request,         ///< asks the root for results by chance; the last one of `guesses`
  own_operand,     ///< right, besides the operand
};
constexpr unsigned bit(Forgery f) { return 1U << static_cast<unsigned>(f); }
/// Nothing of these has the cookie of the group that has the id.
constexpr unsigned of_other_groups =
    bit(Forgery::own_frame) | bit(Forgery::victims_cookie) | bit(Forgery::former);
constexpr unsigned guesses = bit(Forgery::wrong_signature) | bit(Forgery::stands_in) |
                             bit(Forgery::for_all) | bit(Forgery::result) | bit(Forgery::request);

constexpr unsigned guess_count = std::popcount(guesses);

/// A group completes nothing while each of its attempts is spoilt, so the attack has to end.
constexpr std::uint64_t most_attacks = 300;
constexpr std::size_t frames_kept = 64;
/// In pieces: no guess of the piece that is asked for is as wrong.
constexpr PieceNumber far_away = 100'000;

class Intruder {
public:
  /// `kinds`: a bit for each forgery. The groups outlive it.
  Intruder(Run& run, const std::vector<VectorGroup*>& groups, std::uint32_t rank, unsigned kinds)
      : run_(run), groups_(groups), rank_(rank), kinds_(kinds),
        host_(groups.front()->setup().hosts[rank]),
        is_root_(rank == groups.front()->setup().root_rank) {
    for (const VectorGroup* group : groups) {
      by_cookie_[group->setup().cookie.value] = group;
    }
    run.fabric().observe([this](const Passage& p) { look(p); });
  }
  Intruder(const Intruder&) = delete;
  Intruder& operator=(const Intruder&) = delete;

  /// Frames.
  [[nodiscard]] std::uint64_t sent() const { return sent_; }

private:
  /// What a frame that passes the host says of a group.
  struct Heard {
    const VectorGroup* victim = nullptr;
    TreeNumber tree;
    ReductionId id;
    wire::ReductionWord word;
  };

  [[nodiscard]] bool does(Forgery f) const { return (kinds_ & bit(f)) != 0; }

  void look(const Passage& p) {
    const bool leaves = p.out_of_host(host_);
    if ((!leaves && !p.into_host(host_)) || p.bytes.size() < wire::reduction_frame_bytes ||
        is_forged(p.bytes)) {
      return;
    }
    const std::byte* const portals = p.bytes.data() + wire::ethernet_header_bytes;
    const wire::FabricAddress to = wire::dfa_of(portals);
    const auto victim = by_cookie_.find(wire::cookie_of(portals).value);
    if (!to.is_multicast() || victim == by_cookie_.end()) {
      return;
    }
    const Heard heard{victim->second, to.tree(), to.slot(), wire::load_word(portals)};
    const bool contributes = heard.word.count == 1 && !heard.word.arm;
    if (leaves && contributes) {
      const Frame frame(p.bytes.begin(), p.bytes.end());
      last_[victim->first] = frame;
      former_.push_back(frame);
      if (former_.size() > frames_kept) {
        former_.pop_front();
      }
    }
    // What opens a sequence, as the leaf receives it or the root sends it.
    if (leaves == is_root_ && !contributes && heard.word.seqno != pre_arm_sequence) {
      sequences_[heard.id.value] = heard.word.seqno;
      schedule(heard);
    }
  }

  void schedule(const Heard& heard) {
    if (attacks_ >= most_attacks || run_.random().below(2) == 0) {
      return;
    }
    ++attacks_;
    Fabric& fabric = run_.fabric();
    // Immediately it is ahead of the honest member.
    const std::uint64_t delay_ns =
        run_.random().below(3) != 0 ? 0 : microseconds(run_.random().below(60));
    fabric.at(fabric.now() + delay_ns, [this, heard] { attack(heard); });
  }

  void attack(const Heard& heard) {
    const VectorGroup& other = *groups_[run_.random().below(groups_.size())];
    const bool is_other = &other != heard.victim;
    if (does(Forgery::own_frame) && is_other) {
      send_under(heard, other);
    }
    const bool is_elsewhere =
        other.setup().parameters.first_id != heard.victim->setup().parameters.first_id;
    if (does(Forgery::victims_cookie) && is_elsewhere) {
      Heard there = heard;
      // Another id than the victim's: there it would be a frame of its own.
      const collective::GroupParameters& p = other.setup().parameters;
      there.id =
          ReductionId{static_cast<std::uint8_t>(p.first_id.value + run_.random().below(p.slots))};
      if (const auto seen = sequences_.find(there.id.value); seen != sequences_.end()) {
        there.word.seqno = seen->second;
        send_under(there, *heard.victim);
      }
    }
    if (does(Forgery::former)) {
      send_former(heard);
    }
    if (!is_root_) { // which its members believe
      guess(heard, other);
    }
  }

  /// A frame of `group` where `heard` is at home: contributions, and from the root's host arms.
  void send_under(const Heard& heard, const VectorGroup& group) {
    const PieceNumber piece = piece_of(group, heard);
    for (const int steps : {0, 1, -1, static_cast<int>(run_.random().below(usable_sequences))}) {
      Frame f = frame_of(group, heard);
      wire::ReductionWord word = word_in(f);
      word.seqno = word.resno = at(heard.word.seqno, steps);
      sign(f, signature_of(group, rank_, piece));
      if (is_root_) {
        word.arm = true;
        word.count = run_.random().below(2) == 0 ? 0 : group.size();
      }
      send(f, word, Fault::foreign_cookie);
    }
  }

  void send_former(const Heard& heard) {
    for (const Frame& each : former_) {
      const std::byte* const portals = each.data() + wire::ethernet_header_bytes;
      if (wire::dfa_of(portals).slot() != heard.id ||
          wire::cookie_of(portals) == heard.victim->setup().cookie) {
        continue;
      }
      Frame f = each;
      wire::ReductionWord word = word_in(f);
      word.seqno = word.resno = heard.word.seqno;
      spoil(f);
      send(f, word, Fault::stale_replay);
    }
  }

  void guess(const Heard& heard, const VectorGroup& other) {
    const VectorGroup& victim = *heard.victim;
    const PieceNumber piece = piece_of(victim, heard);
    const std::uint32_t size = victim.size();
    const auto with = [&](std::uint64_t signature, ContributionCount count, std::uint32_t as,
                          int steps, Fault fault) {
      Frame f = frame_of(victim, heard);
      wire::ReductionWord word = word_in(f);
      word.seqno = word.resno = at(heard.word.seqno, steps);
      word.count = count;
      wire::store_le<std::uint32_t>(portals_of(f) + wire::reduction_offset::rank, as);
      sign(f, signature);
      spoil(f);
      send(f, word, fault);
    };
    if (does(Forgery::wrong_signature)) {
      const std::array guessed = {std::uint64_t{0}, run_.random().next() & wire::signature_mask,
                                  signature_of(other, rank_, piece) ^ (&other == &victim ? 1U : 0U),
                                  signature_of(victim, rank_, piece + far_away)};
      with(guessed[run_.random().below(guessed.size())], 1, rank_, 0, Fault::garbage);
    }
    if (does(Forgery::stands_in)) {
      const auto as = static_cast<std::uint32_t>(run_.random().below(size));
      if (as != rank_) {
        for (const int steps : {0, 1, 0}) {
          with(signature_of(victim, as, piece), 1, as, steps, Fault::spoofed_source);
        }
      }
    }
    if (does(Forgery::for_all)) {
      const std::uint64_t all = sum_of(victim).expected(piece);
      with(all, size, rank_, 0, Fault::spoofed_source);
      with(all - signature_of(victim, rank_, piece), size - 1, rank_, 0, Fault::spoofed_source);
    }
    if (does(Forgery::result)) {
      send_results(heard, piece);
    }
    if (does(Forgery::request)) {
      Frame f = frame_of(victim, heard);
      wire::ReductionWord word;
      word.seqno = word.resno = at(heard.word.seqno, static_cast<int>(run_.random().below(4)) - 2);
      word.pad = wire::pad_retry;
      send(f, word, Fault::garbage);
    }
    if (does(Forgery::own_operand) && victim.setup().forged_rank == rank_) {
      Frame f = frame_of(victim, heard);
      wire::ReductionWord word = word_in(f);
      word.seqno = word.resno = heard.word.seqno;
      sign(f, signature_of(victim, rank_, piece));
      fill_with_zeros(f);
      send(f, word, Fault::garbage);
    }
  }

  void send_results(const Heard& heard, PieceNumber piece) {
    const VectorGroup& victim = *heard.victim;
    for (const bool arm : {false, true}) {
      for (const bool as_root : {false, true}) {
        Frame f = frame_of(victim, heard);
        wire::ReductionWord word = word_in(f);
        word.resno = heard.word.seqno;
        word.seqno = at(heard.word.seqno, 1);
        word.arm = arm;
        word.count = arm || as_root ? victim.size() : 0;
        sign(f, sum_of(victim).expected(piece));
        spoil(f);
        if (as_root) {
          const HostIndex root = victim.setup().hosts[victim.setup().root_rank];
          wire::store_be<std::uint32_t>(portals_of(f) + wire::portals_offset::sfa,
                                        wire::FabricAddress::unicast(Topology::nid(root)).value);
          wire::write_fabric_header_checksum(portals_of(f));
        }
        send(f, word, Fault::spoofed_source);
      }
    }
  }

  /// The piece that the frame asks this member for, as far as it can be known.
  [[nodiscard]] PieceNumber piece_of(const VectorGroup& group, const Heard& heard) const {
    const collective::GroupParameters& p = group.setup().parameters;
    const std::size_t place = (heard.id.value - p.first_id.value) % p.slots;
    const collective::Member& member = group.member(rank_);
    const collective::ReductionStatus status = member.status()[place];
    switch (status.waiting) {
    case collective::Waiting::for_arm: return status.piece;
    case collective::Waiting::for_result:
      // A result that this member waits for opens the next piece.
      return status.piece + (heard.word.count > 0 && !heard.word.retry() ? p.slots : 0U);
    default: {
      const PieceNumber next = member.next_piece();
      return next + (place + p.slots - next % p.slots) % p.slots;
    }
    }
  }

  /// A contribution of this member to the group, at the address of what was heard.
  [[nodiscard]] Frame frame_of(const VectorGroup& group, const Heard& heard) const {
    Frame f(wire::reduction_frame_bytes);
    if (const auto last = last_.find(group.setup().cookie.value); last != last_.end()) {
      f = last->second;
    } else {
      wire::ReductionFrame made;
      made.destination = wire::port_mac(Topology::nid(host_));
      made.vni = group.setup().vni;
      made.source_nid = Topology::nid(host_);
      made.rank = rank_;
      made.cookie = group.setup().cookie;
      made.word.op = static_cast<std::uint8_t>(wire::Opcode::int_sum);
      made.word.count = 1;
      made.payload = {1, 1, 1, 1};
      wire::encode(made, std::span<std::byte, wire::reduction_frame_bytes>(f));
    }
    wire::store_be<std::uint32_t>(portals_of(f) + wire::portals_offset::dfa,
                                  wire::FabricAddress::multicast(heard.tree, heard.id).value);
    wire::write_fabric_header_checksum(portals_of(f));
    return f;
  }

  void send(Frame& f, const wire::ReductionWord& word, Fault fault) {
    wire::store_word(portals_of(f), word);
    std::memcpy(f.data() + mac_bytes, forged_source.data(), mac_bytes);
    run_.fabric().count(fault);
    run_.fabric().send_from_host(host_, f);
    ++sent_;
  }

  static std::byte* portals_of(Frame& f) { return f.data() + wire::ethernet_header_bytes; }
  static wire::ReductionWord word_in(Frame& f) { return wire::load_word(portals_of(f)); }
  static void sign(Frame& f, std::uint64_t signature) {
    wire::store_signature(portals_of(f), signature & wire::signature_mask);
  }
  /// An operand that changes every result that it is counted in.
  static void spoil(Frame& f) {
    const auto payload = std::span(f).subspan(wire::wide_header_bytes);
    std::ranges::transform(payload, payload.begin(), [](std::byte b) { return ~b; });
  }
  /// The exponents of reproducible sums stay.
  static void fill_with_zeros(Frame& f) {
    const auto payload = std::span(f).subspan(wire::wide_header_bytes);
    const std::size_t element =
        wire::form_byte_of(portals_of(f)) == static_cast<std::uint8_t>(wire::Form::repsum)
            ? wire::element_bytes(wire::Form::repsum)
            : sizeof(wire::Payload);
    for (std::size_t begin = 0; begin < payload.size(); begin += element) {
      const std::size_t zeros = std::min(sizeof(wire::Payload), payload.size() - begin);
      std::memset(&payload[begin], 0, zeros);
    }
  }
  static SequenceNumber at(SequenceNumber sequence, int steps) {
    return SequenceNumber{static_cast<std::uint32_t>(
        (static_cast<int>(sequence.value()) + steps + int{usable_sequences}) %
        int{usable_sequences})};
  }
  static std::uint64_t signature_of(const VectorGroup& group, std::uint32_t as, PieceNumber piece) {
    return collective::signature_of_piece(collective::signature_base(group.setup().cookie, as),
                                          piece);
  }
  static collective::SignatureSum sum_of(const VectorGroup& group) {
    return {group.setup().cookie, group.size()};
  }

  /// Source address of forged frames, by which it knows its own; switches do not read it.
  static constexpr std::size_t mac_bytes = 6;
  static constexpr std::array<std::byte, mac_bytes> forged_source = {
      std::byte{0x02}, std::byte{0xF0}, std::byte{0x0F}, {}, {}, std::byte{0x01}};
  static bool is_forged(std::span<const std::byte> bytes) {
    return std::ranges::equal(bytes.subspan(mac_bytes, mac_bytes), forged_source);
  }

  Run& run_;
  const std::vector<VectorGroup*>& groups_;
  std::uint32_t rank_;
  unsigned kinds_;
  HostIndex host_;
  bool is_root_;
  std::map<std::uint32_t, const VectorGroup*> by_cookie_;
  std::map<std::uint32_t, Frame> last_; ///< its contributions, by cookie
  std::deque<Frame> former_;
  std::map<std::uint8_t, SequenceNumber> sequences_; ///< the last one opened, by id
  std::uint64_t attacks_ = 0;
  std::uint64_t sent_ = 0;
};

std::uint32_t some_leaf(Run& run, const VectorSetup& setup) {
  const auto leaf = static_cast<std::uint32_t>(run.random().below(setup.hosts.size() - 1));
  return leaf + (leaf >= setup.root_rank ? 1U : 0U);
}

VectorSetup some_setup(Run& run) {
  VectorSetup setup = on_tree_of(8U << run.random().below(4), run.all_hosts());
  setup.root_rank = static_cast<std::uint32_t>(run.random().below(setup.hosts.size()));
  setup.parameters.in_switch = run.random().below(2) == 0;
  return setup;
}

std::uint64_t sum_over(const std::vector<VectorGroup*>& groups,
                       std::uint64_t collective::Statistics::*counter) {
  std::uint64_t sum = 0;
  for (const VectorGroup* group : groups) {
    sum += group->statistics().*counter;
  }
  return sum;
}

/// Frames of other groups: members do not so much as count them.
RunReport frames_of_others(const RunOptions& options) {
  Run run(options, two_level(2, 4));
  const VectorSetup setup = some_setup(run);
  const auto groups = fill(run, setup, 4, 2);
  const bool is_leaf = run.random().below(4) != 0;
  const Intruder intruder(run, groups, is_leaf ? some_leaf(run, setup) : setup.root_rank,
                          of_other_groups);
  run.start();
  run.fabric().run_until([&] { return all_complete(groups); }, run.fabric().now() + seconds(60));
  run.finish();
  run.expect(intruder.sent() > 0, "it forged");
  run.expect(sum_over(groups, &collective::Statistics::foreign) +
                     run.fabric().drops(core::DropReason::not_opened) +
                     run.fabric().drops(core::DropReason::stale_sequence) >
                 0,
             "switches and members refused frames of others");
  run.expect(sum_over(groups, &collective::Statistics::double_counted) +
                     sum_over(groups, &collective::Statistics::refused) ==
                 0,
             "none of them was counted");
  if (is_leaf) { // arms of other groups have switches drop what they hold
    run.expect(sum_over(groups, &collective::Statistics::retried) == 0, "nor did any of them harm");
  }
  return run.report();
}

/// All that a member knows of a group, besides what only another member sends: no such operand is
/// counted.
RunReport guesses_of_a_member(const RunOptions& options) {
  Run run(options, two_level(2, 4));
  const VectorSetup setup = some_setup(run);
  const auto groups = fill(run, setup, 4, 2);
  const auto one = static_cast<unsigned>(Forgery::wrong_signature) +
                   static_cast<unsigned>(options.seed) % guess_count;
  const unsigned others = static_cast<unsigned>(run.random().next()) & guesses;
  const Intruder intruder(run, groups, some_leaf(run, setup),
                          1U << one | (run.random().below(2) == 0 ? others : 0));
  run.start();
  run.fabric().run_until([&] { return all_complete(groups); }, run.fabric().now() + seconds(60));
  run.finish();
  run.expect(intruder.sent() > 0, "it forged");
  return run.report();
}

/// Right in everything, besides the operand, in every other group: there results may have that in
/// the place of the member's own. In the others they may not.
RunReport operands_of_its_own(const RunOptions& options) {
  Run run(options, two_level(2, 4));
  VectorSetup setup = some_setup(run);
  const std::uint32_t rank = some_leaf(run, setup);
  std::vector<VectorGroup*> groups;
  for (const Run::Context& range : ranges_of(setup.parameters.slots, run.random())) {
    setup.lengths = some_lengths(run.random(), 6);
    setup.lengths.push_back(3'000); // many pieces: most are of the kind of the one before
    setup.forged_rank = groups.size() % 2 == 0 ? std::optional(rank) : std::nullopt;
    groups.push_back(&run.add_context(groups.empty() ? nullptr : groups.front(), setup, range));
  }
  const Intruder intruder(run, groups, rank, bit(Forgery::own_operand));
  run.start();
  run.fabric().run_until([&] { return all_complete(groups); }, run.fabric().now() + seconds(60));
  run.finish();
  std::uint64_t forged = 0;
  for (const VectorGroup* group : groups) {
    forged += group->forged_results();
    run.expect(group->setup().forged_rank || group->forged_results() == 0,
               "no operand was forged in a group that it did not attack");
  }
  run.expect(forged > 0, fmt::format("of {} forged operands some are in results: the same frames "
                                     "with another cookie, id or signature would show",
                                     intruder.sent()));
  return run.report();
}

/// All of it while frames are lost, switches restart and the tree is rerouted.
RunReport in_a_disturbed_network(const RunOptions& options) {
  Run run(options, two_level(3, 3));
  VectorSetup setup = some_setup(run);
  if (setup.parameters.in_switch) {
    use_in_switch_results(setup, true);
  }
  const auto groups = fill(run, setup, 4, 2);
  const TreeNumber tree = run.add_tree_like(*groups.front());
  const unsigned some = static_cast<unsigned>(run.random().next()) & (of_other_groups | guesses);
  const Intruder intruder(run, groups, some_leaf(run, setup), some | bit(Forgery::own_frame));
  Fabric& fabric = run.fabric();
  fabric.set_faults({.loss = 0.004 * static_cast<double>(run.random().below(4)),
                     .duplicate = 0.01 * static_cast<double>(run.random().below(3)),
                     .reorder = 0.02 * static_cast<double>(run.random().below(3)),
                     .jitter_ns = microseconds(run.random().below(40))});
  run.start();
  if (run.random().below(2) == 0) {
    const auto which = static_cast<SwitchIndex>(run.random().below(4));
    const TimeNs down = fabric.now() + microseconds(run.random().between(20, 2'000));
    fabric.at(down, [&fabric, which] { fabric.crash(which); });
    fabric.at(down + microseconds(run.random().between(5, 20'000)),
              [&fabric, which] { fabric.restart(which); });
  }
  if (run.random().below(2) == 0) {
    move_all(run, groups, tree, milliseconds(5));
  }
  fabric.run_until([&] { return all_complete(groups); }, fabric.now() + seconds(60));
  run.finish();
  run.expect(intruder.sent() > 0, "it forged");
  return run.report();
}

constexpr std::array scenarios = {
    Scenario{"contexts_hostile", "frames of one group under ids and sequences of another one",
             frames_of_others, 20},
    Scenario{"contexts_hostile_guesses", "all that a member knows of a group, and guesses",
             guesses_of_a_member, 30},
    Scenario{"contexts_hostile_operands", "a member can forge its own operand, and nothing else",
             operands_of_its_own, 10},
    Scenario{"contexts_hostile_in_trouble",
             "the same while frames are lost, switches restart and the tree moves",
             in_a_disturbed_network, 40},
};

} // namespace of_hostile_contexts

std::span<const Scenario> hostile_context_scenarios() { return of_hostile_contexts::scenarios; }

} // namespace tributary::fabric
