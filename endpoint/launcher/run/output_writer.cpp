#include "endpoint/launcher/run/output_writer.hpp"

#include "lib/net/signals_blocked.hpp"

#include <cerrno>

#include <poll.h>
#include <unistd.h>

namespace tributary::launch::run {

namespace {

constexpr int last_wait_ms = 1000;

} // namespace

OutputWriter::OutputWriter(bool tagged,
                           std::function<void(control::NodeIndex, std::uint64_t)> written,
                           std::function<void()> gone)
    : tagged_(tagged), written_(std::move(written)), gone_(std::move(gone)) {
  const net::SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

OutputWriter::~OutputWriter() {
  {
    const std::scoped_lock held(lock_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void OutputWriter::write(control::Chunk chunk) {
  {
    const std::scoped_lock held(lock_);
    chunks_.push_back(std::move(chunk));
  }
  changed_.notify_one();
}

void OutputWriter::run() {
  bool reported = false;
  while (true) {
    control::Chunk chunk;
    {
      std::unique_lock held(lock_);
      changed_.wait(held, [this] { return stopping_ || !chunks_.empty(); });
      if (chunks_.empty()) {
        return;
      }
      chunk = std::move(chunks_.front());
      chunks_.pop_front();
    }
    std::string tagged;
    std::string_view bytes = chunk.data;
    if (tagged_) {
      const auto line =
          lines_.try_emplace({chunk.rank, chunk.errors}, chunk.rank, chunk.errors).first;
      tagged = bytes.empty() ? line->second.end() : line->second.add(bytes);
      bytes = tagged;
    }
    if (!write_all(chunk.errors ? STDERR_FILENO : STDOUT_FILENO, bytes) && !reported &&
        !chunk.errors) {
      reported = true;
      gone_();
    }
    if (!chunk.data.empty()) {
      written_(chunk.node, chunk.data.size());
    }
  }
}

bool OutputWriter::write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    // A descriptor that a terminal or a reader has made non-blocking is waited for like any other.
    pollfd ready{fd, POLLOUT, 0};
    bool last = false;
    {
      const std::scoped_lock held(lock_);
      last = stopping_;
    }
    const int found = ::poll(&ready, 1, last ? last_wait_ms : 100);
    if (found == 0) {
      if (last) {
        return false;
      }
      continue;
    }
    const ssize_t size = ::write(fd, bytes.data(), std::min<std::size_t>(bytes.size(), 4096));
    if (size >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(size));
    } else if (errno != EINTR && errno != EAGAIN) {
      return false;
    }
  }
  return true;
}

} // namespace tributary::launch::run
