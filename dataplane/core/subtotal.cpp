#include "dataplane/core/subtotal.hpp"

#include "dataplane/core/applied.hpp"
#include "dataplane/core/in_switch_decide.hpp"

#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

namespace tributary::core {

bool SwitchCore::summand(PortNumber in, const FrameView& view, Summand& summand) const {
  const IngressCheck& check = checks_[in.value];
  ReductionKey key;
  if (!check.is_reduction(view, key)) {
    return false;
  }
  const std::byte* p = view.data + wire::ethernet_header_bytes;
  const std::uint64_t packed = packed_word_of(p);
  const wire::ReductionWord word = wire::unpack(packed);
  if (word.arm || word.count == 0 || word.rc != 0 || !wire::is_supported(word.op) ||
      !may_group(word.opcode())) {
    return false;
  }
  summand.key = key;
  const MulticastEntry& entry = tables_->tree_of_low_id(summand.key);
  summand.counts_once = check.guarded() || entry.one_behind_each;
  if (entry.wait_count == 0 || !entry.children.contains(in) ||
      (summand.counts_once && word.count != 1) || !may_group(contribution_of(p, packed))) {
    return false;
  }
  summand.in = in;
  summand.view = view;
  summand.packed = packed;
  summand.match = match_word_of(p, packed);
  return true;
}

namespace {

/// Bits of a DFA that differ between trees, and position of the reduction's id.
constexpr std::uint32_t tree_bits =
    wire::FabricAddress::multicast(TreeNumber{max_trees - 1}, {}).value ^
    wire::FabricAddress::multicast(TreeNumber{0}, {}).value;
constexpr int id_shift = std::countr_zero(wire::FabricAddress::multicast({}, ReductionId{1}).value ^
                                          wire::FabricAddress::multicast({}, ReductionId{0}).value);

void add_words(wire::Payload& sum, const wire::Payload& words) {
  reduce::for_each_pair(sum, words, [](reduce::LanePair a, reduce::LanePair b) { return a + b; });
}

/// One more contribution of this operation. A sum cannot wrap if each of its parts may be grouped
/// (grouping.hpp), so that is not checked.
template <wire::Opcode op>
[[gnu::always_inline]] inline void
join(reduce::Accumulator& sum, const reduce::Contribution& contribution, reduce::NanMode mode) {
  constexpr wire::Operator row = wire::operator_of(op);
  if constexpr (row.operands == wire::Operands::integers && row.order == wire::Order::bounded) {
    reduce::for_each_pair(sum.payload, contribution.payload,
                          [](reduce::LanePair a, reduce::LanePair b) {
                            reduce::LanePair never{};
                            return reduce::Kernel<op>::Function::combine(a, b, never);
                          });
  } else {
    if (sum.op != op) {
      __builtin_unreachable(); // otherwise `combine` would check again
    }
    reduce::combine(sum, contribution, mode);
  }
}

} // namespace

/// Overwrites it with a contribution that may be grouped.
[[gnu::always_inline]] inline void
SwitchCore::begin_subtotal(OpenSubtotal& subtotal, ReductionKey key, MatchWord match,
                           const reduce::Contribution& contribution, ContributionCount count,
                           const FrameView& view) const {
  reduce::start(subtotal.sum, contribution);
  subtotal.sum.contributions = count;
  subtotal.match = match;
  subtotal.signature = signature_and_more(view.data + wire::ethernet_header_bytes);
  subtotal.key = key;
  subtotal.size = 0;
  subtotal.once = {};
  copy_view(subtotal.first, view);
}

void SwitchCore::begin_subtotal(OpenSubtotal& subtotal, const Summand& first) const {
  begin_subtotal(subtotal, first.key, first.match,
                 contribution_of(first.view.data + wire::ethernet_header_bytes, first.packed),
                 wire::unpack(first.packed).count, first.view);
  if (first.counts_once) {
    subtotal.once.insert(first.in);
  }
  subtotal.append(first.frame, first.in);
}

bool SwitchCore::add_to_subtotal(OpenSubtotal& subtotal, const Summand& summand) const {
  const std::byte* p = summand.view.data + wire::ethernet_header_bytes;
  const reduce::Contribution contribution = contribution_of(p, summand.packed);
  if (subtotal.size == most_grouped || !may_join(subtotal.sum, contribution) ||
      (summand.counts_once && subtotal.once.contains(summand.in))) {
    return false;
  }
  reduce::combine(subtotal.sum, contribution, settings_.nan_mode);
  if (summand.counts_once) {
    subtotal.once.insert(summand.in);
  }
  subtotal.sum.contributions += wire::unpack(summand.packed).count;
  subtotal.signature += signature_and_more(p);
  subtotal.append(summand.frame, summand.in);
  return true;
}

/// As contribute_run of process_burst.cpp: a proof in few comparisons, before any state changes. A
/// frame whose destination is a tree with its engine here needs none: whatever it is, it is
/// processed here.
template <wire::Opcode op>
[[gnu::flatten]] std::size_t SwitchCore::steer_run(const SwitchCore& core, PortNumber in,
                                                   Steering& steering, SubtotalTable& table,
                                                   std::size_t first) {
  const IngressCheck& check = core.checks_[in.value];
  FrameView* const views = steering.views.data();
  std::byte* const frames = steering.frames;
  const std::uint32_t may_add = steering.may_add;
  const std::size_t end = steering.views.size();
  if (first == end || !check.may_be_reduction(views[first])) {
    return first;
  }
  const std::uint32_t length = views[first].length;
  const IngressCheck::Image port = check.image();
  const Tables& tables = *core.tables_;
  const PlainWord plain = table.plain_;
  const ContributionCount count = plain.count();
  const reduce::NanMode mode = core.settings_.nan_mode;
  PortSet from;
  from.insert(in);
  // The previous frame's tree: none to begin with.
  std::uint32_t before = ~wire::dfa_of(views[first].data + wire::ethernet_header_bytes).value;
  bool is_own = false;
  bool counts_once = false;
  OpenSubtotal* row = nullptr;
  std::size_t kept = steering.kept;
  std::size_t i = first;
  for (; i != end; ++i) {
    const FrameView& frame = views[i];
    if (frame.length != length) [[unlikely]] {
      break;
    }
    const std::byte* const data = frame.data;
    const std::byte* const p = data + wire::ethernet_header_bytes;
    const wire::FabricAddress dfa = wire::dfa_of(p);
    if (((dfa.value ^ before) & tree_bits) != 0) [[unlikely]] {
      const TreeNumber tree = dfa.tree();
      const MulticastEntry& entry = tables.tree_of_low_id(ReductionKey(tree, {}));
      if (entry.wait_count == 0) { // it has no home then
        break;
      }
      const std::uint32_t owner = steering.owners[core.homes_[tree.value].value];
      is_own = owner == steering.self;
      if ((entry.children.bits() & from.bits()) == 0 && !(is_own && entry.parent == in)) {
        break;
      }
      if (!is_own) {
        counts_once = check.guarded() | entry.one_behind_each;
        if ((counts_once && count != 1) || !table.may_take_row(tree)) {
          break;
        }
        table.take_row(tree, owner);
        row = table.row(tree);
      }
      before = dfa.value;
    }
    if (is_own) {
      move_frame(views, frames, i, kept++);
      continue;
    }
    const std::uint64_t packed = packed_word_of(p);
    if (any_bit(port.differing(data)) || plain.differing(packed) != 0 || !check.passes(frame) ||
        (may_add >> i & 1) == 0) [[unlikely]] {
      break;
    }
    reduce::Contribution contribution = contribution_of(p, packed);
    contribution.op = op;
    contribution.rc = wire::ResultCode::success;
    if (!may_group(contribution)) [[unlikely]] {
      break;
    }
    OpenSubtotal& subtotal = row[dfa.value >> id_shift & (reductions_per_tree - 1)];
    const MatchWord match = MatchWord::of_frame_bytes(FrameImage::match_bytes(data), op);
    if (subtotal.match == match) [[likely]] {
      if (subtotal.sum.op != op || subtotal.size == most_grouped ||
          (counts_once && (subtotal.once.bits() & from.bits()) != 0) ||
          !may_join(subtotal.sum, contribution)) [[unlikely]] {
        break;
      }
      join<op>(subtotal.sum, contribution, mode);
      subtotal.sum.contributions += count;
      subtotal.signature += signature_and_more(p);
    } else {
      if (subtotal.size != 0) [[unlikely]] {
        break;
      }
      core.begin_subtotal(subtotal, ReductionKey(dfa.tree(), dfa.reduction()), match, contribution,
                          count, frame);
      table.opened(subtotal);
    }
    if (counts_once) {
      subtotal.once = PortSet(subtotal.once.bits() | from.bits());
    }
    subtotal.append(frame_at(frames, i), in);
  }
  steering.kept = kept;
  return i;
}

std::size_t SwitchCore::steer(PortNumber in, Steering& steering, SubtotalTable& table,
                              std::size_t first) const {
  using SteerRun =
      std::size_t (*)(const SwitchCore&, PortNumber, Steering&, SubtotalTable&, std::size_t);
  static constexpr auto run = []<std::size_t... i>(std::index_sequence<i...>) {
    std::array<SteerRun, wire::opcode_count> made{};
    ((made[static_cast<std::size_t>(wire::all_opcodes[i])] =
          may_group(wire::all_opcodes[i]) ? steer_run<wire::all_opcodes[i]> : nullptr),
     ...);
    return made;
  }
  (std::make_index_sequence<std::size(wire::all_opcodes)>());
  if (table.plain_.is_of_none()) {
    return first;
  }
  return run[static_cast<std::size_t>(table.plain_.op())](*this, in, steering, table, first);
}

bool SwitchCore::take_subtotal(const Subtotal& subtotal, std::uint32_t tables_version,
                               const FrameView& result, Decision& decision) {
  const ReductionKey key = subtotal.key();
  if (static_cast<std::uint32_t>(tables_->version()) != tables_version) {
    return false;
  }
  const MulticastEntry& entry = tables_->tree_of_low_id(key);
  Descriptor& d = engines_.descriptor(key);
  const bool holds = d.match == subtotal.match();
  const reduce::Contribution sum{.payload = subtotal.payload(),
                                 .op = subtotal.op(),
                                 .m = subtotal.m(),
                                 .overflow_id = subtotal.overflow_id(),
                                 .source = d.accumulator.source};
  if (holds ? !may_add(d.accumulator, sum) : d.match != subtotal.match().waiting()) {
    return false;
  }
  const ContributionCount total =
      subtotal.contributions() + (holds ? d.accumulator.contributions : 0);
  if (total > entry.wait_count) {
    return false;
  }
  if (const PortSet once = subtotal.once(); !once.empty()) {
    PortSet& counted = engines_.counted(key).ports;
    if ((counted.bits() & once.bits()) != 0) {
      return false;
    }
    counted = PortSet(counted.bits() | once.bits());
  }
  counters_->engines[entry.parent.value].contributions.add(subtotal.size());
  const Applied applied(*this);
  if (holds) {
    d.signature += subtotal.signature();
    if (sum.op == wire::Opcode::int_sum) {
      add_words(d.accumulator.payload, sum.payload);
    } else {
      reduce::combine(d.accumulator, sum, settings_.nan_mode);
    }
  } else {
    const FrameView& first = subtotal.first();
    DescriptorRecord& record = engines_.record(key);
    std::memcpy(record.header.data(), first.data, saved_frame_bytes);
    record.traffic_class = TrafficClass{first.traffic_class};
    d.accumulator = {.payload = sum.payload,
                     .op = sum.op,
                     .m = sum.m,
                     .overflow_id = sum.overflow_id,
                     .signalling_lanes = subtotal.signalling_lanes(),
                     .source = wire::sfa_of(first.data + wire::ethernet_header_bytes)};
    d.match = subtotal.match().holding();
    d.signature = subtotal.signature();
  }
  d.accumulator.contributions = total;
  decision.set(total == entry.wait_count ? complete(applied, result, key, entry, total)
                                         : absorbed());
  return true;
}

} // namespace tributary::core
