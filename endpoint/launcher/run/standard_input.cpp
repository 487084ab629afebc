#include "endpoint/launcher/run/standard_input.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace tributary::launch::run {

namespace {

constexpr std::size_t read_bytes = 64 * 1024;
constexpr std::uint64_t window = 256 * 1024;

} // namespace

StandardInput::StandardInput(boost::asio::io_context& io, std::function<void(std::string)> came)
    : io_(io), came_(std::move(came)), descriptor_(io) {}

void StandardInput::begin() {
  if (std::exchange(begun_, true)) {
    return;
  }
  const int own = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  const bool background = ::isatty(STDIN_FILENO) != 0 && ::tcgetpgrp(STDIN_FILENO) != ::getpgrp();
  if (own < 0 || background) {
    if (own >= 0) {
      ::close(own);
    }
    ended_ = true;
    boost::asio::post(io_, [this] { came_({}); });
    return;
  }
  descriptor_.assign(own);
  wait();
}

void StandardInput::wait() {
  if (ended_ || waiting_ || open_ >= window) {
    return;
  }
  waiting_ = true;
  descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [this](const boost::system::error_code& error) {
                           waiting_ = false;
                           // A regular file cannot be waited for, and need not be.
                           if (error != boost::asio::error::operation_aborted && !ended_) {
                             read();
                           }
                         });
}

void StandardInput::read() {
  std::string data(read_bytes, '\0');
  const ssize_t size = ::read(descriptor_.native_handle(), data.data(), data.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
    return wait();
  }
  data.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  open_ += data.size();
  ended_ = data.empty();
  came_(std::move(data));
  wait();
}

void StandardInput::taken(std::uint64_t bytes) {
  open_ -= std::min(open_, bytes);
  if (begun_) {
    wait();
  }
}

void StandardInput::stop() {
  ended_ = true;
  boost::system::error_code ignored;
  descriptor_.close(ignored);
}

} // namespace tributary::launch::run
