#include "controlplane/etcd/peer.hpp"

#include "lib/net/as_result.hpp"
#include "lib/net/serve_each.hpp"
#include "lib/net/steady_clock.hpp"
#include "lib/net/tcp_listener.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/tcp_stream.hpp>

#include <algorithm>
#include <utility>

namespace tributary::etcd {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using net::as_result;

namespace {

using Stream = boost::beast::tcp_stream;

/// A standby asks ten times a second.
constexpr std::chrono::seconds idle_limit{10};

asio::awaitable<error_code> send_all(Stream& stream, asio::const_buffer bytes) {
  const auto [error, count] = co_await asio::async_write(stream, bytes, as_result);
  co_return error;
}

asio::awaitable<error_code> receive_all(Stream& stream, asio::mutable_buffer bytes) {
  const auto [error, count] = co_await asio::async_read(stream, bytes, as_result);
  co_return error;
}

void send_at_once(tcp::socket& socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
}

} // namespace

// ---- answering ----

PeerListener::PeerListener(asio::io_context& context, const net::HostPort& where,
                           std::string instance)
    : instance_(std::move(instance)), place_(where),
      acceptors_(net::listen_on_tcp(context, where)) {
  place_.port = acceptors_.front().local_endpoint().port();
  for (tcp::acceptor& acceptor : acceptors_) {
    const auto serve = [instance = instance_, askers = askers_](tcp::socket socket) {
      return answer(std::move(socket), instance, askers);
    };
    asio::co_spawn(context, net::serve_each(acceptor, serve), asio::detached);
  }
}

bool PeerListener::is_loopback() const {
  return std::ranges::all_of(acceptors_, [](const tcp::acceptor& one) {
    error_code ignored;
    return one.local_endpoint(ignored).address().is_loopback();
  });
}

asio::awaitable<void> PeerListener::answer(tcp::socket socket, std::string instance,
                                           std::shared_ptr<std::size_t> askers) {
  struct Place {
    explicit Place(std::size_t& of) : count(of) { ++count; }
    ~Place() { --count; }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    std::size_t& count;
  };
  if (*askers == most_askers) {
    co_return;
  }
  const Place place(*askers);
  send_at_once(socket);
  Stream stream(std::move(socket));
  const std::string greeting = instance + '\n';
  stream.expires_after(idle_limit);
  error_code error = co_await send_all(stream, asio::buffer(greeting));
  for (char byte = 0; !error;) {
    stream.expires_after(idle_limit);
    error = co_await receive_all(stream, asio::buffer(&byte, 1));
    if (!error) {
      error = co_await send_all(stream, asio::buffer(&byte, 1));
    }
  }
}

// ---- asking ----

PeerAsker::PeerAsker(asio::io_context& context, std::function<void(election::LeaseId)> dead)
    : context_(context), dead_(std::move(dead)) {
  asio::co_spawn(context_, ask(), asio::detached);
  asio::co_spawn(context_, judge(), asio::detached);
}

void PeerAsker::follow(election::LeaseId lease, const std::string& instance,
                       const net::HostPort& where) {
  watch_.follow(net::boot_now(), lease);
  if (lease == 0) {
    leader_.reset();
  } else if (!leader_ || leader_->lease != lease) {
    leader_ = std::make_shared<Leader>(
        Leader{.lease = lease, .instance = instance, .where = where, .places = {}});
  }
}

asio::awaitable<void> PeerAsker::pause() {
  asio::steady_timer timer(context_);
  timer.expires_after(std::chrono::nanoseconds(watch_.timing().ping_ns));
  co_await timer.async_wait(as_result);
}

void PeerAsker::judge_now() {
  if (watch_.is_dead(net::boot_now())) {
    dead_(watch_.lease());
  }
}

void PeerAsker::refused() {
  watch_.refused(net::boot_now());
  judge_now();
}

asio::awaitable<void> PeerAsker::judge() {
  for (;;) {
    co_await pause();
    judge_now();
  }
}

asio::awaitable<void> PeerAsker::ask() {
  for (;;) {
    const std::shared_ptr<Leader> leader = leader_;
    const bool has_answered = leader && co_await talk(*leader);
    // One that has answered is dialled again at once: what its machine says now decides.
    if (!has_answered) {
      co_await pause();
    }
  }
}

/// Until the connection ends, or another manager leads. Whether it has answered.
asio::awaitable<bool> PeerAsker::talk(Leader& leader) {
  const std::chrono::nanoseconds limit(watch_.timing().silence_ns);
  if (leader.places.empty()) {
    tcp::resolver resolver(context_);
    const auto [error, found] = co_await resolver.async_resolve(
        leader.where.host, std::to_string(leader.where.port), as_result);
    if (error) {
      co_return false;
    }
    for (const auto& entry : found) {
      leader.places.push_back(entry.endpoint());
    }
  }
  Stream stream(context_);
  stream.expires_after(limit);
  const std::vector<tcp::endpoint> places = leader.places;
  const auto [no_connection, place] = co_await stream.async_connect(places, as_result);
  if (no_connection) {
    if (no_connection == asio::error::connection_refused) {
      refused();
    }
    co_return false;
  }
  send_at_once(stream.socket());
  std::string greeting(leader.instance.size() + 1, ' ');
  stream.expires_after(limit);
  error_code error = co_await receive_all(stream, asio::buffer(greeting));
  if (error) {
    co_return false;
  }
  if (greeting != leader.instance + '\n') {
    refused(); // another run of that manager, or something else
    co_return false;
  }
  leader.places.assign(1, place);
  for (char byte = '.'; !error && leader_.get() == &leader;) {
    watch_.answered(net::boot_now());
    co_await pause();
    stream.expires_after(limit);
    error = co_await send_all(stream, asio::buffer(&byte, 1));
    if (!error) {
      error = co_await receive_all(stream, asio::buffer(&byte, 1));
    }
  }
  co_return true;
}

} // namespace tributary::etcd
