#include "endpoint/hostd/agent_server.hpp"

#include "endpoint/agent/messages.hpp"
#include "endpoint/hostd/peer.hpp"
#include "lib/net/as_result.hpp"
#include "lib/net/serve_each.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include <sys/socket.h>

namespace tributary::hostd {
namespace {

namespace asio = boost::asio;
using asio::local::stream_protocol;
using namespace asio::experimental::awaitable_operators;
using boost::system::error_code;
using net::as_result;

/// Sends the beginning of the text together with the descriptors; how many bytes, or -1.
ssize_t send_with(int socket, std::string_view text,
                  const std::vector<net::FileDescriptor>& descriptors) {
  constexpr std::size_t most = 2;
  std::array<int, most> numbers{};
  const std::size_t count = std::min(descriptors.size(), most);
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = descriptors[i].get();
  }
  iovec part{.iov_base = const_cast<char*>(text.data()), // the kernel only reads it
             .iov_len = text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(most * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(count * sizeof(int));
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(count * sizeof(int));
  std::memcpy(CMSG_DATA(head), numbers.data(), count * sizeof(int));
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

} // namespace

class AgentServer::Impl : public std::enable_shared_from_this<AgentServer::Impl> {
public:
  Impl(asio::io_context& context, int descriptor, AgentService& service)
      : context_(context), acceptor_(context, stream_protocol(), descriptor), service_(service) {}

  void start() {
    asio::co_spawn(context_,
                   net::serve_each(acceptor_,
                                   [self = shared_from_this()](stream_protocol::socket client) {
                                     return self->serve(std::move(client));
                                   }),
                   asio::detached);
  }

  void stop() {
    stopped_ = true;
    error_code ignored;
    acceptor_.close(ignored);
    for (stream_protocol::socket* client : clients_) {
      client->close(ignored);
    }
  }

private:
  static constexpr std::uint32_t root = 0;
  static constexpr std::uint32_t no_user = 0xFFFF'FFFF; ///< no user has this number

  /// Counts a connection, and its user's, for as long as its coroutine runs.
  class Registration {
  public:
    Registration(Impl& server, stream_protocol::socket& client, const host_agent::Peer& peer)
        : server_(server), client_(client),
          // Root of a container does not use up what root has.
          uid_(peer.uid == root && !peer.is_root() ? no_user : peer.uid),
          number_(server.next_connection_++) {
      server_.clients_.insert(&client_);
      ++server_.of_user_[uid_];
    }
    ~Registration() {
      server_.clients_.erase(&client_);
      if (--server_.of_user_[uid_] == 0) {
        server_.of_user_.erase(uid_);
      }
      if (!server_.stopped_) {
        server_.service_.closed(number_);
      }
    }
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;
    [[nodiscard]] AgentService::Connection number() const { return number_; }
    [[nodiscard]] bool is_one_too_many() const {
      return server_.of_user_.at(uid_) > most_connections_of_user ||
             (uid_ != root && server_.clients_.size() - server_.of_root() > most_connections);
    }

  private:
    Impl& server_;
    stream_protocol::socket& client_;
    std::uint32_t uid_;
    AgentService::Connection number_;
  };

  [[nodiscard]] std::size_t of_root() const {
    const auto found = of_user_.find(root);
    return found == of_user_.end() ? 0 : found->second;
  }

  asio::awaitable<void> serve(stream_protocol::socket client) {
    host_agent::Peer peer{.uid = no_user};
    std::string problem;
    try {
      peer = peer_of(client.native_handle());
    } catch (const std::runtime_error& error) {
      problem = error.what();
    }
    const Registration registration(*this, client, peer);
    if (problem.empty() && registration.is_one_too_many()) {
      problem = "too many connections to the host agent; try again later";
    }
    if (!problem.empty()) {
      Reply refusal{.line = service_.refuse(problem)};
      co_await send(client, std::move(refusal));
      co_return;
    }
    std::string input;
    while (!stopped_) {
      asio::steady_timer limit(context_);
      if (service_.keeps(registration.number())) {
        limit.expires_at(asio::steady_timer::time_point::max());
      } else {
        limit.expires_after(timeout);
      }
      const auto read = co_await (
          asio::async_read_until(client, asio::dynamic_buffer(input, host_agent::longest_line),
                                 '\n', as_result) ||
          limit.async_wait(as_result));
      if (read.index() == 1) {
        co_return;
      }
      const auto [error, length] = std::get<0>(read);
      if (error) {
        if (error == asio::error::not_found) {
          Reply refusal{.line = service_.refuse("the request is too long")};
          co_await send(client, std::move(refusal));
        }
        co_return;
      }
      const std::string line = input.substr(0, length);
      input.erase(0, length);
      Reply reply = service_.answer(peer, registration.number(), line);
      if (!co_await send(client, std::move(reply))) {
        co_return;
      }
    }
  }

  /// Whether the connection continues.
  asio::awaitable<bool> send(stream_protocol::socket& client, Reply reply) {
    std::size_t sent = 0;
    if (!reply.descriptors.empty()) {
      const ssize_t n = send_with(client.native_handle(), reply.line, reply.descriptors);
      if (n < 0 && errno == ETOOMANYREFS) {
        reply.line =
            service_.refuse("too many sockets wait for programs that do not take them out of "
                            "their connections to the host agent; try again later");
      } else if (n <= 0) {
        co_return false; // one answer fits the buffer of a client that reads
      }
      sent = n < 0 ? 0 : static_cast<std::size_t>(n);
      reply.descriptors.clear();
    }
    co_return co_await net::write_within(
        timeout, client, asio::buffer(reply.line.data() + sent, reply.line.size() - sent));
  }

  asio::io_context& context_;
  stream_protocol::acceptor acceptor_;
  AgentService& service_;
  std::set<stream_protocol::socket*> clients_;
  std::map<std::uint32_t, std::size_t> of_user_; ///< connections by user id
  AgentService::Connection next_connection_ = 1;
  bool stopped_ = false;
};

AgentServer::AgentServer(asio::io_context& context, int listening_descriptor, AgentService& service)
    : impl_(std::make_shared<Impl>(context, listening_descriptor, service)) {
  impl_->start();
}

AgentServer::~AgentServer() { impl_->stop(); }

void AgentServer::stop() { impl_->stop(); }

} // namespace tributary::hostd
