// A program's end point on the fabric: its link, the loop that drives it, and its messenger. Used
// under the loop's lock.
#pragma once

#include "endpoint/engine/loop.hpp"
#include "endpoint/messages/messenger.hpp"
#include "endpoint/ofi/settings.hpp"
#include "lib/link/end_point_number.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace tributary::ofi {

class Program {
public:
  /// Opens the link. Throws LinkError, and std::invalid_argument for what the environment says.
  [[nodiscard]] static std::unique_ptr<Program> open(const Settings& settings, bool may_thread);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] engine::Loop& loop() { return loop_; }
  [[nodiscard]] messages::Messenger& messenger() { return messenger_; }
  [[nodiscard]] EndPoint address() const { return messenger_.options().rdma.address; }
  [[nodiscard]] Vni vni() const { return vni_; }
  [[nodiscard]] const std::string& interface() const { return interface_; }
  /// Sends what was begun.
  void send() { loop_.send(messenger_); }

private:
  struct Opened;
  Program(Opened opened, const Settings& settings, bool own_thread);

  std::string interface_;
  Vni vni_;
  std::optional<link::EndPointNumber> end_point_; ///< unless the host agent gave one
  engine::Loop loop_;
  messages::Messenger messenger_;
};

} // namespace tributary::ofi
