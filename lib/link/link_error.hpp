// Errors of an interface or a raw socket; the message says what happened, to what, and what to do.
#pragma once

#include <stdexcept>
#include <string>

namespace tributary::link {

class LinkError : public std::runtime_error {
public:
  enum class Kind {
    no_interface,   ///< it does not exist, or went away
    interface_down, ///< it exists, but is down; works again once it is up
    not_permitted,  ///< raw sockets need CAP_NET_RAW
    system,         ///< anything else the kernel refused
  };
  LinkError(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  [[nodiscard]] Kind kind() const { return kind_; }

private:
  Kind kind_;
};

/// The error for a failed system call on an interface. `doing` completes "while ...".
[[nodiscard]] LinkError link_error(int error_number, const std::string& interface,
                                   const std::string& doing);

} // namespace tributary::link
