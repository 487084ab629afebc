#include "dataplane/port/impairment_stage.hpp"

#include "dataplane/port/mbuf_ownership.hpp"

#include <rte_mbuf.h>

#include <chrono>

namespace tributary::port {
namespace {

std::uint64_t ns(std::chrono::nanoseconds d) { return static_cast<std::uint64_t>(d.count()); }

impairment::Settings settings_of(const config::Impairment& impairment) {
  return {.loss = impairment.loss,
          .duplicate = impairment.duplicate,
          .reorder = impairment.reorder,
          .delay_ns = ns(impairment.delay),
          .jitter_ns = ns(impairment.jitter)};
}

} // namespace

ImpairmentStage::ImpairmentStage(const config::Impairment& impairment, std::uint64_t seed,
                                 rte_mempool* pool)
    : impairer_(settings_of(impairment), seed), pool_(pool) {}

ImpairmentStage::~ImpairmentStage() {
  while (!held_.empty()) {
    give_back(held_.pop());
  }
}

std::uint32_t ImpairmentStage::admit(rte_mbuf** frames, std::uint16_t count, TimeNs now) {
  std::uint32_t lost = 0;
  for (std::uint16_t i = 0; i < count; ++i) {
    const impairment::Fate fate = impairer_.decide(now);
    if (fate.copies == 0 || held_.room() == 0) {
      give_back(frames[i]);
      ++lost;
      continue;
    }
    if (fate.copies == 2 && held_.room() >= 2) {
      // Without a free buffer the frame simply is not duplicated.
      if (rte_mbuf* copy = rte_pktmbuf_copy(frames[i], pool_, 0, UINT32_MAX); copy != nullptr) {
        takes_ownership(copy);
        held_.push(fate.at[1], copy);
      }
    }
    held_.push(fate.at[0], frames[i]);
  }
  return lost;
}

std::uint16_t ImpairmentStage::take_due(TimeNs now, rte_mbuf** frames, std::uint16_t limit) {
  std::uint16_t count = 0;
  while (count < limit && !held_.empty() && held_.next_due() <= now) {
    frames[count++] = held_.pop();
  }
  return count;
}

} // namespace tributary::port
