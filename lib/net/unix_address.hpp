// The address of a Unix socket, for bind(2), connect(2) and sendto(2).
//
//   const auto address = net::UnixAddress::of_file("/run/tributary/switch.sock");
//   ::connect(socket.get(), address->get(), address->size());
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

#include <sys/socket.h>
#include <sys/un.h>

namespace tributary::net {

class UnixAddress {
public:
  /// Upper limit of a path in bytes; the kernel requires a zero after it.
  static constexpr std::size_t longest_path = sizeof(sockaddr_un::sun_path) - 1;

  /// Empty for an empty path and for one of more than `longest_path` bytes.
  [[nodiscard]] static std::optional<UnixAddress> of_file(std::string_view path) {
    return path.size() > longest_path ? std::nullopt : made(path, 0);
  }
  /// Address of a name in the abstract namespace, which has no file. Empty if the name is empty or
  /// too long.
  [[nodiscard]] static std::optional<UnixAddress> abstract(std::string_view name) {
    return made(name, 1);
  }

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  [[nodiscard]] socklen_t size() const { return size_; }

private:
  /// The name, after `zeros` zero bytes.
  static std::optional<UnixAddress> made(std::string_view name, std::size_t zeros) {
    if (name.empty() || name.size() + zeros > sizeof(sockaddr_un::sun_path)) {
      return std::nullopt;
    }
    UnixAddress made;
    made.address_.sun_family = AF_UNIX;
    std::memcpy(made.address_.sun_path + zeros, name.data(), name.size());
    made.size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + zeros + name.size());
    return made;
  }

  sockaddr_un address_{};
  socklen_t size_ = 0;
};

} // namespace tributary::net
