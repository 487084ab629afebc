// A member of a group with in-switch results forges results, contributions in the name of others,
// and reports. It knows all that a member knows, receives all that its host receives, and answers
// immediately. Whatever it sends, a call of any member ends with the right result or an error.
//
//   its place          a port of the switch next to the root, which sends the results, or of
//                      another one; the seed chooses the host
//   another member is present, late, or missing: then no result can be right
//   the network        is whole; loses, duplicates and reorders; or its top switch restarts
//
// What the group itself checks at each completion (group.hpp): that it is the result over the
// operands of all, the forger's own among them, and the same at all members.
#include "tests/fabric/scenarios/scenario.hpp"

#include "endpoint/collective/signature.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>

namespace tributary::fabric {

namespace of_in_switch_hostile {

using collective::PieceNumber;

constexpr std::uint64_t pieces = 24;
constexpr wire::Payload forged_payload = {0xBAD, 0xBAD, 0xBAD, 0xBAD};

/// The forged frames; each kind alone and combined with others, by seed.
enum class Forgery : std::uint8_t {
  forged_result,  ///< a result with count 0, as leaves once sent them
  result,         ///< a whole result, with the full count
  result_as_root, ///< the same with the root's address
  result_with_arm,
  for_another,  ///< contributions of one, with the signature of the member that is late
  for_all,      ///< one for each other member
  between,      ///< the same, and frames of other sequences in between
  disguised,    ///< the same under other sequences, for the one that the root uses
  ahead,        ///< the same, to sequences that are not open yet
  unknown,      ///< the same, with opcodes that are reserved
  miss_reports, ///< a report that it has what the root lacks: this may end the group, and nothing
                ///< else
};
constexpr unsigned forgeries = 11;

class Forger {
public:
  Forger(Run& run, const Group& group, std::uint32_t rank, std::uint32_t victim, unsigned kinds)
      : run_(run), group_(group), rank_(rank), victim_(victim), kinds_(kinds),
        all_members_(group.setup().cookie, group.size()) {
    const HostIndex host = group.host(rank);
    run.fabric().observe([this, host](const Passage& p) {
      if (p.reduction && p.into_host(host) && p.reduction->tree == group_.setup().tree &&
          p.reduction->word.seqno != pre_arm_sequence && p.reduction->word.retry()) {
        schedule(*p.reduction);
      }
      // And a while after results, when the others contribute to the next piece.
      if (p.reduction && p.into_host(host) && p.reduction->tree == group_.setup().tree &&
          p.reduction->word.count > 0 && run_.random().below(3) == 0) {
        schedule(*p.reduction);
      }
    });
  }
  [[nodiscard]] std::uint64_t sent() const { return sent_; }

private:
  [[nodiscard]] bool does(Forgery f) const {
    return (kinds_ >> static_cast<unsigned>(f) & 1U) != 0;
  }

  void schedule(const wire::ReductionFrame& heard) {
    if (attacks_++ > 3'000) {
      return; // the virtual time of a run is long
    }
    Fabric& fabric = run_.fabric();
    const std::uint64_t delay_ns =
        run_.random().below(2) == 0 ? 0 : microseconds(run_.random().below(60));
    fabric.at(fabric.now() + delay_ns, [this, heard] { attack(heard); });
  }

  void attack(const wire::ReductionFrame& heard) {
    const PieceNumber piece = group_.member(rank_).status()[heard.reduction.value].piece;
    const auto at = [&](int steps) {
      return SequenceNumber{static_cast<std::uint32_t>(
          (static_cast<int>(heard.word.seqno.value()) + steps + int{usable_sequences}) %
          int{usable_sequences})};
    };
    for (const PieceNumber p : {piece, piece + reductions_per_tree}) {
      const std::uint64_t all = all_members_.expected(p);
      for (const SequenceNumber sequence :
           {at(0), at(-1), at(-2), heard.word.resno, at(1), at(2)}) {
        wire::ReductionFrame f = frame(heard, sequence, 0, all);
        if (does(Forgery::forged_result)) {
          send(f);
        }
        f.word.count = group_.size();
        f.word.seqno = collective::successor(sequence);
        if (does(Forgery::result)) {
          send(f);
        }
        if (does(Forgery::result_as_root)) {
          f.source_nid = Topology::nid(group_.host(group_.setup().root_rank));
          send(f);
          f.source_nid = Topology::nid(group_.host(rank_));
        }
        f.word.arm = true;
        if (does(Forgery::result_with_arm)) {
          send(f);
        }
      }
      const auto contribute = [&](std::uint32_t as, SequenceNumber seqno, SequenceNumber resno) {
        wire::ReductionFrame f = frame(heard, seqno, 1, signature_of(as, p));
        f.word.resno = resno;
        f.rank = as;
        if (does(Forgery::unknown)) {
          f.word.op = 0x3F;
          send(f);
          f.word.op = static_cast<std::uint8_t>(wire::Opcode::int_sum);
        }
        send(f);
      };
      const auto forge = [&](std::uint32_t as) {
        contribute(as, at(0), at(0));
        for (const int steps : {3, -3, 400, -200, 600}) {
          if (does(Forgery::between)) {
            contribute(as, at(steps), at(steps));
            contribute(as, at(0), at(0));
          }
          if (does(Forgery::disguised)) {
            contribute(as, at(steps), at(0));
          }
        }
        if (does(Forgery::ahead)) {
          contribute(as, at(1), at(1));
          contribute(as, at(2), at(2));
          contribute(as, at(4), at(4));
        }
      };
      if (does(Forgery::for_another)) {
        forge(victim_);
      }
      for (std::uint32_t as = 0; does(Forgery::for_all) && as < group_.size(); ++as) {
        if (as != rank_) { // or it would be a wrong operand of its own
          forge(as);
        }
      }
    }
    if (does(Forgery::miss_reports)) {
      for (const SequenceNumber result : {at(-2), heard.word.resno, at(-1), at(-4)}) {
        wire::ReductionFrame f = frame(heard, heard.word.seqno, 0, 0);
        f.word.resno = result;
        f.word.pad = wire::pad_retry;
        send(f);
      }
    }
  }

  [[nodiscard]] std::uint64_t signature_of(std::uint32_t as, PieceNumber piece) const {
    return collective::signature_of_piece(collective::signature_base(group_.setup().cookie, as),
                                          piece);
  }
  [[nodiscard]] wire::ReductionFrame frame(const wire::ReductionFrame& heard,
                                           SequenceNumber sequence, ContributionCount count,
                                           std::uint64_t signature) const {
    const Nid nid = Topology::nid(group_.host(rank_));
    wire::ReductionFrame f;
    f.destination = wire::port_mac(nid);
    f.source = wire::host_mac(nid);
    f.dscp = wire::dscp_leaf;
    f.vni = group_.setup().vni;
    f.source_nid = nid;
    f.tree = group_.setup().tree;
    f.reduction = heard.reduction;
    f.cookie = group_.setup().cookie;
    f.rank = rank_;
    f.signature = signature;
    f.word.seqno = f.word.resno = sequence;
    f.word.op = static_cast<std::uint8_t>(wire::Opcode::int_sum);
    f.word.count = count;
    f.payload = forged_payload;
    return f;
  }
  void send(const wire::ReductionFrame& f) {
    std::array<std::byte, wire::reduction_frame_bytes> bytes;
    wire::encode(f, bytes);
    run_.fabric().count(Fault::spoofed_source);
    run_.fabric().send_from_host(group_.host(rank_), bytes);
    ++sent_;
  }

  Run& run_;
  const Group& group_;
  std::uint32_t rank_;
  std::uint32_t victim_;
  unsigned kinds_;
  collective::SignatureSum all_members_;
  std::uint64_t sent_ = 0;
  std::uint64_t attacks_ = 0;
};

/// Two different ranks, neither of them the root's.
std::pair<std::uint32_t, std::uint32_t> two_leaves(Run& run, const GroupSetup& setup) {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < setup.hosts.size(); ++rank) {
    if (rank != setup.root_rank) {
      ranks.push_back(rank);
    }
  }
  run.random().shuffle(ranks);
  return {ranks[0], ranks[1]};
}

enum class Victim : std::uint8_t { there, late, never };

/// `kinds`: a bit for each forgery.
RunReport forge(const RunOptions& options, Victim victim, unsigned kinds, bool disturbed) {
  Run run(options, two_level(3, 3));
  const std::size_t size = 3 + run.random().below(7);
  GroupSetup setup{
      .hosts = run.choose_hosts(size), .pieces = pieces, .only = wire::Opcode::int_sum};
  setup.root_rank = static_cast<std::uint32_t>(run.random().below(size));
  setup.parameters.in_switch = true;
  // A forger that corrupts its own contribution counts as missing.
  setup.parameters.member_timeout_ns = seconds(5);
  setup.parameters.first_sequence =
      SequenceNumber{static_cast<std::uint32_t>(run.random().below(usable_sequences))};
  Group& group = run.add_group(setup);
  const auto [forger, other] = two_leaves(run, setup);
  const PieceNumber begins = run.random().below(pieces);
  if (victim != Victim::there) {
    group.misbehave(other, begins,
                    {.not_before = run.fabric().now() + seconds(victim == Victim::late ? 2 : 200)});
  }
  Fabric& fabric = run.fabric();
  if (disturbed) {
    fabric.set_faults({.loss = 0.01 * static_cast<double>(run.random().below(3)),
                       .duplicate = 0.01 * static_cast<double>(run.random().below(3)),
                       .reorder = 0.02 * static_cast<double>(run.random().below(2)),
                       .jitter_ns = microseconds(run.random().below(20))});
    const SwitchIndex top = run.tree_of(group).front().at;
    TimeNs down = fabric.now();
    for (int i = 0; i < 3; ++i) {
      down = down + microseconds(run.random().between(20, 2'000));
      fabric.at(down, [&fabric, top] { fabric.crash(top); });
      down = down + microseconds(run.random().between(5, 2'000));
      fabric.at(down, [&fabric, top] { fabric.restart(top); });
    }
  }
  const Forger attack(run, group, forger, other, kinds);
  run.start();
  const auto over = [&] {
    for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
      const bool done = group.completed_pieces(rank) == pieces || group.member(rank).failure();
      if (!done || !group.member(rank).left()) {
        return false;
      }
    }
    return true;
  };
  fabric.run_until([&] { return over(); }, fabric.now() + seconds(5));
  fabric.set_faults({});
  fabric.run_until([&] { return over(); }, fabric.now() + seconds(25));
  run.expect(over(), "every call has ended with a result or an error" + group.describe_status());
  if (victim == Victim::never) {
    for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
      // The ids before it were begun by all.
      run.expect(
          group.completed_pieces(rank) <= begins,
          fmt::format("rank {} has no result of a piece that rank {} did not begin", rank, other));
    }
  }
  run.expect(attack.sent() > 0, "it forged");
  fabric.audit();
  return run.report();
}

constexpr unsigned bit(Forgery f) { return 1U << static_cast<unsigned>(f); }

/// The kinds that the seed selects.
unsigned some(const RunOptions& options) {
  Random random = Random(options.seed).fork(91);
  const auto one = static_cast<unsigned>(options.seed % forgeries);
  // Several variants of it.
  const bool stands_in = one >= static_cast<unsigned>(Forgery::between) &&
                         one <= static_cast<unsigned>(Forgery::unknown);
  const unsigned others = static_cast<unsigned>(random.below(1U << forgeries));
  return 1U << one | (random.below(2) == 0 ? others : 0) |
         (stands_in ? bit(Forgery::for_another) : 0);
}

/// As found in an experiment: a member is missing, and another one sends the root a result.
RunReport tells_results(const RunOptions& options) {
  return forge(options, Victim::never, bit(Forgery::forged_result), false);
}
RunReport beside_one_that_is_missing(const RunOptions& options) {
  return forge(options, Victim::never, some(options) | bit(Forgery::for_another), false);
}
RunReport stands_in(const RunOptions& options) {
  return forge(options, Victim::late,
               bit(Forgery::for_another) | bit(Forgery::between) | bit(Forgery::disguised) |
                   bit(Forgery::ahead),
               false);
}
RunReport among_all(const RunOptions& options) {
  return forge(options, options.seed % 2 == 0 ? Victim::there : Victim::late, some(options), false);
}
RunReport in_a_disturbed_network(const RunOptions& options) {
  return forge(options, static_cast<Victim>(options.seed % 3), some(options), true);
}

constexpr std::array scenarios = {
    Scenario{"in_switch_told_by_a_forger", "a member is missing, and another one tells a result",
             tells_results, 20},
    Scenario{"in_switch_forged_for_one_missing", "a member is missing, and another one stands in",
             beside_one_that_is_missing, 60},
    Scenario{"in_switch_stands_in", "contributions for a member that is late, in every disguise",
             stands_in, 40},
    Scenario{"in_switch_forged", "forgeries of all kinds among members that are there", among_all,
             60},
    Scenario{"in_switch_forged_in_trouble",
             "the same while frames are lost and the switch restarts", in_a_disturbed_network, 90},
};

} // namespace of_in_switch_hostile

std::span<const Scenario> in_switch_hostile_scenarios() { return of_in_switch_hostile::scenarios; }

} // namespace tributary::fabric
