// A client that sends exactly a test's bytes, and reads answers one by one. Blocking; every wait
// ends after `timeout`, so that a broken server fails a test instead of hanging it.
#pragma once

#include "lib/net/address.hpp"
#include "lib/net/file_descriptor.hpp"
#include "lib/net/unix_address.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

namespace tributary::rest {

struct RawAnswer {
  int status = 0;                            ///< 0: the connection ended without an answer
  std::map<std::string, std::string> fields; ///< names in lower case
  std::string body;
};

class RawClient {
public:
  static constexpr std::chrono::milliseconds timeout{20'000};

  /// "unix:PATH" or "127.0.0.1:PORT". `from`: its source address on this machine, by TCP.
  explicit RawClient(const std::string& text, const char* from = nullptr) {
    const net::Address address = net::parse_address(text, net::Purpose::dial);
    if (address.is_unix()) {
      const auto to = net::UnixAddress::of_file(address.path);
      connect(AF_UNIX, to->get(), to->size(), nullptr);
    } else {
      sockaddr_in to{};
      to.sin_family = AF_INET;
      to.sin_port = htons(address.tcp.port);
      to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      connect(AF_INET, reinterpret_cast<const sockaddr*>(&to), sizeof to, from);
    }
  }

  void close() { descriptor_.close(); }
  /// False if the server does not accept it.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(descriptor_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) {
        return false;
      }
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  /// Closes the sending half of the connection.
  void finish_sending() { ::shutdown(descriptor_.get(), SHUT_WR); }
  void receive_slowly(int bytes) {
    ::setsockopt(descriptor_.get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  }

  /// The next answer. `head`: it has no body, whatever its content length.
  RawAnswer read_answer(bool head = false) {
    RawAnswer answer;
    const std::string header = read_until("\r\n\r\n");
    if (header.size() < 12) {
      return answer;
    }
    answer.status = std::stoi(header.substr(9, 3));
    std::size_t at = header.find("\r\n") + 2;
    while (at < header.size() - 2) {
      const std::size_t end = header.find("\r\n", at);
      const std::size_t colon = header.find(": ", at);
      std::string name = header.substr(at, colon - at);
      std::transform(name.begin(), name.end(), name.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      answer.fields[name] = header.substr(colon + 2, end - colon - 2);
      at = end + 2;
    }
    if (const auto length = answer.fields.find("content-length");
        length != answer.fields.end() && !head) {
      answer.body = read_bytes(std::stoul(length->second));
    }
    return answer;
  }
  /// Up to and with `mark`; less when the connection ends.
  std::string read_until(std::string_view mark) {
    std::size_t at = pending_.find(mark);
    while (at == std::string::npos && receive()) {
      at = pending_.find(mark);
    }
    return take(at == std::string::npos ? pending_.size() : at + mark.size());
  }
  std::string read_bytes(std::size_t count) {
    while (pending_.size() < count && receive()) {
    }
    return take(std::min(count, pending_.size()));
  }
  /// Everything until the server closes.
  std::string read_all() {
    while (receive()) {
    }
    return take(pending_.size());
  }
  /// Whether any bytes have arrived.
  [[nodiscard]] bool has_some() const {
    pollfd waiting{descriptor_.get(), POLLIN, 0};
    return ::poll(&waiting, 1, 0) > 0;
  }
  /// Whether the server has closed, with nothing left to read.
  bool at_end() { return pending_.empty() && !receive(); }

private:
  void connect(int family, const sockaddr* to, socklen_t length, const char* from) {
    descriptor_ = net::FileDescriptor(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (from != nullptr) {
      sockaddr_in own{};
      own.sin_family = AF_INET;
      ::inet_pton(AF_INET, from, &own.sin_addr);
      ::bind(descriptor_.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own);
    }
    if (!descriptor_ || ::connect(descriptor_.get(), to, length) != 0) {
      throw std::runtime_error(fmt::format("cannot connect: {}", std::strerror(errno)));
    }
  }
  bool receive() {
    pollfd waiting{descriptor_.get(), POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(timeout.count()));
    if (ready == 0) {
      throw std::runtime_error("the server neither answers nor closes");
    }
    char buffer[16 * 1024];
    const ssize_t bytes = ::recv(descriptor_.get(), buffer, sizeof buffer, 0);
    if (bytes <= 0) {
      return false;
    }
    pending_.append(buffer, static_cast<std::size_t>(bytes));
    return true;
  }
  std::string take(std::size_t bytes) {
    std::string taken = pending_.substr(0, bytes);
    pending_.erase(0, bytes);
    return taken;
  }

  net::FileDescriptor descriptor_;
  std::string pending_;
};

/// A request as programs send it.
inline std::string request_text(std::string_view method, std::string_view path,
                                std::string_view body = {}, std::string_view more_fields = {}) {
  std::string text =
      fmt::format("{} {} HTTP/1.1\r\nHost: fabricd\r\n{}", method, path, more_fields);
  if (!body.empty()) {
    text += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", body.size());
  }
  return text + "\r\n" + std::string(body);
}

} // namespace tributary::rest
