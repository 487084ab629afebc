// The channel under an agent, against a manager that a test scripts line by line: over a Unix
// socket, and over TLS with certificates made here.

#include "lib/net/as_result.hpp"
#include "lib/net/framing.hpp"
#include "lib/net/steady_clock.hpp"
#include "tests/support/certificates.hpp"
#include "tests/unit/dataplane/agent/test_agent.hpp"

#include "dataplane/control_channel/channel.hpp"
#include "dataplane/control_channel/redial_pause.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

namespace tributary::control_channel {
namespace {

namespace asio = boost::asio;
using namespace agent;
namespace ssl = asio::ssl;
using asio::ip::tcp;
using asio::local::stream_protocol;
using testing::HasSubstr;
using namespace std::chrono_literals;

using net::as_result;
using Script = std::function<asio::awaitable<void>()>;

/// The switch: an agent on a channel, as the process has it, with a shell that publishes
/// immediately.
class Switch final : public ChannelUser {
public:
  Switch(asio::io_context& context, ChannelSettings settings)
      : shell(leaf0(), {.hello_interval_ns = 0}), timer_(context),
        channel(context, std::move(settings), "leaf0", *this) {}

  void channel_up() override { agent().channel_up(net::steady_now()); }
  bool received(const control::ManagerMessage& message) override {
    agent().receive(message, net::steady_now());
    return agent().is_welcomed();
  }
  void batch_ended() override { act(); }
  void channel_down(const std::string& why) override {
    ends.push_back(why);
    agent().channel_down(net::steady_now(), why);
  }

  void stop() {
    channel.stop();
    timer_.cancel();
  }

  Agent& agent() { return shell.agent; }
  TestAgent shell;
  std::vector<std::string> ends;

private:
  void act() {
    agent().poll(net::steady_now());
    shell.publish();
    channel.send(agent().take_messages());
    if (auto why = agent().take_disconnect()) {
      channel.close(*why);
    }
    const TimeNs next = agent().next_deadline();
    if (next != never) {
      timer_.expires_at(net::time_point_of(next));
      timer_.async_wait([this](const boost::system::error_code& error) {
        if (!error) {
          act();
        }
      });
    }
  }
  asio::steady_timer timer_;

public:
  Channel channel; ///< last: it calls the others
};

/// The manager's end of one connection.
template <typename Stream> class Peer {
public:
  explicit Peer(Stream stream) : stream_(std::forward<Stream>(stream)) {}

  /// In one write.
  template <typename... Messages> asio::awaitable<void> send(const Messages&... messages) {
    std::string bytes;
    (net::append_frame(bytes, messages), ...);
    return send_bytes(std::move(bytes));
  }
  asio::awaitable<void> send_bytes(std::string bytes) {
    const auto [error, n] = co_await asio::async_write(stream_, asio::buffer(bytes), as_result);
    EXPECT_FALSE(error) << error.message();
  }
  /// "end" when the switch has closed.
  asio::awaitable<std::string> receive() {
    while (true) {
      if (const auto payload = reader_.next()) {
        control::SwitchMessage message;
        EXPECT_TRUE(message.ParseFromArray(payload->data(), static_cast<int>(payload->size())));
        co_return text_of(message);
      }
      std::array<std::byte, 4096> buffer;
      const auto [error, n] = co_await stream_.async_read_some(asio::buffer(buffer), as_result);
      if (error) {
        co_return "end";
      }
      reader_.append(std::span(buffer).first(n));
    }
  }
  Stream& stream() { return stream_; }

private:
  Stream stream_;
  net::FrameReader reader_;
};

control::ManagerMessage welcome(std::uint32_t keepalive_ms = 0) {
  control::ManagerMessage message;
  message.mutable_welcome()->set_manager("fabric");
  message.mutable_welcome()->set_keepalive_ms(keepalive_ms);
  return message;
}
control::ManagerMessage prepare(std::uint64_t transaction, unsigned tree_number) {
  control::ManagerMessage message;
  message.mutable_prepare()->set_transaction(transaction);
  *message.mutable_prepare()->add_changes() = set_tree(tree_number, 3, 0, {1, 2});
  return message;
}
control::ManagerMessage commit(std::uint64_t transaction) {
  control::ManagerMessage message;
  message.mutable_commit()->set_transaction(transaction);
  return message;
}

class ChannelTest : public testing::Test {
protected:
  using UnixPeer = Peer<stream_protocol::socket>;

  void SetUp() override {
    settings.addresses = {at("switches.sock")};
    settings.first_pause = 1ms;
    settings.longest_pause = 4ms;
  }

  [[nodiscard]] net::Address at(const std::string& file) const {
    return {.path = directory.file(file), .tcp = {}};
  }
  [[nodiscard]] std::unique_ptr<stream_protocol::acceptor> listening_at(std::size_t address) {
    return std::make_unique<stream_protocol::acceptor>(
        context, stream_protocol::endpoint(settings.addresses.at(address).path));
  }
  static asio::awaitable<UnixPeer> accept_at(stream_protocol::acceptor& listening) {
    auto [error, socket] = co_await listening.async_accept(as_result);
    EXPECT_FALSE(error) << error.message();
    co_return UnixPeer(std::move(socket));
  }
  void listen() {
    acceptor.emplace(context, stream_protocol::endpoint(settings.addresses.at(0).path));
  }
  asio::awaitable<UnixPeer> accept() {
    auto [error, socket] = co_await acceptor->async_accept(as_result);
    EXPECT_FALSE(error) << error.message();
    co_return UnixPeer(std::move(socket));
  }
  /// Accepts, and goes through hello and Welcome. `hello` gets the hello.
  asio::awaitable<UnixPeer> meet(std::string& hello, std::uint32_t keepalive_ms = 0) {
    UnixPeer peer = co_await accept();
    hello = co_await peer.receive();
    co_await peer.send(welcome(keepalive_ms));
    co_return peer;
  }
  /// Runs the switch against a script until the script ends.
  void play(const Script& script) {
    sw.emplace(context, settings);
    sw->channel.start();
    bool ended = false;
    asio::co_spawn(context, script, [&](const std::exception_ptr& error) {
      EXPECT_EQ(error, nullptr);
      ended = true;
      sw->stop();
      acceptor.reset();
      timeout.cancel();
    });
    // Only ends a script that waits for a message that never arrives.
    timeout.expires_after(60s);
    timeout.async_wait([&](const boost::system::error_code& error) {
      if (!error) {
        context.stop();
      }
    });
    context.run();
    EXPECT_TRUE(ended) << "the script was still waiting";
  }

  test::ScratchDirectory directory;
  asio::io_context context;
  asio::steady_timer timeout{context};
  ChannelSettings settings;
  std::optional<stream_protocol::acceptor> acceptor;
  std::optional<Switch> sw;
};

TEST_F(ChannelTest, carries_a_transaction_from_prepare_to_committed) {
  listen();
  play([&]() -> asio::awaitable<void> {
    std::string hello;
    UnixPeer peer = co_await meet(hello);
    EXPECT_THAT(hello, HasSubstr("hello leaf0 in force 1:"));
    co_await peer.send(prepare(5, 7));
    EXPECT_EQ(co_await peer.receive(), "prepared 5");
    co_await peer.send(commit(5));
    EXPECT_EQ(co_await peer.receive(), "committed 5 in 2");
    EXPECT_TRUE(sw->shell.tables->tree(tree(7)).valid);
  });
}

TEST_F(ChannelTest, a_thousand_commits_that_come_together_cost_few_snapshots) {
  listen();
  play([&]() -> asio::awaitable<void> {
    std::string hello;
    UnixPeer peer = co_await meet(hello);
    std::string messages;
    for (unsigned i = 0; i < 1000; ++i) {
      net::append_frame(messages, prepare(i + 1, 100 + i));
      net::append_frame(messages, commit(i + 1));
    }
    co_await peer.send_bytes(messages);
    int committed = 0;
    while (committed < 1000) {
      const std::string text = co_await peer.receive();
      if (text == "end") {
        ADD_FAILURE() << "the switch closed after " << committed;
        break;
      }
      committed += text.starts_with("committed") ? 1 : 0;
    }
    EXPECT_EQ(sw->shell.tables->tree_count(), 1001U);
    EXPECT_LT(sw->shell.snapshots, 500);
  });
}

TEST_F(ChannelTest, understands_messages_that_come_byte_by_byte) {
  listen();
  play([&]() -> asio::awaitable<void> {
    std::string hello;
    UnixPeer peer = co_await meet(hello);
    std::string bytes;
    net::append_frame(bytes, prepare(5, 7));
    for (const char byte : bytes) {
      co_await peer.send_bytes(std::string(1, byte));
    }
    EXPECT_EQ(co_await peer.receive(), "prepared 5");
  });
}

TEST_F(ChannelTest, dials_until_a_manager_that_is_away_comes) {
  play([&]() -> asio::awaitable<void> {
    asio::steady_timer timer(context, 20ms);
    co_await timer.async_wait(as_result);
    EXPECT_TRUE(sw->ends.empty());
    listen();
    std::string hello;
    UnixPeer peer = co_await meet(hello);
    EXPECT_THAT(hello, HasSubstr("hello leaf0"));
  });
}

TEST_F(ChannelTest, dials_again_after_a_break_and_reports_what_is_in_force) {
  listen();
  play([&]() -> asio::awaitable<void> {
    std::string hello;
    {
      UnixPeer peer = co_await meet(hello);
      co_await peer.send(prepare(5, 7), commit(5), prepare(6, 8));
      EXPECT_EQ(co_await peer.receive(), "prepared 5");
      EXPECT_EQ(co_await peer.receive(), "prepared 6");
      EXPECT_EQ(co_await peer.receive(), "committed 5 in 2");
    }
    UnixPeer peer = co_await meet(hello);
    EXPECT_THAT(hello, HasSubstr("[tree 7 wait 3"));
    EXPECT_THAT(sw->ends, testing::ElementsAre("the manager closed the connection"));
    co_await peer.send(commit(6));
    EXPECT_EQ(co_await peer.receive(), "refused 6: it is not prepared here");
  });
}

TEST_F(ChannelTest, ends_when_the_manager_falls_silent) {
  listen();
  play([&]() -> asio::awaitable<void> {
    std::string hello;
    UnixPeer silent = co_await meet(hello, 10);
    EXPECT_EQ(co_await silent.receive(), "end");
    UnixPeer next = co_await meet(hello);
    EXPECT_THAT(sw->ends.at(0), HasSubstr("nothing was received from the manager for"));
  });
}

TEST_F(ChannelTest, ends_when_the_manager_does_not_take_the_switch) {
  listen();
  play([&]() -> asio::awaitable<void> {
    UnixPeer peer = co_await accept();
    co_await peer.receive();
    control::ManagerMessage rejected;
    rejected.mutable_rejected()->set_reason("another leaf0 is connected");
    co_await peer.send(rejected);
    EXPECT_EQ(co_await peer.receive(), "end");
    std::string hello;
    UnixPeer next = co_await meet(hello);
    EXPECT_THAT(sw->ends.at(0), HasSubstr("another leaf0 is connected"));
  });
}

TEST_F(ChannelTest, ends_when_the_switch_does_not_accept_the_manager) {
  listen();
  play([&]() -> asio::awaitable<void> {
    const auto welcome_of = [](std::uint32_t epoch) {
      control::ManagerMessage message = welcome();
      message.mutable_welcome()->mutable_leader()->set_fabric(0xA);
      message.mutable_welcome()->mutable_leader()->set_epoch(epoch);
      return message;
    };
    {
      UnixPeer peer = co_await accept();
      co_await peer.receive();
      co_await peer.send(welcome_of(5), prepare(5, 7), commit(5));
      EXPECT_EQ(co_await peer.receive(), "prepared 5");
    }
    control::ManagerMessage remove;
    remove.mutable_prepare()->set_transaction(6);
    *remove.mutable_prepare()->add_changes() = remove_tree(7);
    UnixPeer older = co_await accept();
    co_await older.receive();
    co_await older.send(welcome_of(4), remove, commit(6));
    EXPECT_EQ(co_await older.receive(), "end");
    UnixPeer newer = co_await accept();
    EXPECT_THAT(co_await newer.receive(), HasSubstr("[tree 7 wait 3"));
    EXPECT_THAT(sw->ends.at(1), HasSubstr("its epoch is 4"));
  });
}

// ---- several addresses ----

TEST_F(ChannelTest, dials_the_next_address_when_one_is_away) {
  settings.addresses = {at("away.sock"), at("there.sock")};
  settings.first_pause = settings.longest_pause = 30s; // the second one is asked without a pause
  const auto there = listening_at(1);
  play([&]() -> asio::awaitable<void> {
    UnixPeer peer = co_await accept_at(*there);
    EXPECT_THAT(co_await peer.receive(), HasSubstr("hello leaf0"));
  });
}

TEST_F(ChannelTest, does_not_wait_for_a_manager_that_accepts_and_does_not_answer) {
  settings.addresses = {at("stopped.sock"), at("there.sock")};
  settings.first_limit = 200ms;
  const auto stopped = listening_at(0); // the kernel accepts, as for a process that was stopped
  const auto there = listening_at(1);
  play([&]() -> asio::awaitable<void> {
    UnixPeer peer = co_await accept_at(*there);
    EXPECT_THAT(co_await peer.receive(), HasSubstr("hello leaf0"));
    EXPECT_THAT(sw->ends, testing::ElementsAre("it did not answer the switch's hello in time"));
  });
}

TEST_F(ChannelTest, a_manager_that_was_welcomed_is_not_limited_by_the_time_for_its_answer) {
  settings.addresses = {at("there.sock"), at("away.sock")};
  settings.first_limit = 500ms;
  const auto there = listening_at(0);
  play([&]() -> asio::awaitable<void> {
    UnixPeer peer = co_await accept_at(*there);
    co_await peer.receive();
    co_await peer.send(welcome());
    asio::steady_timer timer(context, 700ms);
    co_await timer.async_wait(as_result);
    co_await peer.send(prepare(5, 7));
    EXPECT_EQ(co_await peer.receive(), "prepared 5");
  });
}

TEST_F(ChannelTest, begins_with_the_next_address_after_a_break_and_after_a_rejection) {
  settings.addresses = {at("a.sock"), at("b.sock"), at("c.sock")};
  const auto a = listening_at(0);
  const auto b = listening_at(1);
  const auto c = listening_at(2);
  play([&]() -> asio::awaitable<void> {
    {
      UnixPeer peer = co_await accept_at(*a);
      co_await peer.receive();
      co_await peer.send(welcome());
    }
    UnixPeer second = co_await accept_at(*b);
    co_await second.receive();
    control::ManagerMessage rejected;
    rejected.mutable_rejected()->set_reason("this manager is a standby");
    co_await second.send(rejected);
    UnixPeer third = co_await accept_at(*c);
    EXPECT_THAT(co_await third.receive(), HasSubstr("hello leaf0"));
  });
}

TEST_F(ChannelTest, dials_the_leader_that_a_rejection_names_if_it_knows_the_address) {
  settings.addresses = {at("a.sock"), at("b.sock"), at("c.sock")};
  const auto a = listening_at(0);
  const auto b = listening_at(1);
  const auto c = listening_at(2);
  play([&]() -> asio::awaitable<void> {
    const auto reject = [](UnixPeer& peer, std::string leader) -> asio::awaitable<void> {
      co_await peer.receive();
      control::ManagerMessage rejected;
      rejected.mutable_rejected()->set_reason("this manager is a standby");
      rejected.mutable_rejected()->set_leader_address(std::move(leader));
      co_await peer.send(rejected);
    };
    UnixPeer first = co_await accept_at(*a);
    co_await reject(first, settings.addresses[2].text());
    UnixPeer second = co_await accept_at(*c);
    co_await reject(second, "elsewhere.example:7581"); // the one that was not asked yet is b
    UnixPeer third = co_await accept_at(*b);
    EXPECT_THAT(co_await third.receive(), HasSubstr("hello leaf0"));
  });
}

TEST_F(ChannelTest, managers_that_name_each_other_are_not_dialled_without_a_pause) {
  settings.addresses = {at("a.sock"), at("b.sock")};
  settings.first_pause = settings.longest_pause = 200ms;
  const auto a = listening_at(0);
  const auto b = listening_at(1);
  play([&]() -> asio::awaitable<void> {
    const auto begin = std::chrono::steady_clock::now();
    for (int round = 0; round < 2; ++round) {
      for (std::size_t at = 0; at < 2; ++at) {
        UnixPeer peer = co_await accept_at(at == 0 ? *a : *b);
        co_await peer.receive();
        control::ManagerMessage rejected;
        rejected.mutable_rejected()->set_reason("this manager is a standby");
        rejected.mutable_rejected()->set_leader_address(settings.addresses[1 - at].text());
        co_await peer.send(rejected);
      }
    }
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 100ms) << "half of a pause";
  });
}

TEST_F(ChannelTest, needs_an_address) {
  settings.addresses.clear();
  class User final : public ChannelUser {
    void channel_up() override {}
    bool received(const control::ManagerMessage&) override { return false; }
    void batch_ended() override {}
    void channel_down(const std::string&) override {}
  } user;
  EXPECT_THROW(Channel(context, settings, "leaf0", user), std::invalid_argument);
}

TEST_F(ChannelTest, ends_at_bytes_that_are_no_message) {
  listen();
  play([&]() -> asio::awaitable<void> {
    std::string hello;
    UnixPeer peer = co_await meet(hello);
    co_await peer.send_bytes(std::string("\0\0\0\3\xFF\xFF\xFF", 7));
    EXPECT_EQ(co_await peer.receive(), "end");
    UnixPeer next = co_await meet(hello);
    EXPECT_EQ(sw->ends.at(0), "it sent bytes that are not a message");
  });
}

TEST_F(ChannelTest, ends_at_a_message_that_is_announced_too_long) {
  listen();
  play([&]() -> asio::awaitable<void> {
    std::string hello;
    UnixPeer peer = co_await meet(hello);
    co_await peer.send_bytes("\x7F\xFF\xFF\xFF");
    EXPECT_EQ(co_await peer.receive(), "end");
    UnixPeer next = co_await meet(hello);
    EXPECT_THAT(sw->ends.at(0), HasSubstr("announced a message of 2147483647 bytes"));
  });
}

TEST_F(ChannelTest, ends_when_the_manager_does_not_read) {
  settings.max_queued_bytes = 100'000;
  listen();
  play([&]() -> asio::awaitable<void> {
    std::string hello;
    UnixPeer peer = co_await meet(hello);
    // Answers of some 60 bytes each, until the socket and the queue are full.
    for (unsigned i = 0; i < 200'000 && sw->ends.empty(); ++i) {
      std::string bytes;
      net::append_frame(bytes, commit(i));
      const auto [error, n] =
          co_await asio::async_write(peer.stream(), asio::buffer(bytes), as_result);
      if (error) {
        break;
      }
    }
    UnixPeer next = co_await meet(hello);
    EXPECT_THAT(sw->ends.at(0), HasSubstr("it does not read: "));
  });
}

TEST_F(ChannelTest, what_is_sent_without_a_connection_is_dropped) {
  listen();
  play([&]() -> asio::awaitable<void> {
    sw->channel.send(std::vector<control::SwitchMessage>(3));
    std::string hello;
    UnixPeer peer = co_await meet(hello);
    EXPECT_THAT(hello, HasSubstr("hello leaf0"));
  });
}

// ---- TLS ----

class TlsChannelTest : public ChannelTest {
protected:
  using TlsStream = ssl::stream<tcp::socket>;

  static void SetUpTestSuite() {
    certificates = std::make_unique<test::ScratchDirectory>();
    const test::CertificateAuthority ca(*certificates, "ca");
    ca.sign("manager", "IP:127.0.0.1");
    ca.sign("elsewhere", "IP:127.0.0.2,DNS:manager");
    ca.sign("leaf0", "DNS:leaf0");
    test::CertificateAuthority(*certificates, "other").sign("impostor", "IP:127.0.0.1");
  }
  static void TearDownTestSuite() { certificates.reset(); }

  void SetUp() override {
    ChannelTest::SetUp();
    tcp_acceptor.emplace(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    settings.addresses = {
        {.path = {}, .tcp = {"127.0.0.1", tcp_acceptor->local_endpoint().port()}}};
    settings.tls = {certificates->file("ca.pem"), certificates->file("leaf0.pem"),
                    certificates->file("leaf0.key")};
  }
  void use_certificate(const std::string& name) {
    server_tls.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
    server_tls.load_verify_file(certificates->file("ca.pem"));
    server_tls.use_certificate_chain_file(certificates->file(name + ".pem"));
    server_tls.use_private_key_file(certificates->file(name + ".key"), ssl::context::pem);
  }
  /// The error of the handshake; without one the stream can be used.
  asio::awaitable<boost::system::error_code> shake_hands(std::optional<TlsStream>& stream) {
    auto [refused, socket] = co_await tcp_acceptor->async_accept(as_result);
    EXPECT_FALSE(refused);
    stream.emplace(std::move(socket), server_tls);
    const auto [error] = co_await stream->async_handshake(ssl::stream_base::server, as_result);
    co_return error;
  }
  /// Checks twice that a connection never reaches the hello.
  void expect_no_channel() {
    play([&]() -> asio::awaitable<void> {
      for (int i = 0; i < 2; ++i) {
        std::optional<TlsStream> stream;
        if (!co_await shake_hands(stream)) {
          Peer<TlsStream&> peer(*stream);
          EXPECT_EQ(co_await peer.receive(), "end");
        }
      }
      EXPECT_TRUE(sw->ends.empty());
    });
  }

  static inline std::unique_ptr<test::ScratchDirectory> certificates;
  ssl::context server_tls{ssl::context::tls_server};
  std::optional<tcp::acceptor> tcp_acceptor;
};

TEST_F(TlsChannelTest, carries_messages_and_shows_the_switches_certificate) {
  use_certificate("manager");
  play([&]() -> asio::awaitable<void> {
    std::optional<TlsStream> stream;
    const auto error = co_await shake_hands(stream);
    EXPECT_FALSE(error) << error.message();
    const std::unique_ptr<X509, void (*)(X509*)> shown(
        SSL_get1_peer_certificate(stream->native_handle()), &X509_free);
    EXPECT_NE(shown, nullptr);
    if (shown != nullptr) {
      EXPECT_EQ(X509_check_host(shown.get(), "leaf0", 5, 0, nullptr), 1);
    }
    Peer<TlsStream&> peer(*stream);
    EXPECT_THAT(co_await peer.receive(), HasSubstr("hello leaf0"));
    co_await peer.send(welcome(), prepare(5, 7), commit(5));
    EXPECT_EQ(co_await peer.receive(), "prepared 5");
    EXPECT_EQ(co_await peer.receive(), "committed 5 in 2");
  });
}

TEST_F(TlsChannelTest, is_dialled_again_after_a_break) {
  use_certificate("manager");
  play([&]() -> asio::awaitable<void> {
    for (int i = 0; i < 3; ++i) {
      std::optional<TlsStream> stream;
      const auto error = co_await shake_hands(stream);
      EXPECT_FALSE(error) << error.message();
      Peer<TlsStream&> peer(*stream);
      EXPECT_THAT(co_await peer.receive(), HasSubstr("hello leaf0"));
      stream->lowest_layer().close();
    }
    EXPECT_GE(sw->ends.size(), 2U);
  });
}

TEST_F(TlsChannelTest, is_not_opened_to_a_manager_of_another_ca) {
  use_certificate("impostor");
  expect_no_channel();
}

TEST_F(TlsChannelTest, is_not_opened_to_a_manager_of_another_name) {
  use_certificate("elsewhere");
  expect_no_channel();
}

TEST_F(TlsChannelTest, needs_files_that_can_be_used) {
  settings.tls.key = directory.file("nothing.key");
  try {
    Switch refused(context, settings);
    FAIL() << "a missing key was taken";
  } catch (const ChannelError& e) {
    EXPECT_THAT(e.what(), HasSubstr("the TLS key " + settings.tls.key + " cannot be used"));
  }
}

// ---- the pause between attempts ----

TEST(RedialPause, doubles_up_to_its_longest_and_keeps_between_half_and_whole) {
  RedialPause pause(50ms, 5000ms, 1);
  for (const int whole : {50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000}) {
    const auto taken = pause.next().count();
    EXPECT_GE(taken, whole / 2);
    EXPECT_LE(taken, whole);
  }
  pause.start_over();
  EXPECT_LE(pause.next().count(), 50);
}

TEST(RedialPause, differs_between_switches) {
  RedialPause a(5000ms, 5000ms, 1);
  RedialPause b(5000ms, 5000ms, 2);
  bool differs = false;
  for (int i = 0; i < 10; ++i) {
    differs |= a.next() != b.next();
  }
  EXPECT_TRUE(differs);
}

} // namespace
} // namespace tributary::control_channel
