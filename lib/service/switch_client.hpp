// A client of a switch's control socket: one request, one answer, and after a capture request a
// stream of bytes. Blocking. dataplane/management/request.hpp lists the requests.
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

/// The switch is unreachable, or refused; the message says what to do.
class SwitchError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

class SwitchClient {
public:
  /// How long a switch may take to answer.
  static constexpr std::chrono::seconds timeout{10};

  /// Throws SwitchError. `how_to_name` says how to give the path, for messages: "name its socket
  /// with --socket".
  SwitchClient(const std::string& socket_path, std::string_view how_to_name);

  /// The `result` of the answer. Throws SwitchError if the switch refuses, disconnects or does not
  /// answer.
  boost::json::value ask(const boost::json::value& request);

  /// Waits for the next bytes of a stream until `deadline`; empty at its end, and after the
  /// deadline or a signal; `ended` distinguishes these.
  std::vector<std::byte> receive(std::optional<std::chrono::steady_clock::time_point> deadline,
                                 bool& ended);
  /// Notifies the switch that no more data is wanted; data in transit still arrives.
  void finish();

private:
  /// Waits until data can be read; false after the deadline, or a signal.
  [[nodiscard]] bool readable(std::optional<std::chrono::steady_clock::time_point> deadline) const;

  std::string path_;
  net::FileDescriptor descriptor_;
  std::string pending_; ///< received after the answer
};

} // namespace tributary::service
