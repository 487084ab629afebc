// Receiver of the switches' messages.
#pragma once

#include "controlplane/transaction/subject.hpp"
#include "tributary/control.pb.h"

#include <optional>
#include <string>
#include <string_view>

namespace tributary::southbound::protocol {

using transaction::SessionNumber;

/// Where a channel server delivers its messages. Called on the loop's thread; may call `send` and
/// `close` from within.
class ChannelSink {
public:
  virtual ~ChannelSink() = default;
  /// Completes the Welcome of a switch that has sent hello.
  virtual void welcome(const control::SwitchHello& /*hello*/, control::Welcome& /*welcome*/) {}
  /// A switch has sent hello. Welcome is queued before anything sent from here on. A returned text
  /// rejects it: nothing else of this session is delivered then.
  virtual std::optional<std::string> connected(SessionNumber session,
                                               const control::SwitchHello& hello) = 0;
  /// Where switches reach the manager that leads, for those that this one rejects; "": unknown, or
  /// this one.
  virtual std::string leader_address() { return {}; }
  /// Any message except Pong.
  virtual void message(SessionNumber session, const control::SwitchMessage& message) = 0;
  /// The channel has broken. Not called for sessions ended by `close` or `stop`.
  virtual void lost(SessionNumber session, std::string_view why) = 0;
  /// Switches are rejected from now on, and why; "": no longer. Called once for each change.
  virtual void turning_away(std::string_view /*why*/) {}
};

} // namespace tributary::southbound::protocol
