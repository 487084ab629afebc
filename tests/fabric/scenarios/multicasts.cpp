// Groups that multicast on shared trees: every byte of every broadcast and allgather is right, and
// each chunk crosses each link of its tree once. Beside reductions, under faults, while switches
// restart, the tree moves or is not shared everywhere yet, with a dead member, and with a hostile
// one.
#include "tests/fabric/frame_reader.hpp"
#include "tests/fabric/scenarios/context_groups.hpp"
#include "tests/fabric/scenarios/scenario.hpp"

#include "endpoint/collective/signature.hpp"
#include "endpoint/reliable_multicast/acknowledgement.hpp"
#include "tributary/wire/opcode.hpp"
#include "tributary/wire/reduction.hpp"
#include "tributary/wire/shared.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace tributary::fabric {

namespace of_multicasts {

using reliable_multicast::Kind;
using reliable_multicast::Statistics;
using reliable_multicast::Verdict;

MulticastSetup on_tree_of(std::uint32_t slots, std::vector<HostIndex> hosts, Random& random) {
  MulticastSetup setup{.hosts = std::move(hosts)};
  setup.parameters.slots = slots;
  setup.parameters.payload = slots == reductions_per_tree ? 32 : 704;
  setup.root_rank = static_cast<std::uint32_t>(random.below(setup.hosts.size()));
  setup.parameters.in_switch = random.below(2) == 0;
  setup.parameters.first_sequence =
      SequenceNumber{static_cast<std::uint32_t>(random.below(usable_sequences))};
  return setup;
}

/// 1, 2, 4 or 8 windows, in the second half of a tree's ids.
Run::Context some_windows(std::uint32_t slots, Random& random) {
  return {ReductionId{static_cast<std::uint8_t>(slots / 2)},
          std::min(1U << random.below(4), slots / 2)};
}

/// From nothing to some dozens of windows.
std::vector<std::uint64_t> some_lengths(Random& random, std::size_t count, std::uint64_t most) {
  std::vector<std::uint64_t> lengths;
  for (std::size_t i = 0; i < count; ++i) {
    lengths.push_back(random.below(std::max<std::uint64_t>(most >> random.below(14), 2)));
  }
  return lengths;
}

/// Shared frames of each link, of both directions together.
class Links {
public:
  explicit Links(Fabric& fabric) {
    fabric.observe([this](const Passage& p) {
      if (FrameReader(p.bytes).is_shared()) {
        ++carried_[std::minmax({number_of(p.from), number_of(p.to)})];
      }
    });
  }
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  /// Whether every link that carried any carried this many.
  [[nodiscard]] bool carried_each(std::uint64_t frames) const {
    return std::ranges::all_of(carried_, [&](const auto& link) { return link.second == frames; });
  }

private:
  static std::uint64_t number_of(const LinkEnd& end) {
    return static_cast<std::uint64_t>(end.kind) << 40U | std::uint64_t{end.node} << 8U |
           end.port.value;
  }
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> carried_;
};

/// Without faults: one frame a link for each chunk, and no member asks for anything.
RunReport undisturbed(const RunOptions& options) {
  Run run(options, two_level(4, 4));
  MulticastSetup setup = on_tree_of(32, run.all_hosts(), run.random());
  setup.lengths = {0, 1, 40, 1000, 1025, 70'000, 3, 400'000, 327'680, 17};
  const Links links(run.fabric());
  const MulticastGroup& group = run.add_multicasts(nullptr, setup, {ReductionId{16}, 4});
  run.start();
  run.finish();
  const Statistics s = group.statistics();
  run.expect(s.chunks_received == s.chunks_sent * (group.size() - 1),
             "each member took each chunk");
  run.expect(links.carried_each(s.chunks_sent), "one frame a link for each chunk");
  run.expect(s.chunks_resent + s.with_holes + s.retried + s.requests_sent + s.roll_calls == 0,
             "no member asked for anything");
  run.expect(s.duplicates + s.stale + s.beyond_window + s.misdirected + s.foreign + s.malformed +
                     s.refused + s.outbox_full ==
                 0,
             "nothing was in vain");
  return run.report();
}

/// Vectors are reduced on the same tree, in other ranges of its ids; with losses, or without.
RunReport beside_vectors(const RunOptions& options) {
  Run run(options, two_level(2, 4));
  Random& random = run.random();
  const std::uint32_t slots = 8U << random.below(5);
  VectorSetup vectors = context_groups::on_tree_of(slots, run.all_hosts());
  vectors.parameters.shared = true;
  vectors.parameters.in_switch = random.below(2) == 0;
  vectors.lengths = context_groups::some_lengths(random, 8);
  const VectorGroup& first = run.add_context(nullptr, vectors, {ReductionId{0}, slots / 2});
  const std::uint32_t quarter = slots / 4;
  const auto third = static_cast<std::uint8_t>(slots / 2);
  const VectorGroup& second = run.add_context(&first, vectors, {ReductionId{third}, quarter});
  MulticastSetup setup = on_tree_of(slots, run.all_hosts(), random);
  setup.root_rank = vectors.root_rank;
  setup.parameters.in_switch = vectors.parameters.in_switch;
  setup.lengths = some_lengths(random, 8, 200'000);
  const auto last = static_cast<std::uint8_t>(slots / 2 + quarter);
  const MulticastGroup& group = run.add_multicasts(&first, setup, {ReductionId{last}, quarter});
  const bool loses = random.below(2) == 0;
  if (loses) {
    run.fabric().set_faults({.loss = 0.002, .duplicate = 0.01, .jitter_ns = microseconds(20)});
  }
  run.start();
  run.fabric().run_until([&] { return first.complete() && second.complete() && group.complete(); },
                         run.fabric().now() + seconds(120));
  run.finish();
  run.expect(
      first.statistics().foreign + second.statistics().foreign + group.statistics().foreign == 0,
      "no group gets frames of another");
  run.expect(loses || group.statistics().retried == 0, "no host was asked again");
  return run.report();
}

LinkFaults some_faults(Random& random) {
  return {.loss = 0.002 * static_cast<double>(random.below(8)),
          .duplicate = 0.01 * static_cast<double>(random.below(3)),
          .reorder = 0.02 * static_cast<double>(random.below(3)),
          .jitter_ns = microseconds(random.below(40))};
}

/// Random fabrics, groups, windows, chunks, one tree or two, and faults.
RunReport under_faults(const RunOptions& options) {
  Random random = Random(options.seed).fork(43);
  FabricOptions fabric_options;
  fabric_options.switches.workers = 1 + static_cast<std::uint32_t>(random.below(3));
  Run run(options,
          random_network(2 + static_cast<std::uint32_t>(random.below(6)),
                         6 + static_cast<std::uint32_t>(random.below(16)), 2, random),
          fabric_options);
  const std::uint32_t slots = 8U << run.random().below(5);
  MulticastSetup setup =
      on_tree_of(slots, run.choose_hosts(3 + run.random().below(12)), run.random());
  const bool twins = run.random().below(3) == 0;
  setup.parameters.in_switch = setup.parameters.in_switch && !twins;
  setup.parameters.armed = run.random().below(8) != 0;
  setup.chunk_bytes = 40 + 8 * static_cast<std::uint32_t>(run.random().below(172));
  setup.window_chunks = 1 + static_cast<std::uint32_t>(run.random().below(192));
  setup.eager_bytes = run.random().below(200'000);
  setup.knows_nids = run.random().below(2) == 0;
  setup.lengths = some_lengths(run.random(), 8, 300'000);
  setup.in_flight = 1 + run.random().below(4);
  const MulticastGroup& group =
      run.add_multicasts(nullptr, setup, some_windows(slots, run.random()), twins);
  run.fabric().set_faults(some_faults(run.random()));
  run.start();
  run.fabric().run_until([&] { return group.complete(); }, run.fabric().now() + seconds(120));
  run.finish();
  return run.report();
}

/// Switches lose all their state in the middle of it; what one of them kept for members, too.
RunReport switch_restarts(const RunOptions& options) {
  Run run(options, two_level(3, 3));
  MulticastSetup setup = on_tree_of(32, run.all_hosts(), run.random());
  setup.lengths.assign(60, 60'000);
  const MulticastGroup& group = run.add_multicasts(nullptr, setup, some_windows(32, run.random()));
  run.start();
  Fabric& fabric = run.fabric();
  for (int i = 0; i < 3; ++i) {
    const auto at = static_cast<SwitchIndex>(run.random().below(4));
    const TimeNs down = fabric.now() + microseconds(run.random().between(20, 3'000));
    fabric.at(down, [&fabric, at] { fabric.crash(at); });
    fabric.at(down + milliseconds(run.random().between(1, 40)),
              [&fabric, at] { fabric.restart(at); });
  }
  fabric.run_until([&] { return group.complete(); }, fabric.now() + seconds(60));
  run.finish();
  run.expect(fabric.fault_counts().of(Fault::switch_crash) > 0, "switches crashed");
  return run.report();
}

/// The tree is rerouted: each host moves at a time of its own.
RunReport reroute(const RunOptions& options) {
  Run run(options, two_level(4, 3));
  MulticastSetup setup = on_tree_of(32, run.choose_hosts(8), run.random());
  setup.lengths.assign(40, 60'000);
  MulticastGroup& group = run.add_multicasts(nullptr, setup, some_windows(32, run.random()));
  const TreeNumber tree = run.add_tree_like(group);
  run.start();
  Fabric& fabric = run.fabric();
  for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
    const std::uint64_t in = run.random().between(microseconds(50), milliseconds(3));
    group.move(rank, fabric.now() + in, tree);
    fabric.poke(setup.hosts[rank]);
  }
  fabric.set_faults({.loss = 0.002, .jitter_ns = microseconds(10)});
  fabric.run_until([&] { return group.complete(); }, fabric.now() + seconds(120));
  run.finish();
  for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
    run.expect(group.member(rank).parameters().group.tree == tree, "all have moved");
  }
  return run.report();
}

/// A switch of the tree has not learned yet that it is shared: it drops the frames by name, and
/// they are sent again when it has.
RunReport shared_late(const RunOptions& options) {
  Run run(options, two_level(3, 3));
  MulticastSetup setup = on_tree_of(32, run.all_hosts(), run.random());
  setup.lengths = some_lengths(run.random(), 6, 100'000);
  setup.lengths.front() = 5'000;
  const MulticastGroup& group = run.add_multicasts(nullptr, setup, {ReductionId{24}, 4});
  Fabric& fabric = run.fabric();
  const std::vector<TreePart>& parts = run.tree_of(group);
  TreePart late = parts[run.random().below(parts.size())];
  late.shared = false;
  fabric.set_part(group.setup().tree, late);
  run.start();
  fabric.run_until(fabric.now() + milliseconds(run.random().between(1, 200)));
  run.expect(!group.complete(), "members wait");
  late.shared = true;
  fabric.set_part(group.setup().tree, late);
  fabric.publish(late.at);
  fabric.run_until([&] { return group.complete(); }, fabric.now() + seconds(60));
  run.finish();
  run.expect(fabric.drops(core::DropReason::not_shared) > 0, "the switch dropped frames by name");
  return run.report();
}

/// A member that is late for every call, but before any timer: what the others sent is kept for it.
RunReport straggler(const RunOptions& options) {
  Run run(options, two_level(2, 4));
  MulticastSetup setup = on_tree_of(32, run.all_hosts(), run.random());
  setup.lengths = some_lengths(run.random(), 10, 100'000);
  setup.in_flight = 1;
  setup.straggler = static_cast<std::uint32_t>(run.random().below(setup.hosts.size()));
  setup.straggles_ns = milliseconds(1); // later windows wait for all the calls before them
  const MulticastGroup& group = run.add_multicasts(nullptr, setup, {ReductionId{16}, 4});
  run.start();
  run.finish();
  const Statistics s = group.statistics();
  run.expect(s.chunks_resent + s.with_holes + s.retried + s.requests_sent == 0,
             fmt::format("no host asks for member {}, but: {} sent again, {} with holes, {} asked "
                         "again, {} requested",
                         *setup.straggler, s.chunks_resent, s.with_holes, s.retried,
                         s.requests_sent));
  return run.report();
}

/// A host dies, sometimes the root's: the group ends at all others, with its name.
RunReport dead_member(const RunOptions& options) {
  Run run(options, two_level(2, 4));
  MulticastSetup setup = on_tree_of(32, run.all_hosts(), run.random());
  setup.parameters.member_timeout_ns = seconds(6);
  setup.may_end = true;
  setup.lengths.assign(400, 60'000);
  const MulticastGroup& group = run.add_multicasts(nullptr, setup, {ReductionId{16}, 4});
  run.start();
  Fabric& fabric = run.fabric();
  fabric.run_until(fabric.now() + microseconds(run.random().between(20, 300)));
  const auto dead = static_cast<std::uint32_t>(run.random().below(group.size()));
  fabric.set_host_alive(setup.hosts[dead], false);
  fabric.count(Fault::dead_member);
  const auto all_know = [&] {
    for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
      if (rank != dead && !group.member(rank).failure()) {
        return false;
      }
    }
    return true;
  };
  fabric.run_until(all_know, fabric.now() + seconds(60));
  run.expect(all_know(), "every survivor knows it:" + group.describe_status());
  collective::MissingRanks missing;
  missing.add(dead);
  for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
    const auto& failure = group.member(rank).failure();
    run.expect(
        rank == dead || !failure ||
            (failure->what == Verdict::What::not_acknowledging && failure->missing == missing),
        "and names the dead member alone");
  }
  fabric.audit();
  return run.report();
}

/// A host stops for up to seconds in the middle of it, sometimes the root's, and misses all that is
/// sent meanwhile. The others wait, and every byte is right.
RunReport comes_back(const RunOptions& options) {
  Run run(options, two_level(2, 4));
  MulticastSetup setup = on_tree_of(32, run.all_hosts(), run.random());
  setup.lengths.assign(60, 60'000);
  const MulticastGroup& group = run.add_multicasts(nullptr, setup, {ReductionId{16}, 4});
  run.start();
  Fabric& fabric = run.fabric();
  const HostIndex host = setup.hosts[run.random().below(group.size())];
  const TimeNs stops = fabric.now() + microseconds(run.random().between(20, 2'000));
  fabric.at(stops, [&fabric, host] { fabric.set_host_alive(host, false); });
  fabric.at(stops + milliseconds(run.random().between(2, 4'000)),
            [&fabric, host] { fabric.set_host_alive(host, true); });
  fabric.run_until([&] { return group.complete(); }, fabric.now() + seconds(120));
  run.finish();
  return run.report();
}

/// Two groups of one tree multicast at the same time, and each has as much outstanding as a whole
/// port holds: what its queue drops is sent again.
RunReport two_at_once(const RunOptions& options) {
  FabricOptions fabric_options;
  constexpr std::uint32_t held = 48;
  for (auto& c : fabric_options.switches.queues.classes) {
    c.limit = {.frames = held, .bytes = held * 2'000};
  }
  Run run(options, two_level(2, 4), fabric_options);
  Random& random = run.random();
  VectorSetup vectors = context_groups::on_tree_of(32, run.all_hosts());
  vectors.parameters.shared = true;
  vectors.parameters.in_switch = random.below(2) == 0;
  vectors.lengths = context_groups::some_lengths(random, 4);
  const VectorGroup& on = run.add_context(nullptr, vectors, {ReductionId{0}, 16});
  MulticastSetup setup = on_tree_of(32, run.all_hosts(), random);
  setup.root_rank = vectors.root_rank;
  setup.parameters.in_switch = vectors.parameters.in_switch;
  setup.only = Kind::allgather;
  setup.lengths.assign(4, 600'000);
  const MulticastGroup& first = run.add_multicasts(&on, setup, {ReductionId{16}, 4});
  const MulticastGroup& second = run.add_multicasts(&on, setup, {ReductionId{24}, 4});
  Fabric& fabric = run.fabric();
  for (LinkIndex link = 0; link < fabric.topology().links().size(); ++link) {
    fabric.set_link_speed(link, 1'000);
  }
  run.start();
  fabric.run_until([&] { return on.complete() && first.complete() && second.complete(); },
                   fabric.now() + seconds(120));
  run.finish();
  run.expect(first.statistics().chunks_resent + second.statistics().chunks_resent > 0,
             "queues were full");
  run.expect(first.statistics().foreign + second.statistics().foreign == 0,
             "no group gets frames of another");
  return run.report();
}

/// A member's host forges frames as soon as it hears any: all that it may not be believed. It makes
/// up nothing in its own name: what a member sends as its own data is its own affair.
class Forger {
public:
  Forger(Run& run, const MulticastGroup& group, const MulticastGroup& other, std::uint32_t rank)
      : run_(run), group_(group), other_(other), rank_(rank), host_(group.setup().hosts[rank]) {
    run.fabric().observe([this](const Passage& p) { look(p); });
  }
  Forger(const Forger&) = delete;
  Forger& operator=(const Forger&) = delete;

private:
  /// A group completes nothing while each of its attempts is spoilt, so the attack has to end.
  static constexpr std::uint64_t most_attacks = 400;
  enum class Forgery : std::uint8_t {
    as_another,    ///< its own NID, the sender's rank
    spoofed,       ///< the sender's NID
    not_its_own,   ///< its own name, the sender's chunk
    far_away,      ///< its own name, a window far ahead
    other_cookie,  ///< the other group's cookie, the sender's rank
    wrong_length,  ///< its own name, a chunk of another length
    acknowledging, ///< says for another member that it has all
    count,
  };

  void look(const Passage& p) {
    wire::SharedFrame heard;
    if (!p.into_host(host_) || attacks_ >= most_attacks || run_.random().below(2) == 0 ||
        wire::decode(p.bytes, wire::default_ethertype, heard) != wire::DecodeError::none ||
        heard.cookie != group_.setup().cookie) {
      return;
    }
    ++attacks_;
    const auto forgery =
        static_cast<Forgery>(run_.random().below(static_cast<std::uint64_t>(Forgery::count)));
    const std::uint64_t in =
        run_.random().below(3) == 0 ? 0 : microseconds(run_.random().below(50));
    run_.fabric().at(run_.fabric().now() + in, [this, heard, forgery] { attack(heard, forgery); });
  }

  void attack(wire::SharedFrame f, Forgery forgery) {
    const Nid own = Topology::nid(host_);
    f.source_nid = forgery == Forgery::spoofed ? f.source_nid : own;
    switch (forgery) {
    case Forgery::as_another:
    case Forgery::spoofed: break;
    case Forgery::not_its_own: f.rank = rank_; break;
    case Forgery::far_away:
      f.rank = rank_;
      f.window += 1 + run_.random().below(wire::signature_mask - f.window);
      break;
    case Forgery::other_cookie: f.cookie = other_.setup().cookie; break;
    case Forgery::wrong_length:
      f.rank = rank_;
      f.chunk = static_cast<std::uint16_t>(group_.setup().window_chunks + run_.random().below(9));
      break;
    case Forgery::acknowledging:
    case Forgery::count: acknowledge_as_another(f.window); return;
    }
    std::vector<std::byte> frame(wire::shared_header_bytes + wire::padded_chunk(f.bytes),
                                 std::byte{0xBA});
    wire::encode_header(f, std::span(frame).first<wire::shared_header_bytes>());
    send(frame, forgery == Forgery::spoofed ? Fault::spoofed_source : Fault::garbage);
  }

  void acknowledge_as_another(std::uint64_t window) {
    const collective::GroupParameters& p = group_.setup().parameters;
    if (rank_ == group_.setup().root_rank) {
      return; // what comes from there is the root's
    }
    const auto as = static_cast<std::uint32_t>(run_.random().below(group_.size()));
    if (as == rank_) {
      return;
    }
    wire::ReductionFrame f;
    f.vni = group_.setup().vni;
    f.source_nid = Topology::nid(host_);
    f.tree = group_.setup().tree;
    f.reduction =
        ReductionId{static_cast<std::uint8_t>(p.first_id.value + (window & (p.slots - 1)))};
    f.rank = as;
    f.cookie = group_.setup().cookie;
    f.signature = collective::signature_of_piece(collective::signature_base(f.cookie, as), window);
    const SequenceNumber sequence{
        static_cast<std::uint32_t>(run_.random().below(usable_sequences))};
    f.word = {.seqno = sequence,
              .op = static_cast<std::uint8_t>(wire::Opcode::bit_and),
              .count = 1,
              .resno = sequence};
    f.payload = reliable_multicast::acknowledgement(window, {});
    std::vector<std::byte> frame(wire::reduction_frame_bytes);
    wire::encode(f, std::span<std::byte, wire::reduction_frame_bytes>(frame));
    send(frame, Fault::garbage);
  }

  void send(const std::vector<std::byte>& frame, Fault fault) {
    run_.fabric().count(fault);
    run_.fabric().send_from_host(host_, frame);
  }

  Run& run_;
  const MulticastGroup& group_;
  const MulticastGroup& other_;
  std::uint32_t rank_;
  HostIndex host_;
  std::uint64_t attacks_ = 0;
};

/// No member takes a wrong byte, and each kind of forgery is counted by name.
RunReport hostile(const RunOptions& options) {
  Run run(options, two_level(2, 4));
  Random& random = run.random();
  VectorSetup vectors = context_groups::on_tree_of(32, run.all_hosts());
  vectors.parameters.shared = true;
  vectors.lengths = context_groups::some_lengths(random, 4);
  const VectorGroup& on = run.add_context(nullptr, vectors, {ReductionId{0}, 16});
  MulticastSetup setup = on_tree_of(32, run.all_hosts(), random);
  setup.root_rank = vectors.root_rank;
  setup.parameters.in_switch = false;
  setup.lengths.assign(40, 30'000);
  setup.may_end = true;
  setup.parameters.member_timeout_ns = seconds(8);
  const MulticastGroup& other = run.add_multicasts(&on, setup, {ReductionId{16}, 4});
  const MulticastGroup& group = run.add_multicasts(&on, setup, {ReductionId{24}, 4});
  const Forger forger(run, group, other, static_cast<std::uint32_t>(random.below(group.size())));
  if (random.below(2) == 0) {
    run.fabric().set_faults(some_faults(random));
  }
  run.start();
  run.fabric().run_until([&] { return group.complete() && other.complete(); },
                         run.fabric().now() + seconds(60));
  run.finish();
  const Statistics s = group.statistics();
  run.expect(
      s.wrong_source > 0 && s.wrong_owner + s.stale > 0 && s.wrong_length > 0 &&
          s.beyond_window > 0,
      fmt::format("forgeries are counted by name: {} of another source, {} of another owner, "
                  "{} late, {} of a wrong length, {} of windows ahead",
                  s.wrong_source, s.wrong_owner, s.stale, s.wrong_length, s.beyond_window));
  run.expect(other.statistics().wrong_source > 0, "the other group counted them, too");
  run.expect(run.fabric().drops(core::DropReason::source_guard) > 0,
             "its switch dropped those with another's address");
  return run.report();
}

/// Reductions with results for some: S windows of as many pieces as the second half of the ids has.
struct OfReductions {
  MulticastSetup setup;
  Run::Context context;
};
OfReductions reductions_on_tree_of(std::uint32_t slots, std::vector<HostIndex> hosts,
                                   Random& random) {
  MulticastSetup setup = on_tree_of(slots, std::move(hosts), random);
  setup.parameters.payload = 704;
  setup.parameters.in_switch = true;
  setup.reduces = true;
  setup.windows = 1U << random.below(3);
  setup.window_chunks = slots / 2 / setup.windows - 1;
  setup.chunk_bytes = 40 + 8 * static_cast<std::uint32_t>(random.below(84));
  return {std::move(setup), {ReductionId{static_cast<std::uint8_t>(slots / 2)}, slots / 2}};
}

/// Without faults: one result for each piece, which enters one host, and no member asks for
/// anything.
RunReport reductions(const RunOptions& options) {
  Run run(options, two_level(4, 4));
  auto [setup, context] = reductions_on_tree_of(64, run.all_hosts(), run.random());
  setup.lengths = {0, 4, 40, 1000, 70'000, 8, 200'000, 17};
  const std::size_t size = setup.hosts.size();
  std::uint64_t entered = 0;
  run.fabric().observe([&entered, size](const Passage& p) {
    const FrameReader f(p.bytes);
    const bool is_result =
        f.is_multicast() && !f.is_shared() && !f.arm() && f.wanted() && f.count() == size;
    entered += is_result && p.to.kind == LinkEnd::Kind::host ? 1 : 0;
  });
  const MulticastGroup& group = run.add_multicasts(nullptr, setup, context);
  run.start();
  run.finish();
  const Statistics s = group.statistics();
  run.expect(s.results > 0 && s.pieces_sent == s.results * group.size(),
             "each member contributed once to each piece");
  run.expect(entered == s.results,
             fmt::format("{} results entered hosts, and {} were wanted", entered, s.results));
  run.expect(s.pieces_resent + s.with_holes + s.retried + s.requests_sent + s.roll_calls == 0,
             "no member asked for anything");
  run.expect(s.wrong_result + s.duplicates + s.stale + s.beyond_window + s.misdirected + s.foreign +
                     s.malformed + s.refused + s.outbox_full ==
                 0,
             "nothing was in vain");
  return run.report();
}

/// Random fabrics, windows, pieces and faults: every result right.
RunReport reductions_under_faults(const RunOptions& options) {
  Random random = Random(options.seed).fork(47);
  FabricOptions fabric_options;
  fabric_options.switches.workers = 1 + static_cast<std::uint32_t>(random.below(3));
  Run run(options,
          random_network(2 + static_cast<std::uint32_t>(random.below(6)),
                         6 + static_cast<std::uint32_t>(random.below(16)), 2, random),
          fabric_options);
  const std::uint32_t slots = 16U << run.random().below(4);
  auto [setup, context] =
      reductions_on_tree_of(slots, run.choose_hosts(3 + run.random().below(12)), run.random());
  setup.lengths = some_lengths(run.random(), 6, 60'000);
  setup.in_flight = 1 + run.random().below(4);
  const MulticastGroup& group = run.add_multicasts(nullptr, setup, context);
  run.fabric().set_faults(some_faults(run.random()));
  run.start();
  run.fabric().run_until([&] { return group.complete(); }, run.fabric().now() + seconds(120));
  run.finish();
  return run.report();
}

/// Beside an allgather on the same tree, as training by shards has them.
RunReport reductions_beside_allgathers(const RunOptions& options) {
  Run run(options, two_level(2, 4));
  Random& random = run.random();
  VectorSetup vectors = context_groups::on_tree_of(128, run.all_hosts());
  vectors.parameters.shared = true;
  vectors.parameters.in_switch = true;
  vectors.lengths = context_groups::some_lengths(random, 6);
  const VectorGroup& first = run.add_context(nullptr, vectors, {ReductionId{0}, 32});
  MulticastSetup gathering = on_tree_of(128, run.all_hosts(), random);
  gathering.root_rank = vectors.root_rank;
  gathering.parameters.in_switch = true;
  gathering.only = Kind::allgather;
  gathering.lengths = some_lengths(random, 6, 200'000);
  const MulticastGroup& gathers = run.add_multicasts(&first, gathering, {ReductionId{32}, 4});
  auto [setup, context] = reductions_on_tree_of(128, run.all_hosts(), random);
  setup.root_rank = vectors.root_rank;
  setup.lengths = some_lengths(random, 6, 60'000);
  const MulticastGroup& group = run.add_multicasts(&first, setup, context);
  if (random.below(2) == 0) {
    run.fabric().set_faults({.loss = 0.002, .duplicate = 0.01, .jitter_ns = microseconds(20)});
  }
  run.start();
  run.fabric().run_until([&] { return first.complete() && gathers.complete() && group.complete(); },
                         run.fabric().now() + seconds(120));
  run.finish();
  run.expect(
      first.statistics().foreign + gathers.statistics().foreign + group.statistics().foreign == 0,
      "no group gets frames of another");
  return run.report();
}

/// Switches lose all their state, and who wants a result, in the middle of it.
RunReport reductions_switch_restarts(const RunOptions& options) {
  Run run(options, two_level(3, 3));
  auto [setup, context] = reductions_on_tree_of(64, run.all_hosts(), run.random());
  setup.lengths.assign(30, 40'000);
  const MulticastGroup& group = run.add_multicasts(nullptr, setup, context);
  run.start();
  Fabric& fabric = run.fabric();
  for (int i = 0; i < 3; ++i) {
    const auto at = static_cast<SwitchIndex>(run.random().below(4));
    const TimeNs down = fabric.now() + microseconds(run.random().between(20, 3'000));
    fabric.at(down, [&fabric, at] { fabric.crash(at); });
    fabric.at(down + milliseconds(run.random().between(1, 40)),
              [&fabric, at] { fabric.restart(at); });
  }
  fabric.run_until([&] { return group.complete(); }, fabric.now() + seconds(60));
  run.finish();
  run.expect(fabric.fault_counts().of(Fault::switch_crash) > 0, "switches crashed");
  return run.report();
}

/// The tree is rerouted: each host moves at a time of its own.
RunReport reductions_reroute(const RunOptions& options) {
  Run run(options, two_level(4, 3));
  auto [setup, context] = reductions_on_tree_of(64, run.choose_hosts(8), run.random());
  setup.lengths.assign(20, 40'000);
  MulticastGroup& group = run.add_multicasts(nullptr, setup, context);
  const TreeNumber tree = run.add_tree_like(group);
  run.start();
  Fabric& fabric = run.fabric();
  for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
    const std::uint64_t in = run.random().between(microseconds(50), milliseconds(3));
    group.move(rank, fabric.now() + in, tree);
    fabric.poke(setup.hosts[rank]);
  }
  fabric.set_faults({.loss = 0.002, .jitter_ns = microseconds(10)});
  fabric.run_until([&] { return group.complete(); }, fabric.now() + seconds(120));
  run.finish();
  return run.report();
}

/// How long one call of 8 MiB takes among eight hosts on links of 10 Gb/s.
constexpr std::uint64_t timed_bytes = 8U << 20U;
std::uint64_t time_of(Run& run, Kind kind, double loss) {
  MulticastSetup setup = on_tree_of(32, run.all_hosts(), run.random());
  setup.only = kind;
  setup.lengths = {64, timed_bytes};
  setup.in_flight = 1;
  const MulticastGroup& group = run.add_multicasts(nullptr, setup, {ReductionId{16}, 4});
  Fabric& fabric = run.fabric();
  for (LinkIndex link = 0; link < fabric.topology().links().size(); ++link) {
    fabric.set_link_speed(link, 10'000);
  }
  fabric.set_faults({.loss = loss});
  run.start();
  run.complete_within(seconds(60));
  const std::uint64_t ns = elapsed_ns(group.completed_at(), group.first_completed_at());
  run.finish();
  return ns;
}

/// Both fill the links of the receivers, whose share of the bytes differs; and 1e-4 lost costs
/// little, because what follows a chunk on its way reveals it.
RunReport fill_links(const RunOptions& options) {
  constexpr double frame_share = 1024.0 / (1024 + wire::shared_header_bytes + fcs_bytes + 20);
  constexpr double least_ns = timed_bytes * 8 / frame_share / 10.0;
  Run one(options, chain(1, 8));
  const auto broadcast = static_cast<double>(time_of(one, Kind::broadcast, 0));
  Run lossy({.seed = options.seed + 1000}, chain(1, 8));
  const auto with_losses = static_cast<double>(time_of(lossy, Kind::broadcast, 1e-4));
  Run run(options, chain(1, 8));
  const auto allgather = static_cast<double>(time_of(run, Kind::allgather, 0));
  run.expect(one.report().violations.empty() && lossy.report().violations.empty(),
             "the other runs went well");
  run.expect(least_ns / broadcast >= 0.9,
             fmt::format("a broadcast has 0.9 of the link, not {:.3f}", least_ns / broadcast));
  const double share = least_ns * 7 / 8 / allgather;
  run.expect(share >= 0.9, fmt::format("an allgather has 0.9 of the link, not {:.3f}", share));
  run.expect(
      broadcast / with_losses >= 0.8,
      fmt::format("of 1e-4 lost, 0.8 of the goodput remains, not {:.3f}", broadcast / with_losses));
  return run.report();
}

constexpr std::array scenarios = {
    Scenario{"multicasts", "broadcast and allgather without faults: one frame a link", undisturbed,
             10},
    Scenario{"multicasts_beside_vectors", "multicasts and reductions share a tree", beside_vectors,
             20},
    Scenario{"multicasts_under_faults", "random fabrics, windows, chunks, faults: every byte right",
             under_faults, 60},
    Scenario{"multicasts_switch_restarts", "switches forget acknowledgements: every byte right",
             switch_restarts, 12},
    Scenario{"multicasts_reroute", "each host moves to another tree at a time of its own", reroute,
             12},
    Scenario{"multicasts_shared_late", "a switch does not copy shared frames yet", shared_late, 10},
    Scenario{"multicasts_straggler", "a member that is late costs nothing but time", straggler, 10},
    Scenario{"multicasts_dead_member", "a host dies: all others know which", dead_member, 10},
    Scenario{"multicasts_comes_back", "a host stops for seconds, and misses what is sent",
             comes_back, 12},
    Scenario{"multicasts_two_at_once", "two groups of a tree overflow the queues of its ports",
             two_at_once, 6},
    Scenario{"multicasts_hostile", "a member forges chunks and acknowledgements", hostile, 30},
    Scenario{"multicast_reductions", "results for one member: each enters one host", reductions,
             10},
    Scenario{"multicast_reductions_under_faults", "results for one member: every one right",
             reductions_under_faults, 60},
    Scenario{"multicast_reductions_beside_allgathers", "reduce-scatter and allgather on one tree",
             reductions_beside_allgathers, 20},
    Scenario{"multicast_reductions_switch_restarts", "switches forget who wants a result",
             reductions_switch_restarts, 12},
    Scenario{"multicast_reductions_reroute", "each host moves to another tree on its own time",
             reductions_reroute, 12},
    Scenario{"multicasts_fill_links", "0.9 of the link's payload rate; 0.8 of that with 1e-4 lost",
             fill_links, 2},
};

} // namespace of_multicasts

std::span<const Scenario> multicast_scenarios() { return of_multicasts::scenarios; }

} // namespace tributary::fabric
