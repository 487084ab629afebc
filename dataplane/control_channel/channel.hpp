// The connection of an agent: connects to the fabric manager, carries messages both ways, and
// reconnects for as long as it takes.
//
// With several addresses, those of the leader and its standbys, they are dialled in turn, each with
// its own limit; after a channel the one behind it, so that a manager that was silent is not the
// next one. If a name has several addresses, the one behind the one that rejected the switch is
// the next of them. A manager that rejects the switch and names the leader's address is followed by
// that one, if it is among them.
//
//   Channel channel(context, settings, "leaf0", user);
//   channel.start();
//   channel.send(messages);       from the loop's thread; never blocks
//   channel.close("why");         ends this connection; the next one is dialled as after any loss
//   channel.stop();               for good; the user gets no further calls
//
// Rounds over all addresses follow each other after 50 ms, then twice as long each time up to 5 s,
// less a random part of up to a half, so that a fabric's switches do not all connect at the same
// time when their manager is back. After an attempt that reached Welcome the pause is 50 ms again.
//
// With TLS (1.3), the manager's certificate must be signed by the CA and name the host dialled; the
// switch shows its own. The files are read at every attempt: a renewed certificate needs no
// restart.
//
// All of it runs on the thread of the io_context.
#pragma once

#include "lib/net/address.hpp"
#include "lib/net/tls_context.hpp"
#include "tributary/control.pb.h"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace tributary::control_channel {

/// A TLS file cannot be used; the message names it.
class ChannelError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

struct ChannelSettings {
  std::vector<net::Address> addresses; ///< in the order in which they are dialled; at least one
  net::TlsFiles tls;                   ///< for those over TCP; none: unencrypted
  std::chrono::milliseconds first_pause{50};
  std::chrono::milliseconds longest_pause{5000};
  /// Limit for the name lookup, for connecting and for the TLS handshake, each.
  std::chrono::milliseconds dial_limit{5000};
  /// The same where there are several addresses, and for the answer to the hello as well: at first,
  /// and then twice as long in each round up to `dial_limit`, for managers that all are busy.
  std::chrono::milliseconds first_limit{1000};
  /// Limit of queued bytes for a manager that does not read.
  std::size_t max_queued_bytes = std::size_t{64} << 20U;
};

/// Callbacks of a channel.
class ChannelUser {
public:
  /// Connected; the switch speaks first.
  virtual void channel_up() = 0;
  /// Returns whether the manager is accepted by now.
  virtual bool received(const control::ManagerMessage& message) = 0;
  /// All received messages were handed over: the user acts on them and answers.
  virtual void batch_ended() = 0;
  /// Follows every `channel_up`, except after `stop`.
  virtual void channel_down(const std::string& why) = 0;

protected:
  ~ChannelUser() = default;
};

class Channel {
public:
  /// Throws ChannelError when the TLS files cannot be used, std::invalid_argument without an
  /// address. The user outlives the channel.
  Channel(boost::asio::io_context& context, ChannelSettings settings, std::string switch_name,
          ChannelUser& user);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void start();
  /// Dropped while unconnected.
  void send(std::span<const control::SwitchMessage> messages);
  void close(std::string why);
  void stop();

private:
  class Impl;
  std::shared_ptr<Impl> impl_; ///< shared with the coroutines
};

} // namespace tributary::control_channel
