#include "tools/simulator/allreduce/schedule.hpp"

#include <algorithm>
#include <bit>

namespace tributary::simulator::allreduce {
namespace {

constexpr std::uint32_t none = 0xFFFFFFFF;

} // namespace

bool is_possible(HostAlgorithm algorithm, std::uint32_t hosts) {
  const bool halves = algorithm == HostAlgorithm::halving || algorithm == HostAlgorithm::doubling;
  return hosts >= 2 && (!halves || std::has_single_bit(hosts));
}

Schedule::Schedule(HostAlgorithm algorithm, std::uint32_t hosts)
    : algorithm_(algorithm), hosts_(hosts), core_(std::bit_floor(hosts)),
      doublings_(static_cast<std::uint32_t>(std::countr_zero(core_))),
      down_steps_(static_cast<std::uint32_t>(std::countr_zero(std::bit_ceil(hosts)))) {
  switch (algorithm) {
  case HostAlgorithm::ring:
    chunks_ = hosts;
    steps_ = 2 * (hosts - 1);
    return;
  case HostAlgorithm::recursive_doubling:
    chunks_ = 1;
    steps_ = doublings_;
    break;
  case HostAlgorithm::rabenseifner:
    chunks_ = core_;
    steps_ = 2 * doublings_;
    break;
  case HostAlgorithm::ring_reduce_scatter:
  case HostAlgorithm::ring_allgather:
    chunks_ = hosts;
    steps_ = hosts - 1;
    return;
  case HostAlgorithm::halving:
  case HostAlgorithm::doubling:
    chunks_ = core_;
    steps_ = doublings_;
    return;
  case HostAlgorithm::binomial:
    chunks_ = 1;
    steps_ = down_steps_;
    return;
  case HostAlgorithm::scatter_allgather:
    chunks_ = hosts;
    steps_ = down_steps_ + hosts - 1;
    return;
  }
  steps_ += folds() ? 2 : 0;
}

std::uint32_t Schedule::core_rank(std::uint32_t rank) const {
  const std::uint32_t paired = 2 * (hosts_ - core_);
  if (rank >= paired) {
    return rank - paired / 2;
  }
  return rank % 2 == 1 ? rank / 2 : none;
}

std::uint32_t Schedule::rank_of_core(std::uint32_t core) const {
  const std::uint32_t paired = 2 * (hosts_ - core_);
  return core < paired / 2 ? 2 * core + 1 : core + paired / 2;
}

bool Schedule::is_ring() const {
  return algorithm_ == HostAlgorithm::ring || algorithm_ == HostAlgorithm::ring_reduce_scatter ||
         algorithm_ == HostAlgorithm::ring_allgather;
}

std::optional<Transfer> Schedule::sent_down(std::uint32_t step, std::uint32_t rank) const {
  // First to the farthest: each then has what is behind it.
  const std::uint32_t distance = 1U << (down_steps_ - 1 - step);
  const std::uint32_t to = rank + distance;
  if (rank % (2 * distance) != 0 || to >= hosts_) {
    return std::nullopt;
  }
  if (algorithm_ == HostAlgorithm::binomial) {
    return Transfer{to, 0, 1, false};
  }
  return Transfer{to, to, std::min(distance, hosts_ - to), false};
}

std::optional<std::uint32_t> Schedule::received_down(std::uint32_t step, std::uint32_t rank) const {
  const std::uint32_t distance = 1U << (down_steps_ - 1 - step);
  return rank % (2 * distance) == distance ? std::optional(rank - distance) : std::nullopt;
}

Transfer Schedule::sent_in_ring(std::uint32_t step, std::uint32_t rank) const {
  if (algorithm_ == HostAlgorithm::ring_allgather ||
      algorithm_ == HostAlgorithm::scatter_allgather) {
    return {(rank + 1) % hosts_, (rank + hosts_ - step) % hosts_, 1, false};
  }
  // Chunk r starts at rank r, is complete at rank r - 1 after one round, and makes a second round.
  return {(rank + 1) % hosts_, (rank + 2 * hosts_ - step) % hosts_, 1, step < hosts_ - 1};
}

Transfer Schedule::exchanged(std::uint32_t core_step, std::uint32_t core) const {
  if (algorithm_ == HostAlgorithm::recursive_doubling) {
    return {rank_of_core(core ^ (1U << core_step)), 0, 1, true};
  }
  core_step += algorithm_ == HostAlgorithm::doubling ? doublings_ : 0;
  const bool halves = core_step < doublings_;
  const std::uint32_t bit = halves ? core_step : 2 * doublings_ - 1 - core_step;
  // The common range of a pair is halved: the lower rank keeps the lower half.
  std::uint32_t begin = 0;
  for (std::uint32_t b = 0; b < bit; ++b) {
    begin += (core >> b & 1U) * (core_ >> (b + 1));
  }
  const std::uint32_t half = core_ >> (bit + 1);
  const bool lower = (core >> bit & 1U) == 0;
  return {rank_of_core(core ^ (1U << bit)), lower == halves ? begin + half : begin, half, halves};
}

std::optional<Transfer> Schedule::sent(std::uint32_t step, std::uint32_t rank) const {
  if (is_ring()) {
    return sent_in_ring(step, rank);
  }
  if (algorithm_ == HostAlgorithm::binomial || algorithm_ == HostAlgorithm::scatter_allgather) {
    return step < down_steps_ ? sent_down(step, rank)
                              : std::optional(sent_in_ring(step - down_steps_, rank));
  }
  const std::uint32_t core = core_rank(rank);
  if (folds() && step == 0) {
    return core == none ? std::optional(Transfer{rank + 1, 0, chunks_, true}) : std::nullopt;
  }
  if (folds() && step + 1 == steps_) {
    const bool gives = rank < 2 * (hosts_ - core_) && rank % 2 == 1;
    return gives ? std::optional(Transfer{rank - 1, 0, chunks_, false}) : std::nullopt;
  }
  if (core == none) {
    return std::nullopt;
  }
  return exchanged(step - (folds() ? 1 : 0), core);
}

std::optional<Transfer> Schedule::received(std::uint32_t step, std::uint32_t rank) const {
  std::uint32_t from = none;
  if (is_ring()) {
    from = (rank + hosts_ - 1) % hosts_;
  } else if (algorithm_ == HostAlgorithm::binomial ||
             algorithm_ == HostAlgorithm::scatter_allgather) {
    from = step < down_steps_ ? received_down(step, rank).value_or(none)
                              : (rank + hosts_ - 1) % hosts_;
  } else if (folds() && (step == 0 || step + 1 == steps_)) {
    if (rank < 2 * (hosts_ - core_)) {
      from = step == 0 ? rank - 1 : rank + 1;
      const bool receives = (rank % 2 == 1) == (step == 0);
      from = receives ? from : none;
    }
  } else if (const auto own = sent(step, rank)) {
    from = own->peer; // they exchange
  }
  if (from == none) {
    return std::nullopt;
  }
  auto transfer = sent(step, from);
  if (transfer) {
    transfer->peer = from;
  }
  return transfer;
}

std::uint32_t Schedule::pairing(std::uint32_t step) const {
  if (is_ring()) {
    return 0;
  }
  if (algorithm_ == HostAlgorithm::scatter_allgather && step > down_steps_) {
    return down_steps_;
  }
  if (algorithm_ == HostAlgorithm::rabenseifner) {
    // Doubling meets the partners of halving in reverse order.
    const std::uint32_t own = step - (folds() ? 1 : 0);
    if (!(folds() && (step == 0 || step + 1 == steps_)) && own >= doublings_) {
      return steps_ - 1 - step;
    }
  }
  return step;
}

std::uint64_t Schedule::bytes(const Transfer& transfer, std::uint64_t elements,
                              std::uint32_t element_bytes) const {
  const auto begin_of = [&](std::uint64_t chunk) { return elements * chunk / chunks_; };
  return (begin_of(std::uint64_t{transfer.first} + transfer.chunks) - begin_of(transfer.first)) *
         element_bytes;
}

} // namespace tributary::simulator::allreduce
