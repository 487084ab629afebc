// What an engine sends when a reduction is over, and what is left of it then.
#pragma once

#include "dataplane/core/engine.hpp"
#include "tributary/reduce/accumulator.hpp"
#include "tributary/wire/reduction.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tributary::core {

inline void ReductionEngines::write_headers(const Descriptor& d, const DescriptorRecord& record,
                                            ContributionCount wait_count, std::byte* frame) {
  const reduce::Accumulator& a = d.accumulator;
  const MatchWord match = d.match; // of which the frame's bytes could be a part
  wire::ResultCode rc = a.result_code();
  if (a.contributions > wait_count) [[unlikely]] {
    rc = wire::worse(rc, wire::ResultCode::contr_overflow);
  }
  std::memcpy(frame, record.header.data(), saved_frame_bytes);
  std::byte* p = frame + wire::ethernet_header_bytes;
  wire::store_signature(p, d.signature);
  wire::store_be<std::uint32_t>(p + wire::reduction_offset::cookie, match.cookie().value);
  wire::store_word(p, {.seqno = match.sequence(),
                       .arm = false,
                       .op = static_cast<std::uint8_t>(a.op),
                       .count = std::min(a.contributions, max_contributions),
                       .resno = match.sequence(),
                       .rc = static_cast<std::uint8_t>(rc),
                       .m = a.m,
                       .overflow_id = a.overflow_id,
                       .pad = 0});
}

/// Results of full reductions of one tree behind one another, and nothing else is done before the
/// last one: what they have in common is written once, at the end.
class ReductionEngines::Results {
public:
  Results(ReductionEngines& engines, TreeNumber tree, const MulticastEntry& entry)
      : engines_(&engines), tree_(tree), parent_(entry.parent), has_place_(entry.has_place()),
        wait_count_(entry.wait_count) {}
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;
  ~Results() {
    EngineCounters& counted = engines_->counters_->engines[parent_.value];
    counted.full.add(count_);
    counted.overflows.add(overflows_);
    engines_->counters_->trees[tree_.value].full.add(count_);
    engines_->in_use_[parent_.value] -= has_place_ ? 0 : static_cast<std::uint32_t>(count_);
  }

  /// The reduction is over, and this frame, of 94 bytes, becomes its result: as `write_result` and
  /// `end` do. Requires that it holds no vector.
  void write(Descriptor& d, std::byte* frame) {
    // Asked for once: the frame's bytes could be a part of all that is written in between.
    DescriptorRecord& record = engines_->record_of(d);
    const SequenceNumber sequence = d.match.sequence();
    if (d.accumulator.contributions > wait_count_) [[unlikely]] {
      ++overflows_;
    }
    write_headers(d, record, wait_count_, frame);
    wire::store_payload(frame + wire::ethernet_header_bytes, d.accumulator.payload);
    record.ended = sequence;
    record.has_ended = true;
    d.match = {};
    d.accumulator.contributions = 0;
    engines_->deadlines_.stop(engines_->key_of(d));
    ++count_;
  }

private:
  ReductionEngines* engines_;
  TreeNumber tree_;
  PortNumber parent_;
  bool has_place_;
  ContributionCount wait_count_;
  std::size_t count_ = 0;
  std::size_t overflows_ = 0;
};

} // namespace tributary::core
