// Which packets can never move again, and the accounting that shows that none is lost.
//
// A buffer is *stuck* when its sender may send nothing more into it and none of its queues can
// move. A queue can move when its first packet is for a host, or when one of the channels that it
// may take leads to a buffer that is not stuck. So: begin with all buffers that are full, and
// repeatedly remove those in which a queue can move. The remaining ones wait only for each other,
// whatever outputs choose and however long it takes: a deadlock, not congestion.
#include "tools/simulator/engine/engine.hpp"

#include <algorithm>
#include <bit>

namespace tributary::simulator::engine {

Deadlock Engine::find_deadlock() const {
  const std::vector<Buffer>& buffers = switches_.buffers;
  std::vector<bool> stuck(buffers.size());
  std::vector<std::uint32_t> left;
  for (std::uint32_t b = 0; b < buffers.size(); ++b) {
    const Buffer& buffer = buffers[b];
    const bool full = pauses_ ? buffer.paused && buffer.waiting == buffer.arrived
                              : buffer.waiting == parameters_.buffer;
    if (full && !buffer.dead && buffer.sender != nothing) {
      stuck[b] = true;
      left.push_back(b);
    }
  }
  // The buffer that a queue's first packet waits for, all of those that it could take being stuck;
  // `nothing`: it can move.
  const auto waits_for = [&](const Buffer& buffer, const Queue& queue) {
    const Packet& p = switches_.packet(switches_.number(buffer), queue.head);
    const Output& output = switches_.outputs[switches_.all[buffer.input.at].first_port + p.out];
    if (output.buffer == nothing) {
      return nothing;
    }
    for (unsigned vcs = p.vcs; vcs != 0; vcs &= vcs - 1) {
      if (!stuck[output.buffer + static_cast<unsigned>(std::countr_zero(vcs))]) {
        return nothing;
      }
    }
    return output.buffer + static_cast<unsigned>(std::countr_zero(p.vcs));
  };
  const auto next_of = [&](const Buffer& buffer) {
    std::uint32_t next = nothing;
    for (const Queue& queue : switches_.queues(buffer)) {
      if (queue.head == no_place) {
        continue;
      }
      next = waits_for(buffer, queue);
      if (next == nothing) {
        return nothing;
      }
    }
    return next;
  };
  for (bool some = true; some;) {
    const std::size_t before = left.size();
    std::erase_if(left, [&](std::uint32_t b) {
      const bool moves = next_of(buffers[b]) == nothing;
      stuck[b] = stuck[b] && !moves;
      return moves;
    });
    some = left.size() != before;
  }
  Deadlock found{.buffers = left.size(), .channels = {}};
  if (left.empty()) {
    return found;
  }
  std::vector<std::uint32_t> path;
  std::uint32_t at = left.front();
  for (auto seen = path.end();; seen = std::ranges::find(path, at)) {
    if (seen != path.end()) {
      path.erase(path.begin(), seen);
      break;
    }
    path.push_back(at);
    at = next_of(buffers[at]);
  }
  for (const std::uint32_t b : path) {
    found.channels.push_back(fabric_.buffers()[b].channel);
  }
  return found;
}

bool Engine::accounts_hold() const {
  if (pauses_) {
    return true;
  }
  std::vector<std::uint32_t> returning(switches_.outputs.size() * most_vcs);
  credit_events_.for_each([&](std::uint32_t sender) {
    if (!Sender::is_host(sender)) {
      ++returning[sender];
    }
  });
  for (const Buffer& buffer : switches_.buffers) {
    const auto used = parameters_.buffer - static_cast<std::uint32_t>(std::popcount(buffer.free));
    if (used > parameters_.buffer || buffer.waiting > buffer.arrived || buffer.arrived > used) {
      return false;
    }
    if (buffer.dead || buffer.sender == nothing || Sender::is_host(buffer.sender)) {
      continue;
    }
    const Output& output = switches_.outputs[Sender::port(buffer.sender)];
    if (output.credits[Sender::vc(buffer.sender)] + returning[buffer.sender] + used !=
        parameters_.buffer) {
      return false;
    }
  }
  return true;
}

} // namespace tributary::simulator::engine
