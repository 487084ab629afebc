// Who hears what the switches say on their channels.
#pragma once

#include "controlplane/transaction/subject.hpp"
#include "tributary/control.pb.h"

#include <optional>
#include <string>
#include <string_view>

namespace tributary::southbound::protocol {

using transaction::SessionNumber;

/// What a channel server gives its messages to. Called on the loop's thread; may call `send` and
/// `close` from within.
class ChannelSink {
public:
  virtual ~ChannelSink() = default;
  /// A switch said hello. Welcome has been queued before anything that is sent from here on. A text
  /// in return rejects it: nothing else is heard of this session then.
  virtual std::optional<std::string> connected(SessionNumber session,
                                               const control::SwitchHello& hello) = 0;
  /// Anything but Pong.
  virtual void message(SessionNumber session, const control::SwitchMessage& message) = 0;
  /// The channel is gone. Not called for what `close` or `stop` ended.
  virtual void lost(SessionNumber session, std::string_view why) = 0;
  /// Switches are turned away from now on, and why; "": no longer. Said once each time.
  virtual void turning_away(std::string_view /*why*/) {}
};

} // namespace tributary::southbound::protocol
