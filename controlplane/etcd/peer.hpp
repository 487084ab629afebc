// Managers ask each other whether they run. Each answers at an address of its own, on the thread
// that also renews its lease, and a standby asks the one that leads (election/peer_watch.hpp).
//
//   standby                       leader
//   connects  ------------------>
//             <------------------ its instance and a line feed: 17 bytes
//   a byte    ------------------> ten times a second
//             <------------------ the same byte
//
// There is nothing to learn and nothing to change there, so callers are not authenticated. An
// impostor that answers for a dead leader delays the takeover to the end of the lease.
//
// Shell: the thread of `context`.
#pragma once

#include "controlplane/election/peer_watch.hpp"
#include "lib/net/address.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tributary::etcd {

/// Answers.
class PeerListener {
public:
  /// Standbys of one fabric, and room for strangers. One more is closed at once.
  static constexpr std::size_t most_askers = 64;

  /// Port 0 selects a free one. Throws net::ListenFailed.
  PeerListener(boost::asio::io_context& context, const net::HostPort& where, std::string instance);
  /// With the actual port.
  [[nodiscard]] const net::HostPort& place() const { return place_; }
  /// Whether only this machine reaches it: so it is where /etc/hosts gives the machine's own name a
  /// loopback address.
  [[nodiscard]] bool is_loopback() const;

private:
  static boost::asio::awaitable<void> answer(boost::asio::ip::tcp::socket socket,
                                             std::string instance,
                                             std::shared_ptr<std::size_t> askers);

  std::string instance_;
  net::HostPort place_;
  std::vector<boost::asio::ip::tcp::acceptor> acceptors_;
  std::shared_ptr<std::size_t> askers_ = std::make_shared<std::size_t>(0);
};

/// Asks the manager that leads.
class PeerAsker {
public:
  /// `dead`: the leader with this lease is. Nothing is asked before `follow`.
  PeerAsker(boost::asio::io_context& context, std::function<void(election::LeaseId)> dead);

  /// Another manager leads, or none, or one without such an address: lease 0.
  void follow(election::LeaseId lease, const std::string& instance, const net::HostPort& where);

private:
  struct Leader {
    election::LeaseId lease = 0;
    std::string instance;
    net::HostPort where;
    /// Looked up once; then the one that has answered.
    std::vector<boost::asio::ip::tcp::endpoint> places;
  };
  boost::asio::awaitable<void> ask();
  boost::asio::awaitable<bool> talk(Leader& leader);
  boost::asio::awaitable<void> judge();
  boost::asio::awaitable<void> pause();
  void judge_now();
  void refused();

  boost::asio::io_context& context_;
  std::function<void(election::LeaseId)> dead_;
  election::PeerWatch watch_;
  std::shared_ptr<Leader> leader_;
};

} // namespace tributary::etcd
