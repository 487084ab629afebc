#include "controlplane/southbound/channel_server.hpp"

#include "controlplane/southbound/protocol/channel_sink.hpp"
#include "dialler.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/client_hello.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tributary::southbound {
namespace {

namespace asio = boost::asio;
using southbound::protocol::ChannelSink;
using test::as_result;
using test::Dialler;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using transaction::SessionNumber;
using namespace std::chrono_literals;

/// Far beyond the needs of any test; only a hang reaches it.
constexpr auto hang_limit = 60s;

class RecordingSink final : public ChannelSink {
public:
  void welcome(const control::SwitchHello& hello, control::Welcome& welcome) override {
    welcome.mutable_leader()->set_fabric(fabric);
    welcome.set_adopted_fabric(hello.leader().fabric());
  }
  std::optional<std::string> connected(SessionNumber session,
                                       const control::SwitchHello& hello) override {
    names.push_back(hello.name());
    by_name[hello.name()] = session;
    if (on_connected) {
      on_connected(session);
    }
    return refusal;
  }
  void message(SessionNumber session, const control::SwitchMessage& message) override {
    messages.emplace_back(session, message);
  }
  void lost(SessionNumber session, std::string_view why) override {
    losses.emplace_back(session, why);
  }
  void turning_away(std::string_view why) override { turned_away.emplace_back(why); }
  std::string leader_address() override { return "fm1:7581"; }

  std::uint64_t fabric = 0xA;
  std::optional<std::string> refusal;
  std::vector<std::string> turned_away;
  std::function<void(SessionNumber)> on_connected;
  std::vector<std::string> names;
  std::map<std::string, SessionNumber> by_name;
  std::vector<std::pair<SessionNumber, control::SwitchMessage>> messages;
  std::vector<std::pair<SessionNumber, std::string>> losses;
};

control::ManagerMessage commit(std::uint64_t transaction) {
  control::ManagerMessage message;
  message.mutable_commit()->set_transaction(transaction);
  return message;
}
control::SwitchMessage committed(std::uint64_t transaction) {
  control::SwitchMessage message;
  message.mutable_committed()->set_transaction(transaction);
  return message;
}

class ChannelServerTest : public ::testing::Test {
protected:
  using Script = std::function<asio::awaitable<void>()>;

  void serve(ChannelServerSettings settings = {}) {
    settings.sessions.manager = "fabricd";
    server.emplace(io, sink, std::move(settings));
    server->listen_unix(path);
  }

  /// Runs the script to its end, and the server with it.
  void run(Script script) {
    bool done = false;
    asio::co_spawn(io, script, [&](const std::exception_ptr& error) {
      done = true;
      EXPECT_FALSE(error);
      server->stop();
      io.stop();
    });
    io.run_for(hang_limit);
    EXPECT_TRUE(done) << "the script hangs";
  }

  asio::awaitable<void> pause(std::chrono::milliseconds time) {
    asio::steady_timer timer(io, time);
    co_await timer.async_wait(as_result);
  }
  asio::awaitable<void> until(std::function<bool()> condition) {
    while (!condition()) {
      co_await pause(1ms);
    }
  }

  test::ScratchDirectory directory;
  std::string path = directory.file("switches.sock");
  asio::io_context io;
  RecordingSink sink;
  std::optional<ChannelServer> server;
};

// ---- the ordinary case ----

TEST_F(ChannelServerTest, WelcomesASwitchAndCarriesMessagesBothWays) {
  serve();
  run([this]() -> asio::awaitable<void> {
    Dialler leaf(io);
    EXPECT_TRUE(co_await leaf.dial(path));
    const auto answer = co_await leaf.greet("leaf0");
    EXPECT_TRUE(answer && answer->has_welcome());
    EXPECT_EQ(answer->welcome().manager(), "fabricd");
    EXPECT_EQ(answer->welcome().leader().fabric(), 0xAU) << "the sink completes it";
    server->send(sink.by_name.at("leaf0"), commit(9));
    const auto heard = co_await leaf.hear();
    EXPECT_TRUE(heard && heard->commit().transaction() == 9);
    co_await leaf.say(committed(9));
    co_await until([&] { return !sink.messages.empty(); });
    leaf.hang_up();
    co_await until([&] { return !sink.losses.empty(); });
  });
  EXPECT_EQ(sink.messages.at(0).first, sink.by_name.at("leaf0"));
  EXPECT_EQ(sink.messages.at(0).second.committed().transaction(), 9U);
  EXPECT_EQ(sink.losses.at(0).first, sink.by_name.at("leaf0"));
  EXPECT_EQ(sink.losses.at(0).second, "the switch closed the connection");
}

TEST_F(ChannelServerTest, WelcomeComesBeforeWhatTheSinkSendsFromWithin) {
  serve();
  sink.on_connected = [this](SessionNumber session) { server->send(session, commit(1)); };
  run([this]() -> asio::awaitable<void> {
    Dialler leaf(io);
    EXPECT_TRUE(co_await leaf.dial(path));
    const auto first = co_await leaf.greet("leaf0");
    const auto second = co_await leaf.hear();
    EXPECT_TRUE(first && first->has_welcome());
    EXPECT_TRUE(second && second->has_commit());
  });
}

TEST_F(ChannelServerTest, ThousandsOfMessagesArriveInOrderBothWays) {
  constexpr std::uint64_t count = 5000;
  serve();
  run([this]() -> asio::awaitable<void> {
    Dialler leaf(io);
    EXPECT_TRUE(co_await leaf.dial(path));
    co_await leaf.greet("leaf0");
    for (std::uint64_t n = 0; n < count; ++n) {
      server->send(sink.by_name.at("leaf0"), commit(n));
    }
    for (std::uint64_t n = 0; n < count; ++n) {
      const auto heard = co_await leaf.hear();
      EXPECT_TRUE(heard && heard->commit().transaction() == n);
      co_await leaf.say(committed(n));
    }
    co_await until([&] { return sink.messages.size() == count; });
  });
  for (std::uint64_t n = 0; n < count; ++n) {
    ASSERT_EQ(sink.messages[n].second.committed().transaction(), n);
  }
}

TEST_F(ChannelServerTest, AHelloThatComesByteByByteIsAHello) {
  serve();
  run([this]() -> asio::awaitable<void> {
    Dialler leaf(io);
    EXPECT_TRUE(co_await leaf.dial(path));
    std::string bytes;
    net::append_frame(bytes, Dialler::hello("leaf0"));
    for (const char byte : bytes) {
      co_await leaf.say_bytes(std::string(1, byte));
      co_await pause(0ms);
    }
    const auto answer = co_await leaf.hear();
    EXPECT_TRUE(answer && answer->has_welcome());
  });
}

TEST_F(ChannelServerTest, ASessionThatIsClosedGetsWhatWasSentAndTheSinkHearsNoMore) {
  serve();
  run([this]() -> asio::awaitable<void> {
    Dialler leaf(io);
    EXPECT_TRUE(co_await leaf.dial(path));
    co_await leaf.greet("leaf0");
    const SessionNumber session = sink.by_name.at("leaf0");
    server->send(session, commit(1));
    server->close(session, "it does not answer");
    server->send(session, commit(2));
    const auto heard = co_await leaf.hear();
    EXPECT_TRUE(heard && heard->commit().transaction() == 1);
    co_await leaf.say(committed(1));
    EXPECT_FALSE((co_await leaf.hear()).has_value()) << "the manager hangs up";
    leaf.hang_up();
    co_await until([&] { return server->connection_count() == 0; });
  });
  EXPECT_THAT(sink.messages, IsEmpty());
  EXPECT_THAT(sink.losses, IsEmpty());
}

TEST_F(ChannelServerTest, ASwitchThatDoesNotHangUpAfterACloseIsCutOff) {
  serve({.close_limit = 20ms});
  run([this]() -> asio::awaitable<void> {
    Dialler leaf(io);
    EXPECT_TRUE(co_await leaf.dial(path));
    co_await leaf.greet("leaf0");
    server->close(sink.by_name.at("leaf0"), "enough");
    co_await until([&] { return server->connection_count() == 0; });
  });
}

TEST_F(ChannelServerTest, NothingReachesTheSinkAfterStop) {
  serve();
  run([this]() -> asio::awaitable<void> {
    Dialler leaf(io);
    EXPECT_TRUE(co_await leaf.dial(path));
    co_await leaf.greet("leaf0");
    co_await leaf.say(committed(1));
    server->stop();
    EXPECT_FALSE((co_await leaf.hear()).has_value());
    Dialler late(io);
    EXPECT_FALSE(co_await late.dial(path)) << "no server listens any more";
  });
  EXPECT_THAT(sink.messages, IsEmpty());
  EXPECT_THAT(sink.losses, IsEmpty());
}

// ---- refused switches ----

TEST_F(ChannelServerTest, ASecondSwitchOfANameIsRejectedAndTheFirstStays) {
  serve();
  run([this]() -> asio::awaitable<void> {
    Dialler first(io);
    Dialler second(io);
    EXPECT_TRUE(co_await first.dial(path));
    EXPECT_TRUE(co_await second.dial(path));
    co_await first.greet("leaf0", 1);
    const SessionNumber session = sink.by_name.at("leaf0");
    const auto answer = co_await second.greet("leaf0", 2);
    EXPECT_TRUE(answer.has_value());
    EXPECT_THAT(answer->rejected().reason(), HasSubstr("\"leaf0\" is connected already"));
    EXPECT_FALSE((co_await second.hear()).has_value());
    server->send(session, commit(1));
    EXPECT_TRUE((co_await first.hear()).has_value());
  });
  EXPECT_THAT(sink.names, ElementsAre("leaf0"));
  EXPECT_THAT(sink.losses, IsEmpty());
}

TEST_F(ChannelServerTest, TheSameProcessThatDialsAgainTakesOver) {
  serve();
  run([this]() -> asio::awaitable<void> {
    Dialler old(io);
    Dialler now(io);
    EXPECT_TRUE(co_await old.dial(path));
    EXPECT_TRUE(co_await now.dial(path));
    co_await old.greet("leaf0");
    const SessionNumber session = sink.by_name.at("leaf0");
    const auto answer = co_await now.greet("leaf0");
    EXPECT_TRUE(answer && answer->has_welcome());
    EXPECT_THAT(sink.losses, ElementsAre(std::pair(session, std::string("it has dialled again"))));
    EXPECT_NE(sink.by_name.at("leaf0"), session);
    EXPECT_FALSE((co_await old.hear()).has_value());
  });
}

TEST_F(ChannelServerTest, ASinkThatRefusesIsQuotedInsteadOfWelcome) {
  serve();
  sink.refusal = "its name is not in the topology file";
  sink.on_connected = [this](SessionNumber session) { server->send(session, commit(1)); };
  run([this]() -> asio::awaitable<void> {
    Dialler leaf(io);
    EXPECT_TRUE(co_await leaf.dial(path));
    const auto answer = co_await leaf.greet("leaf0");
    EXPECT_TRUE(answer.has_value());
    EXPECT_EQ(answer->rejected().reason(), "its name is not in the topology file");
    EXPECT_EQ(answer->rejected().leader_address(), "fm1:7581");
    EXPECT_FALSE((co_await leaf.hear()).has_value());
    leaf.hang_up();
    co_await until([&] { return server->connection_count() == 0; });
  });
  EXPECT_THAT(sink.losses, IsEmpty());
}

TEST_F(ChannelServerTest, TheFirstMessageMustBeAHello) {
  serve();
  run([this]() -> asio::awaitable<void> {
    Dialler leaf(io);
    EXPECT_TRUE(co_await leaf.dial(path));
    co_await leaf.say(committed(1));
    const auto answer = co_await leaf.hear();
    EXPECT_TRUE(answer && answer->has_rejected());
  });
  EXPECT_THAT(sink.names, IsEmpty());
}

TEST_F(ChannelServerTest, ASwitchThatSaysNoHelloInTimeIsCutOff) {
  serve({.hello_limit = 20ms});
  run([this]() -> asio::awaitable<void> {
    Dialler silent(io);
    EXPECT_TRUE(co_await silent.dial(path));
    EXPECT_FALSE((co_await silent.hear()).has_value());
  });
}

TEST_F(ChannelServerTest, MoreConnectionsThanThereMayBeAreNotTaken) {
  serve({.max_connections = 2});
  run([this]() -> asio::awaitable<void> {
    Dialler a(io);
    Dialler b(io);
    Dialler c(io);
    EXPECT_TRUE(co_await a.dial(path));
    EXPECT_TRUE(co_await b.dial(path));
    co_await a.greet("a");
    co_await b.greet("b");
    EXPECT_TRUE(co_await c.dial(path));
    const auto answer = co_await c.greet("c");
    EXPECT_TRUE(answer && answer->has_rejected());
    EXPECT_THAT(answer->rejected().reason(), HasSubstr("2 switches are connected, as many as"));
    EXPECT_FALSE((co_await c.hear()).has_value());
    Dialler again(io);
    EXPECT_TRUE(co_await again.dial(path));
    EXPECT_TRUE((co_await again.greet("c"))->has_rejected());
    EXPECT_THAT(sink.turned_away, ::testing::SizeIs(1)) << "said once";
    a.hang_up();
    co_await until([&] { return server->connection_count() == 1; });
    Dialler d(io);
    EXPECT_TRUE(co_await d.dial(path));
    EXPECT_TRUE((co_await d.greet("d"))->has_welcome());
    EXPECT_THAT(sink.turned_away, ::testing::SizeIs(2));
    EXPECT_EQ(sink.turned_away.back(), "") << "and that it is over";
  });
}

// ---- misbehaving switches ----

TEST_F(ChannelServerTest, WhatIsNoMessageEndsTheChannelItCameFromAndNoOther) {
  serve();
  run([this]() -> asio::awaitable<void> {
    Dialler good(io);
    Dialler bad(io);
    EXPECT_TRUE(co_await good.dial(path));
    EXPECT_TRUE(co_await bad.dial(path));
    co_await good.greet("good");
    co_await bad.greet("bad");
    co_await bad.say_bytes(std::string("\0\0\0\4\xFF\xFF\xFF\xFF", 8));
    EXPECT_FALSE((co_await bad.hear()).has_value());
    co_await until([&] { return !sink.losses.empty(); });
    server->send(sink.by_name.at("good"), commit(1));
    EXPECT_TRUE((co_await good.hear()).has_value());
  });
  EXPECT_THAT(sink.losses,
              ElementsAre(std::pair(sink.by_name.at("bad"),
                                    std::string("it sent bytes that are not a message"))));
}

TEST_F(ChannelServerTest, AMessageLongerThanTheLimitIsNotWaitedFor) {
  serve({.max_message_bytes = 1000});
  run([this]() -> asio::awaitable<void> {
    Dialler leaf(io);
    EXPECT_TRUE(co_await leaf.dial(path));
    co_await leaf.greet("leaf0");
    co_await leaf.say_bytes(std::string("\x7F\xFF\xFF\xFF", 4));
    EXPECT_FALSE((co_await leaf.hear()).has_value());
    co_await until([&] { return !sink.losses.empty(); });
  });
  EXPECT_EQ(sink.losses.at(0).second,
            "it announced a message of 2147483647 bytes; the limit is 1000");
}

TEST_F(ChannelServerTest, ASecondHelloEndsTheChannel) {
  serve();
  run([this]() -> asio::awaitable<void> {
    Dialler leaf(io);
    EXPECT_TRUE(co_await leaf.dial(path));
    co_await leaf.greet("leaf0");
    co_await leaf.say(Dialler::hello("leaf0"));
    co_await until([&] { return !sink.losses.empty(); });
  });
  EXPECT_EQ(sink.losses.at(0).second, "it said hello twice");
}

TEST_F(ChannelServerTest, ANameThatATerminalObeysIsRejectedAndRepeatedNowhere) {
  serve();
  std::optional<control::ManagerMessage> answer;
  run([this, &answer]() -> asio::awaitable<void> {
    Dialler leaf(io);
    EXPECT_TRUE(co_await leaf.dial(path));
    answer = co_await leaf.greet("leaf0\x1b[2J\nswitch leaf1: lost");
  });
  ASSERT_TRUE(answer && answer->has_rejected());
  EXPECT_THAT(answer->rejected().reason(), HasSubstr("its name is not UTF-8, or holds control"));
  EXPECT_THAT(answer->rejected().reason(), Not(HasSubstr("leaf1")));
}

TEST_F(ChannelServerTest, ATextThatATerminalObeysEndsTheChannel) {
  serve();
  run([this]() -> asio::awaitable<void> {
    Dialler leaf(io);
    EXPECT_TRUE(co_await leaf.dial(path));
    co_await leaf.greet("leaf0");
    control::SwitchMessage report;
    report.mutable_ports()->add_ports()->mutable_neighbour()->set_name("spine\x1b[31m");
    co_await leaf.say(report);
    co_await until([&] { return !sink.losses.empty(); });
  });
  EXPECT_THAT(sink.losses.at(0).second, HasSubstr("its neighbour's name is not UTF-8"));
}

TEST_F(ChannelServerTest, ASwitchThatIsSilentIsPingedAndThenLost) {
  serve({.sessions = {.keepalive = 20ms}});
  unsigned pings = 0;
  run([this, &pings]() -> asio::awaitable<void> {
    Dialler leaf(io);
    EXPECT_TRUE(co_await leaf.dial(path));
    co_await leaf.greet("leaf0");
    while (const auto heard = co_await leaf.hear()) {
      pings += heard->has_ping();
    }
    co_await until([&] { return !sink.losses.empty(); });
  });
  EXPECT_EQ(pings, 2U) << "at the third interval it is lost";
  EXPECT_EQ(sink.losses.at(0).second, "silent for 0.1 s");
}

TEST_F(ChannelServerTest, ASwitchThatAnswersPingsStays) {
  serve({.sessions = {.keepalive = 20ms}});
  run([this]() -> asio::awaitable<void> {
    Dialler leaf(io);
    EXPECT_TRUE(co_await leaf.dial(path));
    co_await leaf.greet("leaf0");
    for (unsigned i = 0; i < 8; ++i) {
      const auto heard = co_await leaf.hear();
      EXPECT_TRUE(heard && heard->has_ping());
      control::SwitchMessage pong;
      pong.mutable_pong()->set_number(heard->ping().number());
      co_await leaf.say(pong);
    }
  });
  EXPECT_THAT(sink.losses, IsEmpty());
  EXPECT_THAT(sink.messages, IsEmpty()) << "pongs are not the sink's";
}

TEST_F(ChannelServerTest, ASwitchThatDoesNotReadLosesItsChannelAndDelaysNobody) {
  serve({.max_queued_bytes = 1 << 20});
  control::ManagerMessage big;
  big.mutable_rejected()->set_reason(std::string(64 * 1024, 'x'));
  run([this, big]() -> asio::awaitable<void> {
    Dialler slow(io);
    Dialler quick(io);
    EXPECT_TRUE(co_await slow.dial(path));
    EXPECT_TRUE(co_await quick.dial(path));
    co_await slow.greet("slow");
    co_await quick.greet("quick");
    unsigned heard = 0;
    for (; sink.losses.empty() && heard < 1000; ++heard) {
      server->send(sink.by_name.at("slow"), big);
      server->send(sink.by_name.at("quick"), commit(heard));
      const auto message = co_await quick.hear();
      EXPECT_TRUE(message && message->commit().transaction() == heard);
    }
    EXPECT_GT(heard, 16U) << "a mebibyte may wait";
    EXPECT_LT(heard, 1000U);
  });
  ASSERT_EQ(sink.losses.size(), 1U);
  EXPECT_EQ(sink.losses[0].first, sink.by_name.at("slow"));
  EXPECT_THAT(sink.losses[0].second, HasSubstr("it does not read"));
}

// ---- addresses ----

TEST_F(ChannelServerTest, TheSocketFileIsForOwnerAndGroup) {
  serve();
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0660U);
  server->stop();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ChannelServerTest, AnAddressThatIsUsedOrUnknownIsRefused) {
  serve();
  EXPECT_THROW(server->listen_unix(path), ChannelError);
  EXPECT_THROW(server->listen_tcp({"no.such.host.invalid", 7581}, std::nullopt), ChannelError);
  const std::uint16_t port = server->listen_tcp({"127.0.0.1", 0}, std::nullopt);
  EXPECT_NE(port, 0);
  RecordingSink other_sink;
  ChannelServer other(io, other_sink, {});
  EXPECT_THROW(other.listen_tcp({"127.0.0.1", port}, std::nullopt), ChannelError);
}

TEST_F(ChannelServerTest, CarriesMessagesOverTcpInTheClearWhenNoFilesAreGiven) {
  serve();
  const std::uint16_t port = server->listen_tcp({"127.0.0.1", 0}, std::nullopt);
  run([this, port]() -> asio::awaitable<void> {
    Dialler leaf(io);
    EXPECT_TRUE(co_await leaf.dial(port));
    const auto answer = co_await leaf.greet("leaf0");
    EXPECT_TRUE(answer && answer->has_welcome());
  });
}

// ---- TLS ----

class ChannelServerTlsTest : public ChannelServerTest {
protected:
  ChannelServerTlsTest() {
    ca.sign("fabricd", "IP:127.0.0.1");
    ca.sign("leaf0", "DNS:leaf0.example");
    serve();
    port = server->listen_tcp({"127.0.0.1", 0}, files());
  }

  [[nodiscard]] net::TlsFiles files() const {
    return {ca.certificate(), directory.file("fabricd.pem"), directory.file("fabricd.key")};
  }
  /// A switch that shows this certificate; none for an empty name.
  asio::ssl::context client(const std::string& certificate) {
    asio::ssl::context context(asio::ssl::context::tlsv13_client);
    context.set_verify_mode(asio::ssl::verify_peer);
    context.load_verify_file(ca.certificate());
    if (!certificate.empty()) {
      context.use_certificate_chain_file(directory.file(certificate + ".pem"));
      context.use_private_key_file(directory.file(certificate + ".key"), asio::ssl::context::pem);
    }
    return context;
  }
  /// The manager's answer to this name under this certificate.
  std::optional<control::ManagerMessage> answer_to(const std::string& certificate,
                                                   const std::string& name) {
    std::optional<control::ManagerMessage> answer;
    asio::ssl::context tls = client(certificate);
    run([&]() -> asio::awaitable<void> {
      Dialler leaf(io);
      if (co_await leaf.dial(port, tls)) {
        answer = co_await leaf.greet(name);
      }
    });
    return answer;
  }

  test::CertificateAuthority ca{directory, "ca"};
  std::uint16_t port = 0;
};

TEST_F(ChannelServerTlsTest, ASwitchIsWelcomedUnderItsCommonName) {
  const auto answer = answer_to("leaf0", "leaf0");
  EXPECT_TRUE(answer && answer->has_welcome());
}

TEST_F(ChannelServerTlsTest, ASwitchIsWelcomedUnderADnsNameOfItsCertificate) {
  const auto answer = answer_to("leaf0", "leaf0.example");
  EXPECT_TRUE(answer && answer->has_welcome());
}

TEST_F(ChannelServerTlsTest, ACertificateForAnotherNameIsRejectedAndItsNamesAreSaid) {
  const auto answer = answer_to("leaf0", "spine0");
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->rejected().reason(),
            "the certificate is for leaf0, leaf0.example, not for switch \"spine0\"");
  EXPECT_THAT(sink.names, IsEmpty());
}

TEST_F(ChannelServerTlsTest, ASwitchWithoutACertificateIsNotHeard) {
  EXPECT_FALSE(answer_to("", "leaf0").has_value());
  EXPECT_THAT(sink.names, IsEmpty());
}

TEST_F(ChannelServerTlsTest, ACertificateOfAnotherCaIsNotHeard) {
  const test::CertificateAuthority other(directory, "other");
  other.sign("stranger", "DNS:leaf0");
  EXPECT_FALSE(answer_to("stranger", "leaf0").has_value());
  EXPECT_THAT(sink.names, IsEmpty());
}

TEST_F(ChannelServerTlsTest, ASwitchThatSpeaksInTheClearIsNotHeard) {
  run([this]() -> asio::awaitable<void> {
    Dialler leaf(io);
    EXPECT_TRUE(co_await leaf.dial(port));
    co_await leaf.say(Dialler::hello("leaf0"));
    while (co_await leaf.hear()) { // an alert of TLS at most, which is not a message
    }
  });
  EXPECT_THAT(sink.names, IsEmpty());
}

TEST_F(ChannelServerTlsTest, ADiallerThatNeverShakesHandsIsCutOff) {
  RecordingSink quick_sink;
  ChannelServer quick(io, quick_sink, {.hello_limit = 20ms});
  const std::uint16_t quick_port = quick.listen_tcp({"127.0.0.1", 0}, files());
  run([this, quick_port]() -> asio::awaitable<void> {
    Dialler leaf(io);
    EXPECT_TRUE(co_await leaf.dial(quick_port));
    EXPECT_FALSE((co_await leaf.hear()).has_value());
  });
}

TEST_F(ChannelServerTlsTest, AFloodOfHandshakesHoldsUpASwitchAtAnotherAddressLittle) {
  constexpr int count = 300;
  std::vector<asio::ip::tcp::socket> flood;
  const std::string hello = test::client_hello();
  for (int i = 0; i < count; ++i) {
    asio::ip::tcp::socket& one = flood.emplace_back(io, asio::ip::tcp::v4());
    one.bind({asio::ip::make_address("127.0.0.2"), 0});
    one.connect({asio::ip::address_v4::loopback(), port});
    asio::write(one, asio::buffer(hello));
  }
  int served = 0;
  asio::ssl::context tls = client("leaf0");
  run([&]() -> asio::awaitable<void> {
    Dialler leaf(io);
    EXPECT_TRUE(co_await leaf.dial(port, tls));
    const auto answer = co_await leaf.greet("leaf0");
    EXPECT_TRUE(answer && answer->has_welcome());
    for (const asio::ip::tcp::socket& one : flood) {
      served += one.available() > 0 ? 1 : 0;
    }
  });
  EXPECT_LT(served, count / 2);
}

TEST_F(ChannelServerTlsTest, ConnectionsThatSayNothingShutNobodyOut) {
  RecordingSink small_sink;
  ChannelServer small(io, small_sink, {.max_connections = 8, .hello_limit = hang_limit});
  const std::uint16_t small_port = small.listen_tcp({"127.0.0.1", 0}, files());
  std::vector<asio::ip::tcp::socket> silent;
  for (int i = 0; i < 100; ++i) {
    asio::ip::tcp::socket& one = silent.emplace_back(io, asio::ip::tcp::v4());
    one.bind({asio::ip::make_address(i % 2 == 0 ? "127.0.0.2" : "127.0.0.3"), 0});
    one.connect({asio::ip::address_v4::loopback(), small_port});
  }
  asio::ssl::context tls = client("leaf0");
  run([&]() -> asio::awaitable<void> {
    co_await until([&] { return small.connection_count() >= 24; });
    Dialler leaf(io);
    EXPECT_TRUE(co_await leaf.dial(small_port, tls));
    const auto answer = co_await leaf.greet("leaf0");
    EXPECT_TRUE(answer && answer->has_welcome());
    small.stop();
  });
}

TEST_F(ChannelServerTlsTest, FilesThatAreReplacedCountFromTheNextConnectionOn) {
  const test::CertificateAuthority other(directory, "other");
  other.sign("stranger", "DNS:leaf0");
  std::filesystem::copy_file(other.certificate(), ca.certificate(),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_FALSE(answer_to("leaf0", "leaf0").has_value()) << "its CA is not trusted any more";
}

TEST_F(ChannelServerTlsTest, FilesThatCannotBeUsedAreNamed) {
  net::TlsFiles wrong = files();
  wrong.key = directory.file("no-such.key");
  try {
    server->listen_tcp({"127.0.0.1", 0}, wrong);
    FAIL() << "listens without a key";
  } catch (const ChannelError& e) {
    EXPECT_THAT(e.what(), HasSubstr("no-such.key"));
  }
}

} // namespace
} // namespace tributary::southbound
