#include "endpoint/mpi/intra_node/coordinator.hpp"

#include "endpoint/mpi/intra_node/quiet_thread.hpp"

#include <cerrno>
#include <cstring>
#include <exception>
#include <poll.h>
#include <string>
#include <utility>
#include <vector>

namespace tributary::mpi::intra_node {

Coordinator::Coordinator(std::deque<MessageStream> streams, std::vector<std::string> leaders,
                         std::chrono::milliseconds grace,
                         std::function<void(const std::string&)> say)
    : streams_(std::move(streams)), agreement_(std::move(leaders), grace), say_(std::move(say)),
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
    constexpr int look_again_ms = 500;
    if (poll(waits.data(), waits.size(), agreement_.deadline() ? look_again_ms : -1) < 0) {
      if (errno == EINTR) {
        continue;
      }
      give_up(std::string("poll: ") + std::strerror(errno));
      return;
    }
    if (const std::string late = agreement_.overdue(std::chrono::steady_clock::now());
        !late.empty()) {
      say_(late);
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
        message.reset(); // as if the node had gone: nothing that follows can be parsed
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

void Coordinator::give_up(const std::string& why) {
  say_("the agreement on failures of the fabric has ended (" + why +
       "); the program ends if the fabric fails now");
  for (MessageStream& stream : streams_) {
    stream.shut_down();
  }
}

void Coordinator::deliver(const std::vector<Agreement::Sending>& all) {
  for (const Agreement::Sending& one : all) {
    // A connection that has ended is noticed when its end is read.
    streams_[one.node].send(one.message);
  }
}

} // namespace tributary::mpi::intra_node
