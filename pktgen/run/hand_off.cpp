#include "pktgen/run/hand_off.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tributary::pktgen::run {

using traffic::Reception;

HandOff::HandOff(std::vector<std::size_t> worker_of_queue_pair,
                 const std::vector<transport::PortIndex>& port_of_queue_pair)
    : worker_of_queue_pair_(std::move(worker_of_queue_pair)),
      to_whole_port_(worker_of_queue_pair_.size()) {
  for (const std::size_t worker : worker_of_queue_pair_) {
    workers_ = std::max(workers_, worker + 1);
  }
  rings_.resize(workers_ * workers_);
  to_worker_.resize(workers_);
  for (transport::QueuePairIndex a = 0; a < worker_of_queue_pair_.size(); ++a) {
    for (transport::QueuePairIndex b = 0; b < worker_of_queue_pair_.size(); ++b) {
      const std::size_t from = worker_of_queue_pair_[a];
      const std::size_t to = worker_of_queue_pair_[b];
      if (from == to || port_of_queue_pair[a] != port_of_queue_pair[b]) {
        continue;
      }
      needed_ = true;
      std::unique_ptr<Ring>& made = rings_[from * workers_ + to];
      if (!made) {
        made = std::make_unique<Ring>();
        to_worker_[to].push_back(made.get());
      }
      if (std::ranges::find(to_whole_port_[a], made.get()) == to_whole_port_[a].end()) {
        to_whole_port_[a].push_back(made.get());
      }
    }
  }
}

HandOff::Given HandOff::give(std::size_t from, transport::QueuePairIndex queue_pair,
                             const Reception& reception, const FrameView& frame, TimeNs at) {
  Given given;
  Handed handed{at, static_cast<std::uint32_t>(queue_pair), frame.length, {}};
  // What follows is padding.
  handed.length = std::min<std::uint32_t>(frame.length, handed.bytes.size());
  std::memcpy(handed.bytes.data(), frame.data, handed.length);
  const auto give_to = [&](Ring* to) { ++(to->push(handed) ? given.taken : given.lost); };
  switch (reception.concerns) {
  case Reception::Concerns::who_has_it: break;
  case Reception::Concerns::one_queue_pair:
    give_to(ring(from, worker_of_queue_pair_[reception.queue_pair]));
    break;
  case Reception::Concerns::whole_port:
    std::ranges::for_each(to_whole_port_[queue_pair], give_to);
    break;
  }
  return given;
}

} // namespace tributary::pktgen::run
