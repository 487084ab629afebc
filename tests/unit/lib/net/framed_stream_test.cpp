// One end of a stream against a script that sees and sends bytes, or against another one of its
// kind, over a socket pair.
#include "lib/net/framed_stream.hpp"

#include "lib/net/as_result.hpp"
#include "tests/support/certificates.hpp"
#include "tests/unit/include/wire/seed.hpp"
#include "tributary/control.pb.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tributary::net {
namespace {

namespace asio = boost::asio;
using asio::local::stream_protocol;
using control::ManagerMessage;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using namespace std::chrono_literals;

/// Far beyond the needs of any test; only a hang reaches it.
constexpr auto hang_limit = 60s;

ManagerMessage message(const std::string& text) {
  ManagerMessage one;
  one.mutable_rejected()->set_reason(text);
  return one;
}
std::string framed(const std::string& text) {
  std::string bytes;
  append_frame(bytes, message(text));
  return bytes;
}

/// Keeps received messages.
class Listener final : public FramedStreamUser {
public:
  std::string arrived(FrameReader& frames) override {
    ++batches;
    return take_messages<ManagerMessage>(frames, [this](const ManagerMessage& one) {
      texts.push_back(one.rejected().reason());
      return on_message ? on_message(texts.back()) : true;
    });
  }
  std::vector<std::string> texts;
  unsigned batches = 0;
  std::function<bool(const std::string&)> on_message;
};

class framed_stream : public testing::Test {
protected:
  using Script = std::function<asio::awaitable<void>()>;

  framed_stream() { reset({.other_end = "the other end"}); }

  void reset(FramedStreamSettings settings) {
    stream_protocol::socket here(io);
    far = stream_protocol::socket(io);
    asio::local::connect_pair(here, far);
    stream = std::make_unique<FramedStream>(std::move(here), std::move(settings));
  }
  /// Runs the stream, and beside it a script at the far end, until both are over.
  void play(Script script) {
    unsigned over = 0;
    const auto done = [&](const std::exception_ptr& error) {
      EXPECT_FALSE(error);
      ++over;
    };
    asio::co_spawn(
        io, [this]() -> asio::awaitable<void> { why = co_await stream->run(user); }, done);
    asio::co_spawn(io, std::move(script), done);
    io.restart();
    io.run_for(hang_limit);
    EXPECT_EQ(over, 2U) << "a coroutine waits for what never comes";
  }
  asio::awaitable<void> write(std::string bytes) {
    co_await asio::async_write(far, asio::buffer(bytes), as_result);
  }
  /// Everything that arrives at the far end up to the end of the stream.
  asio::awaitable<std::string> read_to_end() {
    std::string all;
    std::array<char, 4096> some;
    while (true) {
      const auto [error, bytes] = co_await far.async_read_some(asio::buffer(some), as_result);
      if (error) {
        co_return all;
      }
      all.append(some.data(), bytes);
    }
  }
  /// Lets all other coroutines run until `condition` holds.
  asio::awaitable<void> until(std::function<bool()> condition) {
    asio::steady_timer timer(io);
    while (!condition()) {
      timer.expires_after(100us);
      co_await timer.async_wait(as_result);
    }
  }
  void hang_up() {
    boost::system::error_code ignored;
    far.close(ignored);
  }

  asio::io_context io;
  stream_protocol::socket far{io};
  std::unique_ptr<FramedStream> stream;
  Listener user;
  std::string why;
};

// ---- messages ----

TEST_F(framed_stream, carries_messages_that_come_byte_by_byte) {
  play([this]() -> asio::awaitable<void> {
    for (const char byte : framed("one") + framed("") + framed("three")) {
      co_await write(std::string(1, byte));
    }
    co_await until([this] { return user.texts.size() == 3; });
    hang_up();
  });
  EXPECT_THAT(user.texts, ElementsAre("one", "", "three"));
  EXPECT_EQ(why, "the other end closed the connection");
}

TEST_F(framed_stream, hands_over_together_what_has_come_together) {
  play([this]() -> asio::awaitable<void> {
    co_await write(framed("one") + framed("two") + framed("three"));
    hang_up();
  });
  EXPECT_THAT(user.texts, ElementsAre("one", "two", "three"));
  EXPECT_EQ(user.batches, 1U);
}

TEST_F(framed_stream, carries_thousands_of_messages_both_ways_at_once_in_their_order) {
  test::Random random(test::seed());
  std::vector<std::string> sent;
  std::string bytes;
  for (unsigned i = 0; i < 3000; ++i) {
    sent.push_back(std::to_string(i) + std::string(random() % 2000, 'x'));
    stream->send(message(sent.back()));
    bytes += framed(sent.back());
  }
  std::string received;
  play([&]() -> asio::awaitable<void> {
    std::array<char, 7000> some;
    for (std::size_t at = 0; received.size() < bytes.size() || at < bytes.size();) {
      const std::size_t piece = std::min<std::size_t>(1 + random() % 9000, bytes.size() - at);
      co_await write(bytes.substr(at, piece));
      at += piece;
      if (received.size() < bytes.size()) {
        const auto [error, count] = co_await far.async_read_some(asio::buffer(some), as_result);
        received.append(some.data(), count);
      }
    }
    co_await until([&] { return user.texts.size() == sent.size(); });
    hang_up();
  });
  EXPECT_TRUE(received == bytes) << "as they were sent";
  EXPECT_TRUE(user.texts == sent);
}

TEST_F(framed_stream, sends_what_was_sent_before_it_ran) {
  stream->send(message("early"));
  std::string seen;
  play([&]() -> asio::awaitable<void> {
    stream->finish("enough", hang_limit);
    seen = co_await read_to_end();
    hang_up();
  });
  EXPECT_EQ(seen, framed("early"));
}

TEST_F(framed_stream, takes_back_what_has_not_begun_to_leave) {
  stream->send(message("regretted"));
  stream->unsend();
  stream->send(message("kept"));
  std::string seen;
  play([&]() -> asio::awaitable<void> {
    stream->finish("enough", hang_limit);
    seen = co_await read_to_end();
    hang_up();
  });
  EXPECT_EQ(seen, framed("kept"));
}

// ---- causes of its end ----

TEST_F(framed_stream, ends_when_the_other_end_hangs_up_in_the_middle_of_a_frame) {
  const std::string whole = framed("never whole");
  for (const std::size_t cut :
       {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{4}, whole.size() - 1}) {
    reset({.other_end = "the switch"});
    user.texts.clear();
    play([&]() -> asio::awaitable<void> {
      co_await write(framed("whole") + whole.substr(0, cut));
      hang_up();
    });
    EXPECT_THAT(user.texts, ElementsAre("whole")) << cut;
    EXPECT_EQ(why, "the switch closed the connection") << cut;
  }
}

TEST_F(framed_stream, ends_at_bytes_that_are_no_message_behind_those_that_are) {
  play([this]() -> asio::awaitable<void> {
    co_await write(framed("good") + std::string("\0\0\0\3\xFF\xFF\xFF", 7) + framed("behind"));
    EXPECT_EQ(co_await read_to_end(), "");
  });
  EXPECT_THAT(user.texts, ElementsAre("good"));
  EXPECT_EQ(why, "it sent bytes that are not a message");
}

TEST_F(framed_stream, ends_at_a_length_beyond_the_limit_without_waiting_for_the_bytes) {
  reset({.other_end = "the other end", .message_bytes = 1000});
  play([this]() -> asio::awaitable<void> {
    co_await write(framed("good") + std::string("\x7F\xFF\xFF\xFF", 4));
    EXPECT_EQ(co_await read_to_end(), "");
  });
  EXPECT_THAT(user.texts, ElementsAre("good"));
  EXPECT_EQ(why, "it announced a message of 2147483647 bytes; the limit is 1000");
}

TEST_F(framed_stream, survives_any_garbage) {
  test::Random random(test::seed());
  for (unsigned round = 0; round < 300; ++round) {
    reset({.other_end = "the other end", .message_bytes = 1000});
    std::string garbage = framed("begin");
    for (std::uint64_t bytes = random() % 200; bytes > 0; --bytes) {
      garbage += static_cast<char>(random() % 4 == 0 ? random() : random() % 3);
    }
    play([&]() -> asio::awaitable<void> {
      co_await write(garbage);
      hang_up();
    });
    EXPECT_FALSE(why.empty());
  }
}

TEST_F(framed_stream, ends_when_the_other_end_does_not_read) {
  reset({.other_end = "the other end", .queued_bytes = 100'000});
  play([this]() -> asio::awaitable<void> {
    while (!stream->has_ended()) {
      stream->send(message(std::string(1000, 'x')));
      asio::steady_timer turn(io, 0ms);
      co_await turn.async_wait(as_result);
    }
  });
  ASSERT_THAT(why, MatchesRegex("it does not read: [0-9]+ bytes wait for it"));
  const unsigned long waiting = std::stoul(why.substr(why.find(':') + 1));
  EXPECT_GT(waiting, 100'000U);
  EXPECT_LE(waiting, 100'000U + framed(std::string(1000, 'x')).size()) << "not a message more";
}

TEST_F(framed_stream, ends_when_it_is_to_send_what_no_peer_would_take) {
  play([this]() -> asio::awaitable<void> {
    stream->send(message(std::string(max_message_bytes, 'x')));
    co_return;
  });
  EXPECT_THAT(why, HasSubstr("can be sent"));
}

TEST_F(framed_stream, ends_with_what_its_user_finds_wrong) {
  class Choosy final : public FramedStreamUser {
  public:
    std::string arrived(FrameReader&) override { return "I do not like it"; }
  } choosy;
  asio::co_spawn(
      io, [&]() -> asio::awaitable<void> { why = co_await stream->run(choosy); },
      [](const std::exception_ptr& error) { EXPECT_FALSE(error); });
  asio::write(far, asio::buffer(std::string("x")));
  io.run_for(hang_limit);
  EXPECT_EQ(why, "I do not like it");
}

TEST_F(framed_stream, lets_out_what_its_user_throws) {
  user.on_message = [](const std::string&) -> bool { throw std::runtime_error("a defect"); };
  std::string thrown;
  asio::co_spawn(
      io, [this]() -> asio::awaitable<void> { why = co_await stream->run(user); },
      [&](const std::exception_ptr& error) {
        ASSERT_TRUE(error);
        try {
          std::rethrow_exception(error);
        } catch (const std::runtime_error& e) {
          thrown = e.what();
        }
      });
  asio::write(far, asio::buffer(framed("x")));
  io.run_for(hang_limit);
  EXPECT_EQ(thrown, "a defect");
  EXPECT_TRUE(stream->has_ended());
}

// ---- the side that ends it ----

TEST_F(framed_stream, that_is_ended_by_its_user_calls_it_no_more) {
  user.on_message = [this](const std::string& text) {
    if (text == "stop") {
      stream->end("told to");
      stream->end("told again");
    }
    return !stream->has_ended();
  };
  play([this]() -> asio::awaitable<void> {
    co_await write(framed("go") + framed("stop") + framed("never heard"));
    EXPECT_EQ(co_await read_to_end(), "");
  });
  EXPECT_THAT(user.texts, ElementsAre("go", "stop"));
  EXPECT_EQ(why, "told to") << "the first reason counts";
}

TEST_F(framed_stream, that_finishes_sends_all_hears_nothing_and_waits_for_the_other_to_hang_up) {
  std::string seen;
  play([&]() -> asio::awaitable<void> {
    stream->send(message(std::string(1'000'000, 'x'))); // more than a socket holds
    stream->finish("enough", hang_limit);
    stream->send(message("too late"));
    co_await write(framed("not heard"));
    seen = co_await read_to_end();
    EXPECT_EQ(why, "") << "it waits";
    hang_up();
  });
  EXPECT_TRUE(seen == framed(std::string(1'000'000, 'x')));
  EXPECT_THAT(user.texts, IsEmpty());
  EXPECT_EQ(why, "enough");
}

TEST_F(framed_stream, that_finishes_waits_no_longer_than_its_limit) {
  play([&]() -> asio::awaitable<void> {
    stream->send(message(std::string(1'000'000, 'x')));
    stream->finish("enough", 1ms);
    co_await until([this] { return !why.empty(); }); // the far end neither reads nor closes
  });
  EXPECT_EQ(why, "enough");
}

TEST_F(framed_stream, that_is_ended_before_it_runs_is_over_at_once) {
  stream->end("changed my mind");
  play([]() -> asio::awaitable<void> { co_return; });
  EXPECT_EQ(why, "changed my mind");
  EXPECT_EQ(user.batches, 0U);
}

// ---- TLS ----

class framed_stream_over_tls : public framed_stream {
protected:
  static void SetUpTestSuite() {
    directory = std::make_unique<test::ScratchDirectory>();
    const test::CertificateAuthority ca(*directory, "ca");
    ca.sign("manager", "DNS:manager.example");
    ca.sign("leaf0", "DNS:leaf0.example");
  }
  static void TearDownTestSuite() { directory.reset(); }

  static asio::ssl::context context(TlsRole role, const std::string& name) {
    return tls_context({role,
                        TlsVersion::tls_1_3,
                        TlsVerify::authority,
                        {directory->file("ca.pem"), directory->file(name + ".pem"),
                         directory->file(name + ".key")}});
  }
  /// Runs both ends: `stream` as the manager, and one of a switch, to their ends.
  void meet(const std::string& host) {
    const auto run = [](FramedStream& one, asio::ssl::context tls, TlsRole role, std::string name,
                        Listener& listener, std::string& reason) -> asio::awaitable<void> {
      reason =
          co_await one.secure(std::make_shared<asio::ssl::context>(std::move(tls)), role, name);
      if (reason.empty()) {
        reason = co_await one.run(listener);
      } else {
        one.end(reason);
      }
    };
    const auto done = [](const std::exception_ptr& error) { EXPECT_FALSE(error); };
    asio::co_spawn(
        io, run(*stream, context(TlsRole::server, "manager"), TlsRole::server, "", user, why),
        done);
    asio::co_spawn(
        io,
        run(leaf, context(TlsRole::client, "leaf0"), TlsRole::client, host, leaf_user, leaf_why),
        done);
    io.run_for(hang_limit);
  }

  static inline std::unique_ptr<test::ScratchDirectory> directory;
  FramedStream leaf{std::move(far), {.other_end = "the manager"}};
  Listener leaf_user;
  std::string leaf_why;
};

TEST_F(framed_stream_over_tls, carries_messages_and_knows_the_other_ends_names) {
  user.on_message = [&](const std::string& text) {
    EXPECT_THAT(stream->names(), testing::Optional(ElementsAre("leaf0", "leaf0.example")));
    stream->send(message("heard " + text));
    stream->finish("enough", hang_limit);
    return true;
  };
  leaf_user.on_message = [&](const std::string&) {
    leaf.end("answered");
    return false;
  };
  leaf.send(message("hello"));
  meet("manager.example");
  EXPECT_THAT(user.texts, ElementsAre("hello"));
  EXPECT_THAT(leaf_user.texts, ElementsAre("heard hello"));
  EXPECT_EQ(why, "enough");
  EXPECT_EQ(leaf_why, "answered");
}

TEST_F(framed_stream_over_tls, says_that_the_other_end_is_not_who_was_dialled) {
  leaf.send(message("hello"));
  meet("other.example");
  EXPECT_THAT(leaf_why, testing::AllOf(HasSubstr("no TLS with it: "), HasSubstr("verify failed")));
  EXPECT_THAT(user.texts, IsEmpty());
}

TEST_F(framed_stream_over_tls, that_is_ended_during_the_handshake_says_why_it_was) {
  asio::co_spawn(
      io,
      [this]() -> asio::awaitable<void> {
        why = co_await stream->secure(
            std::make_shared<asio::ssl::context>(context(TlsRole::server, "manager")),
            TlsRole::server);
      },
      [](const std::exception_ptr& error) { EXPECT_FALSE(error); });
  asio::post(io, [this] { stream->end("no hello in time"); });
  io.run_for(hang_limit);
  EXPECT_EQ(why, "no hello in time");
}

TEST_F(framed_stream, without_tls_shows_no_names) { EXPECT_EQ(stream->names(), std::nullopt); }

} // namespace
} // namespace tributary::net
