// The client's end of a switch's control socket: one request, one answer, and after a capture
// request a stream of bytes. Blocking. What may be asked: dataplane/management/request.hpp.
#pragma once

#include "lib/net/file_descriptor.hpp"

#include <boost/json/value.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::service {

/// The switch cannot be reached, or refused; the message says what to do.
class SwitchError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

class SwitchClient {
public:
  /// How long a switch may take for an answer.
  static constexpr std::chrono::seconds patience{10};

  /// Throws SwitchError. `how_to_name` says to a person how the path is given: "name its socket
  /// with
  /// --socket".
  SwitchClient(const std::string& socket_path, std::string_view how_to_name);

  /// The `result` of the answer. Throws SwitchError when the switch refuses, goes away or does not
  /// answer.
  boost::json::value ask(const boost::json::value& request);

  /// Waits for the next bytes of a stream until `deadline`; empty at its end, and when the time is
  /// over or a signal came, which `ended` tells apart.
  std::vector<std::byte> receive(std::optional<std::chrono::steady_clock::time_point> deadline,
                                 bool& ended);
  /// Tells the switch that nothing more is wanted; what is under way still arrives.
  void finish();

private:
  /// Waits until something can be read; false when the time is over, or a signal came.
  [[nodiscard]] bool readable(std::optional<std::chrono::steady_clock::time_point> deadline) const;

  std::string path_;
  net::FileDescriptor descriptor_;
  std::string pending_; ///< received behind the answer
};

} // namespace tributary::service
