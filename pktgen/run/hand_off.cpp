#include "pktgen/run/hand_off.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tributary::pktgen::run {

using traffic::Reception;

HandOff::HandOff(std::vector<std::size_t> worker_of_queue_pair,
                 const std::vector<scenario::PortIndex>& port_of_queue_pair,
                 std::size_t longest_frame)
    : worker_of_queue_pair_(std::move(worker_of_queue_pair)),
      to_whole_port_(worker_of_queue_pair_.size()) {
  for (const std::size_t worker : worker_of_queue_pair_) {
    workers_ = std::max(workers_, worker + 1);
  }
  rings_.resize(workers_ * workers_);
  to_worker_.resize(workers_);
  for (scenario::QueuePairIndex a = 0; a < worker_of_queue_pair_.size(); ++a) {
    for (scenario::QueuePairIndex b = 0; b < worker_of_queue_pair_.size(); ++b) {
      const std::size_t from = worker_of_queue_pair_[a];
      const std::size_t to = worker_of_queue_pair_[b];
      if (from == to || port_of_queue_pair[a] != port_of_queue_pair[b]) {
        continue;
      }
      needed_ = true;
      std::unique_ptr<Ring>& made = rings_[from * workers_ + to];
      if (!made) {
        made = std::make_unique<Ring>(longest_frame);
        to_worker_[to].push_back(made.get());
      }
      if (std::ranges::find(to_whole_port_[a], made.get()) == to_whole_port_[a].end()) {
        to_whole_port_[a].push_back(made.get());
      }
    }
  }
}

HandOff::Given HandOff::give(std::size_t from, scenario::QueuePairIndex queue_pair,
                             const Reception& reception, const FrameView& frame, TimeNs at) {
  Given given;
  const auto give_to = [&](Ring* to) {
    if (to->entries.write_available() == 0) {
      ++given.lost;
      return;
    }
    // What follows is padding.
    const auto length =
        static_cast<std::uint32_t>(std::min<std::size_t>(frame.length, to->longest));
    std::memcpy(to->place(to->given), frame.data, length);
    to->entries.push({at, static_cast<std::uint32_t>(queue_pair), length, to->given});
    ++to->given;
    ++given.taken;
  };
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
