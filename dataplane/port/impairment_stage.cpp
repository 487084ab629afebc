#include "dataplane/port/impairment_stage.hpp"

#include "dataplane/port/mbuf_ownership.hpp"

#include <algorithm>

#include <rte_mbuf.h>

namespace tributary::dataplane {

ImpairmentStage::ImpairmentStage(const config::Impairment& impairment, std::uint64_t seed,
                                 rte_mempool* pool)
    : impairer_(impairment, seed), pool_(pool) {
  held_.reserve(capacity);
}

ImpairmentStage::~ImpairmentStage() {
  for (const Held& h : held_) {
    give_back(h.frame);
  }
}

std::uint32_t ImpairmentStage::admit(rte_mbuf** frames, std::uint16_t count, TimeNs now) {
  std::uint32_t lost = 0;
  for (std::uint16_t i = 0; i < count; ++i) {
    const Fate fate = impairer_.decide(now);
    if (fate.copies == 0 || held_.size() == capacity) {
      give_back(frames[i]);
      ++lost;
      continue;
    }
    if (fate.copies == 2 && held_.size() + 2 <= capacity) {
      // Without a free buffer the frame simply is not duplicated.
      if (rte_mbuf* copy = rte_pktmbuf_copy(frames[i], pool_, 0, UINT32_MAX); copy != nullptr) {
        takes_ownership(copy);
        hold(copy, fate.at[1]);
      }
    }
    hold(frames[i], fate.at[0]);
  }
  return lost;
}

void ImpairmentStage::hold(rte_mbuf* frame, TimeNs due) {
  held_.push_back({due, admitted_++, frame});
  std::push_heap(held_.begin(), held_.end(), later);
}

std::uint16_t ImpairmentStage::take_due(TimeNs now, rte_mbuf** frames, std::uint16_t limit) {
  std::uint16_t count = 0;
  while (count < limit && !held_.empty() && held_.front().due <= now) {
    std::pop_heap(held_.begin(), held_.end(), later);
    frames[count++] = held_.back().frame;
    held_.pop_back();
  }
  return count;
}

} // namespace tributary::dataplane
