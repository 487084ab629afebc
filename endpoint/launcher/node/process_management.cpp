// Between ranks and other nodes: requests of PMIx and PMI-1, and the answers.
#include "endpoint/launcher/node/daemon_process.hpp"

#include <boost/asio/post.hpp>

#include <array>
#include <cerrno>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

namespace tributary::launch::node {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr const char* pmi_fence = "pmi-1";

} // namespace

// PMIx upcalls, on its thread.

void Daemon::connected(std::uint32_t rank, Done done) {
  asio::post(io_, [this, rank, done = std::move(done)] {
    rank_connected(rank);
    done(messages::success);
  });
}

void Daemon::finalized(std::uint32_t rank, Done done) {
  asio::post(io_, [this, rank, done = std::move(done)] {
    rank_finalized(rank);
    done(messages::success);
  });
}

void Daemon::aborted(std::uint32_t rank, int status, std::string text, Done done) {
  asio::post(io_, [this, rank, status, text = std::move(text), done = std::move(done)] {
    messages::FromNode message;
    message.mutable_abort()->set_rank(rank);
    message.mutable_abort()->set_status(status);
    message.mutable_abort()->set_text(text);
    channel_.send(message);
    done(messages::success);
  });
}

void Daemon::gather(messages::Fence part, GatheredAnswer answer) {
  asio::post(io_, [this, part = std::move(part), answer = std::move(answer)]() mutable {
    part.set_number(next_number_);
    fences_[next_number_++] = std::move(answer);
    messages::FromNode message;
    *message.mutable_fence() = std::move(part);
    channel_.send(message);
  });
}

void Daemon::modex(std::uint32_t rank, DataAnswer answer) {
  asio::post(io_, [this, rank, answer = std::move(answer)]() mutable {
    messages::FromNode message;
    message.mutable_modex_wanted()->set_number(next_number_);
    message.mutable_modex_wanted()->set_rank(rank);
    modexes_[next_number_++] = std::move(answer);
    channel_.send(message);
  });
}

void Daemon::find(std::uint64_t number, std::uint32_t rank) {
  if (const auto kept = put_by_ended_.find(rank); kept != put_by_ended_.end()) {
    found(number, kept->second.first, kept->second.second);
  } else if (server_) {
    server_->fetch(rank, [this, number](int status, std::string data) {
      asio::post(io_,
                 [this, number, status, data = std::move(data)] { found(number, status, data); });
    });
  }
}

void Daemon::found(std::uint64_t number, int status, const std::string& data) {
  messages::FromNode answer;
  answer.mutable_modex_found()->set_number(number);
  answer.mutable_modex_found()->set_status(status);
  answer.mutable_modex_found()->set_data(data);
  channel_.send(answer);
}

void Daemon::notice(messages::Notice notice) {
  asio::post(io_, [this, notice = std::move(notice)]() mutable {
    messages::FromNode message;
    *message.mutable_notice() = std::move(notice);
    channel_.send(message);
  });
}

void Daemon::query(messages::Query query, QueryAnswer answer) {
  asio::post(io_, [this, query = std::move(query), answer = std::move(answer)]() mutable {
    query.set_number(next_number_);
    queries_[next_number_++] = std::move(answer);
    messages::FromNode message;
    *message.mutable_query() = std::move(query);
    channel_.send(message);
  });
}

// Common to PMIx and PMI-1.

void Daemon::rank_connected(std::uint32_t rank) {
  const auto found = ranks_.find(rank);
  if (found == ranks_.end() || (found->second.connected && !found->second.finalized)) {
    return;
  }
  found->second.connected = true;
  found->second.finalized = false;
  messages::FromNode message;
  message.mutable_connected()->set_rank(rank);
  channel_.send(message);
}

void Daemon::rank_finalized(std::uint32_t rank) {
  const auto found = ranks_.find(rank);
  if (found == ranks_.end() || std::exchange(found->second.finalized, true)) {
    return;
  }
  messages::FromNode message;
  message.mutable_finalized()->set_rank(rank);
  channel_.send(message);
}

void Daemon::fence_done(const messages::Fence& fence) {
  if (fence.kind() == messages::Fence::FENCE && fence.name() == pmi_fence) {
    for (auto& [rank, reply] : pmi_->release(fence.data(), fence.status() == messages::success)) {
      if (const auto found = ranks_.find(rank); found != ranks_.end()) {
        found->second.to_pmi += reply;
        write_pmi(rank);
      }
    }
  } else if (auto found = fences_.extract(fence.number())) {
    found.mapped()(fence.status(), fence.data(), fence.context_id());
  }
}

// PMI-1.

void Daemon::read_pmi(std::uint32_t rank) {
  Descriptor* const socket = ranks_.at(rank).pmi.get();
  socket->async_wait(Descriptor::wait_read, [this, rank, socket](const error_code& error) {
    if (error || ranks_.at(rank).pmi.get() != socket) {
      return;
    }
    std::array<char, 4096> buffer;
    const ssize_t size = ::read(socket->native_handle(), buffer.data(), buffer.size());
    if (size > 0) {
      pmi_said(rank, std::string(buffer.data(), static_cast<std::size_t>(size)));
    } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
      ranks_.at(rank).pmi.reset(); // closed by the rank: the program does not speak PMI-1
      return;
    }
    if (ranks_.at(rank).pmi) {
      read_pmi(rank);
    }
  });
}

void Daemon::pmi_said(std::uint32_t rank, const std::string& bytes) {
  pmi::Pmi1::Outcome outcome = pmi_->received(rank, bytes);
  Rank& state = ranks_.at(rank);
  state.to_pmi += outcome.reply;
  write_pmi(rank);
  if (outcome.connected) {
    rank_connected(rank);
  }
  if (outcome.finalized) {
    rank_finalized(rank);
  }
  messages::FromNode message;
  if (outcome.aborted || !outcome.error.empty()) {
    message.mutable_abort()->set_rank(rank);
    message.mutable_abort()->set_status(outcome.aborted ? outcome.exit_code : 1);
    message.mutable_abort()->set_text(outcome.error);
    channel_.send(message);
  } else if (outcome.barrier) {
    send_pmi_fence();
  }
}

void Daemon::send_pmi_fence() {
  messages::FromNode message;
  message.mutable_fence()->set_name(pmi_fence);
  message.mutable_fence()->set_data(pmi_->take_puts());
  channel_.send(message);
}

void Daemon::write_pmi(std::uint32_t rank) {
  Rank& state = ranks_.at(rank);
  if (!state.pmi) {
    state.to_pmi.clear();
    return;
  }
  // One answer is out at a time, and short: a full socket means that the rank does not read.
  const ssize_t size = ::send(state.pmi->native_handle(), state.to_pmi.data(), state.to_pmi.size(),
                              MSG_NOSIGNAL | MSG_DONTWAIT);
  if (size >= 0) {
    state.to_pmi.erase(0, static_cast<std::size_t>(size));
  }
}

} // namespace tributary::launch::node
