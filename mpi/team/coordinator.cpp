#include "mpi/team/coordinator.hpp"

#include "mpi/team/quiet_thread.hpp"

#include <exception>
#include <poll.h>
#include <utility>
#include <vector>

namespace tributary::mpi::team {

Coordinator::Coordinator(std::deque<MessageStream> streams, std::chrono::milliseconds grace)
    : streams_(std::move(streams)), agreement_(static_cast<std::uint32_t>(streams_.size()), grace),
      thread_(quiet_thread([this] { run(); })) {}

Coordinator::~Coordinator() {
  wake_.first.shut_down();
  thread_.join();
}

void Coordinator::run() {
  std::vector<pollfd> waits;
  for (const MessageStream& stream : streams_) {
    waits.push_back({.fd = stream.descriptor(), .events = POLLIN, .revents = 0});
  }
  waits.push_back({.fd = wake_.second.descriptor(), .events = POLLIN, .revents = 0});
  for (;;) {
    if (poll(waits.data(), waits.size(), -1) < 0) {
      continue; // a signal
    }
    if (waits.back().revents != 0) {
      return;
    }
    for (std::uint32_t node = 0; node < streams_.size(); ++node) {
      if (waits[node].revents == 0) {
        continue;
      }
      std::optional<Message> message;
      try {
        message = streams_[node].receive();
      } catch (const std::exception&) {
        message.reset(); // as if it had gone: nothing that follows can be understood
      }
      if (message) {
        deliver(agreement_.receive(node, std::move(*message), std::chrono::steady_clock::now()));
      } else {
        waits[node].fd = -1;
        deliver(agreement_.lost(node));
      }
    }
  }
}

void Coordinator::deliver(const std::vector<Agreement::Sending>& all) {
  for (const Agreement::Sending& one : all) {
    // Whoever is gone is noticed when its end is read.
    streams_[one.node].send(one.message);
  }
}

} // namespace tributary::mpi::team
