#include "lib/service/switch_client.hpp"

#include "lib/net/unix_address.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

namespace tributary::service {
namespace {

namespace json = boost::json;

constexpr std::size_t chunk_bytes = 64 * 1024;

std::string advice(int error, std::string_view how_to_name) {
  switch (error) {
  case ENOENT:
    return fmt::format("is tributary-switch running? {}; it is process.control_socket in the "
                       "switch's configuration",
                       how_to_name);
  case ECONNREFUSED: return "no process listens there; is tributary-switch running?";
  case EACCES:
  case EPERM:
    return "the socket is for its owner and group; run as root, or as a member of that group";
  default: return "check the path";
  }
}

} // namespace

SwitchClient::SwitchClient(const std::string& socket_path, std::string_view how_to_name)
    : path_(socket_path) {
  const auto address = net::UnixAddress::of_file(path_);
  if (!address) {
    throw SwitchError(fmt::format("socket \"{}\": the path must have 1 to {} bytes", path_,
                                  net::UnixAddress::longest_path));
  }
  descriptor_ = net::FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!descriptor_ || ::connect(descriptor_.get(), address->get(), address->size()) != 0) {
    const int error = errno;
    throw SwitchError(fmt::format("cannot reach a switch at {} ({}); {}", path_,
                                  std::strerror(error), advice(error, how_to_name)));
  }
}

json::value SwitchClient::ask(const json::value& request) {
  const std::string line = json::serialize(request) + '\n';
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t n =
        ::send(descriptor_.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      break; // the answer may contain the reason
    }
    sent += static_cast<std::size_t>(n);
  }
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::size_t end = std::string::npos;
  while ((end = pending_.find('\n')) == std::string::npos) {
    if (!readable(deadline)) {
      if (std::chrono::steady_clock::now() < deadline) {
        continue; // interrupted by a signal
      }
      throw SwitchError(fmt::format("the switch at {} does not answer within {} s; see its log",
                                    path_, timeout.count()));
    }
    char buffer[chunk_bytes];
    const ssize_t n = ::recv(descriptor_.get(), buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      throw SwitchError(fmt::format("the switch at {} closed the connection without an answer; see "
                                    "its log",
                                    path_));
    }
    pending_.append(buffer, static_cast<std::size_t>(n));
  }
  const std::string answer = pending_.substr(0, end);
  pending_.erase(0, end + 1);
  json::error_code error;
  const json::value value = json::parse(answer, error);
  const json::object* object = error ? nullptr : value.if_object();
  const json::value* ok = object == nullptr ? nullptr : object->if_contains("ok");
  if (ok == nullptr || !ok->is_bool()) {
    throw SwitchError(
        fmt::format("{} does not answer like a switch; is it the right socket?", path_));
  }
  if (!ok->get_bool()) {
    const json::value* text = object->if_contains("error");
    throw SwitchError(text != nullptr && text->is_string()
                          ? std::string(text->get_string())
                          : "the switch refused and did not say why");
  }
  const json::value* result = object->if_contains("result");
  return result == nullptr ? json::value() : *result;
}

bool SwitchClient::readable(std::optional<std::chrono::steady_clock::time_point> deadline) const {
  int wait_ms = -1;
  if (deadline) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(*deadline - std::chrono::steady_clock::now());
    wait_ms = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000));
  }
  pollfd waiting{descriptor_.get(), POLLIN, 0};
  return ::poll(&waiting, 1, wait_ms) > 0;
}

std::vector<std::byte>
SwitchClient::receive(std::optional<std::chrono::steady_clock::time_point> deadline, bool& ended) {
  ended = false;
  std::vector<std::byte> bytes;
  if (!pending_.empty()) {
    const auto view = std::as_bytes(std::span(pending_));
    bytes.assign(view.begin(), view.end());
    pending_.clear();
    return bytes;
  }
  if (!readable(deadline)) {
    return bytes;
  }
  bytes.resize(chunk_bytes);
  const ssize_t n = ::recv(descriptor_.get(), bytes.data(), bytes.size(), 0);
  ended = n == 0 || (n < 0 && errno != EINTR);
  bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return bytes;
}

void SwitchClient::finish() { ::shutdown(descriptor_.get(), SHUT_WR); }

} // namespace tributary::service
