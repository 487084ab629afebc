#include "dataplane/core/subtotal.hpp"

#include "dataplane/core/applied.hpp"
#include "dataplane/core/turn_decide.hpp"

#include <cstring>
#include <iterator>
#include <utility>

namespace tributary::core {

bool SwitchCore::summand(PortNumber in, const FrameView& view, Summand& summand) const {
  const IngressCheck& check = checks_[in.value];
  ReductionKey key;
  if (!(check.is_usual() ? check.is_reduction<true>(view, key)
                         : check.is_reduction<false>(view, key))) {
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

void SwitchCore::begin_subtotal(Subtotal& subtotal, const Summand& first) const {
  const std::byte* p = first.view.data + wire::ethernet_header_bytes;
  reduce::start(subtotal.sum, contribution_of(p, first.packed));
  subtotal.sum.contributions = 0; // `note_part` counts them
  subtotal.match = first.match;
  subtotal.signature = 0;
  subtotal.key = first.key;
  subtotal.size = 0;
  subtotal.once = {};
  subtotal.tables_version = tables_->version();
  std::memcpy(&subtotal.destination, p + wire::portals_offset::dfa, sizeof subtotal.destination);
  subtotal.first = first.view;
  note_part(subtotal, first);
}

bool SwitchCore::add_to_subtotal(Subtotal& subtotal, const Summand& summand) const {
  const reduce::Contribution contribution =
      contribution_of(summand.view.data + wire::ethernet_header_bytes, summand.packed);
  if (subtotal.size == most_grouped || !may_join(subtotal.sum, contribution) ||
      (summand.counts_once && subtotal.once.contains(summand.in))) {
    return false;
  }
  reduce::combine(subtotal.sum, contribution, settings_.nan_mode);
  note_part(subtotal, summand);
  return true;
}

void SwitchCore::note_part(Subtotal& subtotal, const Summand& summand) {
  const std::byte* p = summand.view.data + wire::ethernet_header_bytes;
  if (summand.counts_once) {
    subtotal.once.insert(summand.in);
  }
  subtotal.sum.contributions += wire::unpack(summand.packed).count;
  subtotal.signature += wire::signature_of(p);
  subtotal.last = summand.view;
  Subtotal::Part& part = subtotal.parts[subtotal.size++];
  part.frame = summand.frame;
  std::memcpy(&part.word, p + wire::reduction_offset::word, sizeof part.word);
  part.in = summand.in;
}

/// As contribute_run of process_burst.cpp: a proof in few comparisons, and only then something
/// changes.
template <bool usual, wire::Opcode op>
[[gnu::flatten]] std::size_t SwitchCore::steer_run(const SwitchCore& core, PortNumber in,
                                                   Steering& steering, SubtotalTable& table,
                                                   std::size_t first) {
  const IngressCheck& check = core.checks_[in.value];
  const Tables& tables = *core.tables_;
  const IngressCheck::Image port = check.image();
  const PlainWord plain = table.plain_;
  const ContributionCount count = plain.count();
  const bool guarded = check.guarded();
  std::uint32_t tree = max_trees; // of the frame before
  bool is_here = false;
  bool counts_once = false;
  std::size_t i = first;
  for (; i != steering.views.size(); ++i) {
    const FrameView& frame = steering.views[i];
    if (!check.may_be_reduction(frame)) [[unlikely]] {
      break;
    }
    const std::byte* p = frame.data + wire::ethernet_header_bytes;
    const std::uint64_t packed = packed_word_of(p);
    if (any_bit(port.differing(frame.data)) || plain.differing(packed) != 0 ||
        !check.passes<usual>(frame)) [[unlikely]] {
      break;
    }
    const wire::FabricAddress dfa = wire::dfa_of(p);
    const ReductionKey key(dfa.tree(), dfa.reduction());
    if (key.index() / reductions_per_tree != tree) {
      const MulticastEntry& entry = tables.tree_of_low_id(key);
      if (entry.wait_count == 0 || !entry.children.contains(in)) [[unlikely]] {
        break;
      }
      tree = key.index() / static_cast<std::uint32_t>(reductions_per_tree);
      counts_once = guarded || entry.one_behind_each;
      is_here = steering.owners[core.homes_[tree].value] == steering.self;
    }
    if (is_here) {
      steering.kept[steering.kept_count++] = static_cast<std::uint8_t>(i);
      continue;
    }
    SubtotalTable::Open& open = table.open_[SubtotalTable::place_of(key)];
    Subtotal& subtotal = open.subtotal;
    if (!open.is_open || subtotal.key != key || subtotal.match != match_word_of(p, packed) ||
        subtotal.sum.op != op || subtotal.size == most_grouped ||
        (steering.may_add >> i & 1) == 0 ||
        (counts_once && (count != 1 || subtotal.once.contains(in)))) {
      break;
    }
    reduce::Contribution contribution = contribution_of(p, packed);
    contribution.op = op;
    contribution.rc = wire::ResultCode::success;
    if (!may_group(contribution) || !may_join(subtotal.sum, contribution)) {
      break;
    }
    if (subtotal.sum.op != op) {
      __builtin_unreachable(); // or `combine` asks once more
    }
    reduce::combine(subtotal.sum, contribution, core.settings_.nan_mode);
    if (counts_once) {
      subtotal.once.insert(in);
    }
    subtotal.sum.contributions += count;
    subtotal.signature += wire::signature_of(p);
    subtotal.last = frame;
    Subtotal::Part& part = subtotal.parts[subtotal.size++];
    part.frame = steering.frames[i];
    part.in = in;
    std::memcpy(&part.word, p + wire::reduction_offset::word, sizeof part.word);
  }
  return i;
}

std::size_t SwitchCore::steer(PortNumber in, Steering& steering, SubtotalTable& table,
                              std::size_t first) const {
  using Run =
      std::size_t (*)(const SwitchCore&, PortNumber, Steering&, SubtotalTable&, std::size_t);
  static constexpr auto run = []<std::size_t... i>(std::index_sequence<i...>) {
    std::array<std::array<Run, 2>, wire::opcode_count> table{};
    ((table[static_cast<std::size_t>(wire::all_opcodes[i])] =
          may_group(wire::all_opcodes[i])
              ? std::array<Run, 2>{steer_run<false, wire::all_opcodes[i]>,
                                   steer_run<true, wire::all_opcodes[i]>}
              : std::array<Run, 2>{}),
     ...);
    return table;
  }
  (std::make_index_sequence<std::size(wire::all_opcodes)>());
  if (table.plain_.is_of_none()) {
    return first;
  }
  const bool usual = checks_[in.value].is_usual();
  return run[static_cast<std::size_t>(table.plain_.op())][usual ? 1 : 0](*this, in, steering, table,
                                                                         first);
}

bool SwitchCore::take_subtotal(const Subtotal& subtotal, Decision& decision) {
  const ReductionKey key = subtotal.key;
  if (tables_->version() != subtotal.tables_version) {
    return false;
  }
  const MulticastEntry& entry = tables_->tree_of_low_id(key);
  Descriptor& d = engines_.descriptor(key);
  const bool holds = d.match == subtotal.match;
  if (holds ? !may_add(d.accumulator, subtotal.sum) : d.match != subtotal.match.waiting()) {
    return false;
  }
  const ContributionCount total =
      subtotal.sum.contributions + (holds ? d.accumulator.contributions : 0);
  if (total > entry.wait_count) {
    return false;
  }
  if (!subtotal.once.empty()) {
    PortSet& counted = engines_.counted(key).ports;
    if ((counted.bits() & subtotal.once.bits()) != 0) {
      return false;
    }
    counted = PortSet(counted.bits() | subtotal.once.bits());
  }
  counters_->engines[entry.parent.value].contributions.add(subtotal.size);
  const Applied applied(*this);
  if (holds) {
    d.signature += subtotal.signature;
    const reduce::Contribution sum{.payload = subtotal.sum.payload,
                                   .op = subtotal.sum.op,
                                   .m = subtotal.sum.m,
                                   .overflow_id = subtotal.sum.overflow_id,
                                   .source = subtotal.sum.source};
    reduce::combine(d.accumulator, sum, settings_.nan_mode);
  } else {
    DescriptorRecord& record = engines_.record(key);
    std::memcpy(record.header.data(), subtotal.first.data, saved_frame_bytes);
    record.traffic_class = TrafficClass{subtotal.first.traffic_class};
    d.accumulator = subtotal.sum;
    d.match = subtotal.match.holding();
    d.signature = subtotal.signature;
  }
  d.accumulator.contributions = total;
  decision.set(total == entry.wait_count ? complete(applied, subtotal.last, key, entry, total)
                                         : absorbed());
  return true;
}

} // namespace tributary::core
