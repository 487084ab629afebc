// The path of a frame through the core: classify, look up, decide.
//
// A burst that begins with a reduction frame is processed in one pass, as far as it contains only
// reduction frames (`reduce_run`): contributions by their fast path, arms in a loop of their own,
// and the others by the slow path, one at a time. No result is stored between classifying and
// deciding.
//
// THE FAST PATH (`contribute_run`). Nearly all frames that a switch reduces are contributions of
// the same kind as the previous one. Whether such a frame joins the armed reduction is asked by
// `joined` of decide.hpp, as of any other; but its operand (`Plain`) knows most answers while it is
// compiled, or from the run, because these have been proven before anything changes:
//
//   the port's policy     the length is that of the run's first frame, which is valid; all other
//                         differences from a reduction frame in one vector, which must be 0
//                         (frame_image.hpp); the checksum; a list of VNIs, if there is one
//   the reduction word    operation, count, code and arm bit are those of a contribution that took
//                         the slow path and was absorbed, and is plain (frame_image.hpp)
//   the tree              the port is a child, checked again only when the tree is not that of the
//                         previous frame
//
// A frame for which any part of it fails, or that does not join, takes the slow path from its
// beginning.
//
// The loop is instantiated once per operator, with only its kernel in it. Tests compare both paths
// frame by frame for all of them, with one bit disturbed anywhere, and with each bit for some; so
// does the fuzzer, with its model.
//
// Frames from the parent have a loop, too (`arm_run`), with the same proof of the port's policy and
// the tree. What they do is in `armed_or_disarmed` of decide.hpp; arms of free descriptors are
// carried out in a row.
//
// CONSECUTIVE VECTORS have a loop of their own (wide_run.cpp), and so have frames that a tree
// without reductions copies (`copy_run`), and unicast frames (`unicast_run`).
//
// ALL OTHER FRAMES are processed in two passes, in runs of `run_length`. The first pass classifies
// by the frame's own bytes and prefetches the cache lines its destination address leads to. The
// second one decides. So the misses of up to a run of destinations overlap, and since all state
// changes in the second pass, in order, a burst has the same result as its frames one by one. After
// a unicast or a reduction frame, the first pass only checks whether the next ones are of the same
// kind, by the fast paths of classify.hpp.
//
// USUAL BURSTS: of a port whose only check beyond the comparisons is the checksum, in a switch with
// few trees, whose lines stay cached. Both are known before the burst, so all loops exist twice. On
// contributions this buys 10 % and 1 to 6 %.
//
// decide.hpp has the checks of each frame, applied.hpp the actions.

#include "dataplane/core/applied.hpp"
#include "dataplane/core/tracing.hpp"

#include "tributary/reduce/reducer.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tributary::core {
namespace {

constexpr std::size_t run_length = 32;
/// How far ahead of the first walk the frames' own bytes are fetched.
constexpr std::size_t frame_lookahead = 6;
constexpr std::size_t line_bytes = 64;

/// The two cache lines that most reduction frames occupy. By address, as a shorter frame may end
/// before the second one.
void prefetch(const FrameView& frame) {
  const auto address = reinterpret_cast<std::uintptr_t>(frame.data);
  __builtin_prefetch(reinterpret_cast<const void*>(address));
  __builtin_prefetch(reinterpret_cast<const void*>(address + line_bytes));
}

/// The same for the cache lines that a reduction frame refers to, which needs the frame's bytes.
/// With few trees these lines stay cached from burst to burst.
constexpr std::size_t line_lookahead = 3;
constexpr std::size_t most_cached_trees = 1024;

/// Whether a frame may be a reduction frame, and its key then. Cheap, and not certain.
bool may_reduce(const FrameView& frame, ReductionKey& key) {
  if (frame.length < wire::reduction_frame_bytes) {
    return false;
  }
  const wire::FabricAddress dfa = wire::dfa_of(frame.data + wire::ethernet_header_bytes);
  key = ReductionKey(dfa.tree(), dfa.reduction());
  return dfa.is_multicast();
}

/// The same bytes, hidden from the compiler's optimiser: where a rare branch reads them again, it
/// would otherwise keep them in registers all the way.
[[gnu::always_inline]] inline const std::byte* to_be_read_again(const std::byte* bytes) {
  asm("" : "+r"(bytes)); // no instruction
  return bytes;
}

/// Integer operations can only overflow, and rarely do.
constexpr bool has_seldom_a_code(wire::Opcode op) {
  const wire::Operands operands = wire::operands_of(op);
  return operands == wire::Operands::none || wire::is_integer(operands) ||
         operands == wire::Operands::integer_tuples;
}

/// Whether another plain contribution of this operation can be combined with the data held: for
/// operations that rarely set a code only while none is set, so that one comparison checks both.
template <wire::Opcode op>
[[gnu::always_inline]] inline bool may_continue(const reduce::Accumulator& held) {
  return held.op == op && (!has_seldom_a_code(op) || held.rc == wire::ResultCode::success);
}

/// A contribution like the previous ones, as an operand (`joined`): of this operation, plain, and
/// its tree is known.
template <wire::Opcode op> class Plain {
public:
  Plain(const FrameView& frame, Descriptor& d, MatchWord carried, ContributionCount count)
      : frame_(frame), d_(d), carried_(carried), count_(count) {}

  /// Read from the frame each time: mostly it is not needed.
  [[nodiscard]] ReductionKey key() const { return key_of_frame(frame_.data); }
  [[nodiscard]] ContributionCount count() const { return count_; }
  template <typename Effects> [[nodiscard]] const Descriptor& descriptor(Effects) const {
    return d_;
  }
  [[nodiscard]] bool continues(const Descriptor& d, const MulticastEntry& /*entry*/) const {
    return d.match == carried_ && may_continue<op>(d.accumulator);
  }
  [[nodiscard]] bool begins(const Descriptor& d) const { return d.match == carried_.waiting(); }
  template <typename Effects>
  [[gnu::always_inline]] ContributionCount combine(Effects effects,
                                                   const MulticastEntry& /*entry*/) const {
    const reduce::Contribution contribution = read();
    // The byte above a signature only adds to a byte that is not part of the sum.
    d_.signature += signature_and_more(frame_.data + wire::ethernet_header_bytes);
    const ContributionCount total = d_.accumulator.contributions + count_;
    d_.accumulator.contributions = total;
    // Both are known, or `combine` would check again.
    if (d_.accumulator.op != op) {
      __builtin_unreachable();
    }
    if (has_seldom_a_code(op) && d_.accumulator.rc != wire::ResultCode::success) {
      __builtin_unreachable();
    }
    reduce::combine(d_.accumulator, contribution, effects.settings().nan_mode);
    return total;
  }
  template <typename Effects>
  [[gnu::always_inline]] ContributionCount start(Effects effects,
                                                 const MulticastEntry& /*entry*/) const {
    effects.begin(key(), carried_, frame_, read(), count_);
    return count_;
  }

private:
  [[nodiscard]] [[gnu::always_inline]] reduce::Contribution read() const {
    const std::byte* const p = frame_.data + wire::ethernet_header_bytes;
    reduce::Contribution contribution = contribution_of(p, packed_word_of(p));
    contribution.op = op;
    contribution.rc = wire::ResultCode::success;
    return contribution;
  }

  const FrameView& frame_;
  Descriptor& d_;
  MatchWord carried_;
  ContributionCount count_;
};

/// The reduction word as in memory.
std::uint64_t word_bytes_of(const std::byte* portals) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, portals + wire::reduction_offset::word, sizeof bytes);
  return bytes;
}

} // namespace

/// The first pass. A function of its own, as the second is: together they need more registers than
/// there are, and each frame would pay for what the other pass keeps.
template <bool usual>
[[gnu::noinline]] void SwitchCore::classify_run(const IngressCheck& check, const Tables& tables,
                                                std::span<const FrameView> run, Classified* what) {
  const bool counts_ports = tables.counts_ports();
  const FrameView* const end = run.data() + run.size();
  const FrameView* const ahead_end = end - std::min(run.size(), frame_lookahead);
  for (const FrameView* frame = run.data(); frame != end;) {
    if (frame < ahead_end) {
      prefetch(frame[frame_lookahead]);
    }
    const Classified classified = check.classify<usual>(*frame++);
    *what++ = classified;
    if (classified.kind() == FrameKind::unicast) {
      tables.prefetch_place(classified.destination());
      for (Nid destination; frame != end && check.is_unicast<usual>(*frame, destination); ++frame) {
        if (frame < ahead_end) {
          prefetch(frame[frame_lookahead]);
        }
        *what++ = Classified::unicast(destination);
        tables.prefetch_place(destination);
      }
      continue;
    }
    if (classified.kind() == FrameKind::wide) [[unlikely]] {
      __builtin_prefetch(&tables.tree(classified.key()));
      if (classified.key().index() < tables.keys()) {
        __builtin_prefetch(&engines_.descriptor(classified.key()), 1);
      }
      continue;
    }
    ReductionKey key = classified.key();
    __builtin_prefetch(&tables.tree_of_low_id(key));
    if (classified.kind() != FrameKind::reduction) {
      // No descriptor prefetch: a descriptor that no frame has touched is not even mapped, and
      // prefetching it costs a useless walk of the page table each time.
      continue;
    }
    const auto prefetch_descriptor = [&] {
      __builtin_prefetch(&engines_.descriptor(key), 1);
      if (counts_ports) {
        __builtin_prefetch(&engines_.counted(key), 1);
      }
    };
    prefetch_descriptor();
    for (; frame != end && check.is_reduction<usual>(*frame, key); ++frame) {
      if (frame < ahead_end) {
        prefetch(frame[frame_lookahead]);
      }
      *what++ = Classified::multicast(key, true);
      __builtin_prefetch(&tables.tree_of_low_id(key));
      prefetch_descriptor();
    }
  }
}

/// The second pass, from a reduction frame on. Returns the notable places.
[[gnu::noinline]] Places SwitchCore::decide_run(PortNumber in, std::span<const FrameView> run,
                                                const Classified* what, TimeNs now,
                                                Decision* decisions) {
  const Tables& tables = *tables_;
  const bool guarded = checks_[in.value].guarded();
  Places notable;
  for (std::size_t i = 0; i < run.size();) {
    if (!what[i].may_reduce()) [[unlikely]] {
      const PlainRun plain = decide_plain_run(in, run.subspan(i), what + i, decisions + i);
      notable.insert(i, plain.notable);
      i += plain.count;
      continue;
    }
    const PackedDecision decision =
        decide(Applied(*this), tables, in, run[i], what[i], guarded, now);
    decisions[i].set(decision);
    if (is_notable(decision)) {
      notable.insert(i);
    }
    ++i;
  }
  return notable;
}

/// The part of the second pass without engines: the leading frames, up to a reduction frame. It
/// needs few registers, and in a switch that forwards other traffic it is nearly all of the pass.
[[gnu::noinline]] SwitchCore::PlainRun SwitchCore::decide_plain_run(PortNumber in,
                                                                    std::span<const FrameView> run,
                                                                    const Classified* what,
                                                                    Decision* decisions) {
  const Tables& tables = *tables_;
  Places notable;
  const FrameView* frame = run.data();
  const FrameView* const end = frame + run.size();
  for (; frame != end && !what->may_reduce(); ++frame) {
    const PackedDecision decision = decide_plain(Applied(*this), tables, in, *frame, *what++);
    decisions++->set(decision);
    if (!goes_its_way(decision)) [[unlikely]] {
      notable.insert(static_cast<std::size_t>(frame - run.data()));
    }
  }
  return {static_cast<std::size_t>(frame - run.data()), notable};
}

/// Leading contributions of one operation and one count; returns their number, and which completed
/// something. This is the fast path: it checks in few comparisons whether the frame joins the armed
/// reduction, and only then changes state. All other frames are left unchanged.
template <bool usual, wire::Opcode op>
[[gnu::flatten]] SwitchCore::Run SwitchCore::contribute_run(SwitchCore& core, PortNumber in,
                                                            std::span<const FrameView> run,
                                                            Decision* decisions) {
  const IngressCheck& check = core.checks_[in.value];
  const std::uint32_t length = run.front().length;
  const IngressCheck::Image port = check.image();
  const Tables& tables = *core.tables_;
  Descriptor* const descriptors = core.engines_.descriptors();
  const PlainWord plain = core.plain_;
  const ContributionCount count = plain.count();
  PortSet from;
  from.insert(in);
  // The previous frame's tree: none to begin with.
  TreeImage tree(port.middle, FrameImage::middle(run.front().data));
  const MulticastEntry* entry = nullptr;
  Descriptor* of_tree = nullptr;
  bool one_endpoint = false;
  ContributionCount wait_count = 0;
  PortNumber engine = no_port;
  const FrameView* const end = run.data() + run.size();
  const FrameView* const ahead_end = end - std::min(run.size(), frame_lookahead);
  const FrameView* const lines_end = end - std::min(run.size(), line_lookahead);
  const FrameView* counted = run.data(); // the frames before it are counted, by engine
  const FrameView* frame = counted;
  Places others;
  const auto count_them = [&] {
    if (frame != counted) {
      core.counters_->engines[engine.value].contributions.add(
          static_cast<std::uint64_t>(frame - counted));
      counted = frame;
    }
  };
  for (; frame != end; ++frame, ++decisions) {
    if (frame < ahead_end) {
      prefetch(frame[frame_lookahead]);
    }
    if (ReductionKey ahead;
        !usual && frame < lines_end && may_reduce(frame[line_lookahead], ahead)) {
      __builtin_prefetch(&tables.tree_of_low_id(ahead));
      __builtin_prefetch(&descriptors[ahead.index()], 1);
    }
    if (frame->length != length) [[unlikely]] {
      break;
    }
    std::byte* const data = frame->data;
    const FrameImage::Words tail = plain.differing(data, op);
    const Octets head_and_word =
        port.head.differing(FrameImage::head(data)) | (Octets)(tail & PlainWord::word_mask());
    if (any_bit(head_and_word | tree.differing(FrameImage::middle(data)))) [[unlikely]] {
      const std::byte* const again = to_be_read_again(data);
      const Octets middle = FrameImage::middle(again);
      if (any_bit(head_and_word | port.middle.differing(middle))) {
        break;
      }
      const ReductionKey key = key_of_frame(again);
      const MulticastEntry& its = tables.tree_of_low_id(key);
      if ((its.children.bits() & from.bits()) == 0 || !core.owners_.has(key.tree())) {
        break;
      }
      tree.change_to_tree_of(middle);
      entry = &its;
      of_tree = &descriptors[ReductionKey(key.tree(), ReductionId{0}).index()];
      one_endpoint = its.has_one_endpoint(check.guarded());
      wait_count = its.wait_count;
      if (its.parent != engine) {
        count_them();
        engine = its.parent;
      }
    }
    if (!check.passes<usual>(FrameView{data, length})) [[unlikely]] {
      break;
    }
    const Plain<op> operand(*frame, IdOfFrame(data).descriptor(of_tree),
                            MatchWord::of_differing_bytes(tail[0]), count);
    const ContributionCount total = joined(Applied(core), operand, *entry, one_endpoint, from);
    if (total == 0) [[unlikely]] {
      break;
    }
    if (total >= wait_count) [[unlikely]] {
      const PackedDecision decision = complete(Applied(core), *frame, operand.key(), *entry, total);
      decisions->set(decision);
      // A discarded result that lacks the root's contribution is no more visible than an absorbed
      // frame.
      if (!is_contribution(decision)) {
        others.insert(static_cast<std::size_t>(frame - run.data()));
      }
    } else {
      decisions->set_rest(absorbed());
    }
  }
  count_them();
  return {static_cast<std::size_t>(frame - run.data()), others};
}

/// Leading reduction frames from the parent, mostly arms; returns their number. Arms of free
/// descriptors are carried out in a row.
template <bool usual>
[[gnu::noinline, gnu::flatten]] std::size_t SwitchCore::arm_run(PortNumber in,
                                                                std::span<const FrameView> run,
                                                                TimeNs now, Decision* decisions) {
  const IngressCheck& check = checks_[in.value];
  const std::uint32_t length = run.front().length;
  const IngressCheck::Image port = check.image();
  const Tables& tables = *tables_;
  const Descriptor* const descriptors = engines_.descriptors();
  TreeImage tree(port.middle, FrameImage::middle(run.front().data));
  const MulticastEntry* entry = nullptr;
  ReductionKey first_of_tree;
  ReductionEngines::Arms arms(engines_);
  const FrameView* const end = run.data() + run.size();
  const FrameView* const ahead_end = end - std::min(run.size(), frame_lookahead);
  const FrameView* const lines_end = end - std::min(run.size(), line_lookahead);
  const FrameView* frame = run.data();
  for (; frame != end; ++frame, ++decisions) {
    if (frame < ahead_end) {
      prefetch(frame[frame_lookahead]);
    }
    if (ReductionKey ahead;
        !usual && frame < lines_end && may_reduce(frame[line_lookahead], ahead)) {
      __builtin_prefetch(&tables.tree_of_low_id(ahead));
      __builtin_prefetch(&descriptors[ahead.index()], 1);
      engines_.deadlines().prefetch(ahead);
    }
    if (frame->length != length) [[unlikely]] {
      break;
    }
    std::byte* const data = frame->data;
    const Octets head = port.head.differing(FrameImage::head(data));
    const Octets middle = FrameImage::middle(data);
    if (any_bit(head | tree.differing(middle))) [[unlikely]] {
      if (any_bit(head | port.middle.differing(middle))) {
        break;
      }
      const ReductionKey key = key_of_frame(data);
      const MulticastEntry& its = tables.tree_of_low_id(key);
      if (its.parent != in || its.wait_count == 0 || !owners_.has(key.tree())) {
        break;
      }
      arms.finish();
      tree.change_to_tree_of(middle);
      entry = &its;
      first_of_tree = ReductionKey(key.tree(), ReductionId{0});
    }
    if (!check.passes<usual>(FrameView{data, length})) [[unlikely]] {
      break;
    }
    const ReductionKey key = ReductionKey::from_index(
        static_cast<std::uint32_t>(first_of_tree.index()) + IdOfFrame(data).value());
    if (entry->in_switch) [[unlikely]] {
      decisions->set(downward(Applied(*this), *frame, key, *entry, now));
    } else {
      const std::uint64_t bytes = FrameImage::match_bytes(data);
      decisions->set(armed_or_disarmed(AppliedInRow(*this, arms), *frame, key, *entry,
                                       MatchWord::waiting_for(bytes), MatchWord::arms(bytes), now));
    }
  }
  arms.finish();
  return static_cast<std::size_t>(frame - run.data());
}

/// One reduction frame by the slow path. The next ones may be alike.
[[gnu::noinline]] PackedDecision SwitchCore::decide_reduction(PortNumber in, const FrameView& frame,
                                                              Classified what, TimeNs now) {
  const std::uint64_t packed = packed_word_of(frame.data + wire::ethernet_header_bytes);
  const PackedDecision decision =
      decide(Applied(*this), *tables_, in, frame, what, checks_[in.value].guarded(), now);
  if (decision.action() == Action::absorb && plain_.differing(packed) != 0) {
    plain_ = PlainWord::of(packed);
  }
  return decision;
}

/// The leading frames, as far as they are reduction frames of 84 bytes.
template <bool usual>
[[gnu::noinline]] SwitchCore::Run SwitchCore::reduce_run(PortNumber in,
                                                         std::span<const FrameView> run, TimeNs now,
                                                         Decision* decisions) {
  using Contribute = Run (*)(SwitchCore&, PortNumber, std::span<const FrameView>, Decision*);
  static constexpr auto contribute = []<std::size_t... i>(std::index_sequence<i...>) {
    std::array<Contribute, wire::opcode_count> table{};
    ((table[static_cast<std::size_t>(wire::all_opcodes[i])] =
          contribute_run<usual, wire::all_opcodes[i]>),
     ...);
    return table;
  }
  (std::make_index_sequence<std::size(wire::all_opcodes)>());

  const IngressCheck& check = checks_[in.value];
  const Tables& tables = *tables_;
  Run taken;
  std::size_t& done = taken.count;
  while (done != run.size() && check.may_be_reduction(run[done])) {
    // A frame of which nothing has been proven yet.
    const FrameView& frame = run[done];
    const std::uint64_t word = word_bytes_of(frame.data + wire::ethernet_header_bytes);
    Run more;
    if (tables.tree_of_low_id(key_of_frame(frame.data)).parent == in) {
      more.count = arm_run<usual>(in, run.subspan(done), now, decisions + done);
      more.others = Places::first(more.count);
    } else if (!plain_.is_of_none() && plain_.differing_bytes(word) == 0) {
      more = contribute[static_cast<std::size_t>(plain_.op())](*this, in, run.subspan(done),
                                                               decisions + done);
    }
    if (more.count == 0) {
      ReductionKey key;
      if (!check.is_reduction<usual>(frame, key) || tables.tree_of_low_id(key).wait_count == 0 ||
          !owners_.has(key.tree())) {
        break;
      }
      const PackedDecision decision =
          decide_reduction(in, frame, Classified::multicast(key, true), now);
      decisions[done].set(decision);
      more.count = 1;
      if (!is_contribution(decision)) {
        more.others.insert(0);
      }
    }
    taken.others.insert(done, more.others);
    done += more.count;
  }
  return taken;
}

/// Leading frames from the parent of a tree without reductions, which ignores their ids; returns
/// their number.
template <bool usual>
[[gnu::noinline]] std::size_t SwitchCore::copy_run(PortNumber in, const MulticastEntry& entry,
                                                   std::span<const FrameView> run,
                                                   Decision* decisions) {
  const IngressCheck& check = checks_[in.value];
  constexpr std::uint32_t ids =
      wire::FabricAddress::multicast({}, ReductionId{most_reductions_per_tree - 1}).value ^
      wire::FabricAddress::multicast({}, {}).value;
  const wire::FabricAddress to = dfa_of_frame(run.front().data);
  const ReductionKey key(to.tree(), to.reduction());
  const FrameView* const end = run.data() + run.size();
  const FrameView* const ahead_end = end - std::min(run.size(), frame_lookahead);
  const FrameView* frame = run.data();
  for (; frame != end; ++frame, ++decisions) {
    if (frame < ahead_end) {
      prefetch(frame[frame_lookahead]);
    }
    wire::FabricAddress destination;
    if (!check.passes_to<usual>(*frame, destination) ||
        ((destination.value ^ to.value) & ~ids) != 0) [[unlikely]] {
      break;
    }
    decisions->set(copied(Applied(*this), *frame, key, entry));
  }
  return static_cast<std::size_t>(frame - run.data());
}

/// Leading unicast frames.
template <bool usual>
[[gnu::noinline]] SwitchCore::PlainRun
SwitchCore::unicast_run(PortNumber in, std::span<const FrameView> run, Decision* decisions) {
  const IngressCheck& check = checks_[in.value];
  const Tables& tables = *tables_;
  PortSet free = up_;
  free.erase(in);
  Places notable;
  const FrameView* const end = run.data() + run.size();
  const FrameView* const ahead_end = end - std::min(run.size(), frame_lookahead);
  const FrameView* frame = run.data();
  for (; frame != end; ++frame, ++decisions) {
    if (frame < ahead_end) {
      prefetch(frame[frame_lookahead]);
    }
    Nid destination;
    if (!check.is_unicast<usual>(*frame, destination)) [[unlikely]] {
      break;
    }
    if (const Place place = tables.place(destination); leaves_by_port(place, free)) [[likely]] {
      decisions->set_rest(forwarded(place.port(), Event::unicast, frame->traffic_class));
      continue;
    }
    const PackedDecision decision = unicast(Applied(*this), tables, in, *frame, destination);
    decisions->set_rest(decision);
    if (!goes_its_way(decision)) [[unlikely]] {
      notable.insert(static_cast<std::size_t>(frame - run.data()));
    }
  }
  return {static_cast<std::size_t>(frame - run.data()), notable};
}

/// The leading frames, as far as one of the loops above takes them. Returns their number, and adds
/// them to the outcome of the burst, in which they begin at `first`.
template <bool usual>
std::size_t SwitchCore::leading_run(PortNumber in, std::span<const FrameView> run, TimeNs now,
                                    Decision* decisions, std::size_t first, BurstOutcome& outcome) {
  const FrameView& frame = run.front();
  if (frame.length < shortest_frame_bytes) {
    return 0;
  }
  const wire::FabricAddress to = dfa_of_frame(frame.data);
  std::size_t count = 0;
  if (!IngressCheck::is_for_tree(to)) {
    const PlainRun unicast = unicast_run<usual>(in, run, decisions);
    count = unicast.count;
    outcome.notable.insert(first, unicast.notable);
  } else if (const MulticastEntry& entry = tables_->tree(to.tree()); entry.wait_count == 0) {
    count = entry.parent == in && owners_.has(to.tree())
                ? copy_run<usual>(in, entry, run, decisions)
                : 0;
  } else {
    Run reduced = reduce_run<usual>(in, run, now, decisions);
    if (reduced.count == 0) {
      reduced = wide_run<usual>(in, run, now, decisions);
    }
    outcome.notable.insert(first, reduced.others);
    outcome.others.insert(first, reduced.others);
    return reduced.count;
  }
  outcome.others.insert(first, Places::first(count));
  return count;
}

/// A single frame needs no prefetching, and pays for the work done once per burst.
[[gnu::noinline]] PackedDecision SwitchCore::decide_one(PortNumber in, const FrameView& frame,
                                                        TimeNs now) {
  const IngressCheck& check = checks_[in.value];
  const Classified what = check.classify(frame);
  return decide(Applied(*this), *tables_, in, frame, what, check.guarded(), now);
}

template <bool usual>
BurstOutcome SwitchCore::process_several(PortNumber in, std::span<const FrameView> frames,
                                         TimeNs now, std::span<Decision> decisions) {
  const IngressCheck& check = checks_[in.value];
  std::array<Classified, run_length> what;
  BurstOutcome outcome;
  for (std::size_t done = 0; done != frames.size();) {
    const auto run = frames.subspan(done, std::min(run_length, frames.size() - done));
    Decision* const decision = &decisions[done];
    if (const std::size_t count = leading_run<usual>(in, run, now, decision, done, outcome);
        count != 0) {
      done += count;
      continue;
    }
    classify_run<usual>(check, *tables_, run, what.data());
    const PlainRun plain = decide_plain_run(in, run, what.data(), decision);
    outcome.notable.insert(done, plain.notable);
    if (const std::size_t rest = plain.count; rest != run.size()) {
      outcome.notable.insert(
          done + rest, decide_run(in, run.subspan(rest), what.data() + rest, now, decision + rest));
    }
    outcome.others.insert(done, Places::first(run.size()));
    done += run.size();
  }
  return outcome;
}

BurstOutcome SwitchCore::process_burst(PortNumber in, std::span<const FrameView> frames, TimeNs now,
                                       std::span<Decision> decisions) {
  now_ = now;
  if (frames.size() == 1) {
    const PackedDecision decision = decide_one(in, frames.front(), now);
    decisions.front().set(decision);
    return {.notable = Places::first(is_notable(decision) ? 1 : 0), .others = Places::all()};
  }
  const bool usual =
      checks_[in.value].has_default_policy() && tables_->tree_count() <= most_cached_trees;
  return usual ? process_several<true>(in, frames, now, decisions)
               : process_several<false>(in, frames, now, decisions);
}

} // namespace tributary::core
