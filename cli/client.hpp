// The client's end of the control socket: one request, one answer, and after a capture request a
// stream of bytes. Blocking.
#pragma once

#include <boost/json/value.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace tributary::cli {

/// The switch cannot be reached, or refused; the message says what to do.
class SwitchError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

class Client {
public:
  /// Throws SwitchError.
  explicit Client(const std::string& socket_path);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// The `result` of the answer. Throws SwitchError when the switch refuses or goes away.
  boost::json::value ask(const boost::json::value& request);

  /// Waits for the next bytes of a stream until `deadline`; empty at its end, and when the time is
  /// over or a signal came, which `ended` tells apart.
  std::vector<std::byte> receive(std::optional<std::chrono::steady_clock::time_point> deadline,
                                 bool& ended);
  /// Tells the switch that nothing more is wanted; what is under way still arrives.
  void finish();

private:
  std::string path_;
  int descriptor_ = -1;
  std::string pending_; ///< received behind the answer
};

} // namespace tributary::cli
