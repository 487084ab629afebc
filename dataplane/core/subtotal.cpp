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

namespace {

/// Member by member, as it was written a moment ago: a wider load would wait for those stores.
void copy_view(FrameView& to, const FrameView& from) {
  to.data = from.data;
  to.length = from.length;
  to.traffic_class = from.traffic_class;
}

/// Behind the frames that it has.
void append(Subtotal& subtotal, const FrameView& view, void* frame, PortNumber in) {
  copy_view(subtotal.last, view);
  subtotal.last_frame = frame;
  subtotal.last_in = in;
  subtotal.in[subtotal.size] = in;
  subtotal.frames[subtotal.size++] = frame;
}

} // namespace

/// Whatever it was before. Of a contribution that may be grouped.
[[gnu::always_inline]] inline void
SwitchCore::begin_subtotal(Subtotal& subtotal, ReductionKey key, MatchWord match,
                           const reduce::Contribution& contribution, ContributionCount count,
                           const FrameView& view) const {
  reduce::start(subtotal.sum, contribution);
  subtotal.sum.contributions = count;
  subtotal.match = match;
  subtotal.signature = wire::signature_of(view.data + wire::ethernet_header_bytes);
  subtotal.key = key;
  subtotal.size = 0;
  subtotal.once = {};
  subtotal.tables_version = tables_->version();
  copy_view(subtotal.first, view);
}

void SwitchCore::begin_subtotal(Subtotal& subtotal, const Summand& first) const {
  begin_subtotal(subtotal, first.key, first.match,
                 contribution_of(first.view.data + wire::ethernet_header_bytes, first.packed),
                 wire::unpack(first.packed).count, first.view);
  if (first.counts_once) {
    subtotal.once.insert(first.in);
  }
  append(subtotal, first.view, first.frame, first.in);
}

bool SwitchCore::add_to_subtotal(Subtotal& subtotal, const Summand& summand) const {
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
  subtotal.signature += wire::signature_of(p);
  append(subtotal, summand.view, summand.frame, summand.in);
  return true;
}

/// As contribute_run of process_burst.cpp: a proof in few comparisons, and only then something
/// changes. A frame that says it is of a tree whose engine is here needs none: whatever it is, it
/// is processed here.
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
  const std::size_t end = steering.views.size();
  std::uint32_t tree = max_trees; // of the frame before
  std::uint32_t owner = 0;
  bool counts_once = false;
  std::size_t i = first;
  for (; i != end; ++i) {
    const FrameView& frame = steering.views[i];
    if (!check.may_be_reduction(frame)) [[unlikely]] {
      break;
    }
    const std::byte* p = frame.data + wire::ethernet_header_bytes;
    const wire::FabricAddress dfa = wire::dfa_of(p);
    const ReductionKey key(dfa.tree(), dfa.reduction());
    if (key.index() / reductions_per_tree != tree) {
      const MulticastEntry& entry = tables.tree_of_low_id(key);
      if (entry.wait_count == 0 || !entry.children.contains(in)) [[unlikely]] {
        break;
      }
      tree = key.index() / static_cast<std::uint32_t>(reductions_per_tree);
      counts_once = guarded || entry.one_behind_each;
      owner = steering.owners[core.homes_[tree].value];
    }
    if (owner == steering.self) {
      steering.kept[steering.kept_count++] = static_cast<std::uint8_t>(i);
      continue;
    }
    const std::uint64_t packed = packed_word_of(p);
    if (any_bit(port.differing(frame.data)) || plain.differing(packed) != 0 ||
        !check.passes<usual>(frame) || (steering.may_add >> i & 1) == 0 ||
        (counts_once && count != 1)) [[unlikely]] {
      break;
    }
    const std::size_t place = SubtotalTable::place_of(key);
    Subtotal& subtotal = table.open_[place];
    const MatchWord match = MatchWord::of_frame_bytes(FrameImage::match_bytes(frame.data), op);
    reduce::Contribution contribution = contribution_of(p, packed);
    contribution.op = op;
    contribution.rc = wire::ResultCode::success;
    if (!may_group(contribution)) [[unlikely]] {
      break;
    }
    if (subtotal.size != 0) [[likely]] {
      if (subtotal.key != key || subtotal.match != match || subtotal.sum.op != op ||
          subtotal.size == most_grouped || (counts_once && subtotal.once.contains(in)) ||
          !may_join(subtotal.sum, contribution)) [[unlikely]] {
        break;
      }
      if (subtotal.sum.op != op) {
        __builtin_unreachable(); // or `combine` asks once more
      }
      reduce::combine(subtotal.sum, contribution, core.settings_.nan_mode);
      subtotal.sum.contributions += count;
      subtotal.signature += wire::signature_of(p);
    } else {
      core.begin_subtotal(subtotal, key, match, contribution, count, frame);
      table.opened(place, owner);
    }
    if (counts_once) {
      subtotal.once.insert(in);
    }
    append(subtotal, frame, steering.frame(i), in);
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
