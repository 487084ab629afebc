// Which handshake is next, and what runs between two.
#include "lib/net/handshake_turns.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace tributary::net {
namespace {

namespace asio = boost::asio;
using testing::ElementsAre;

class Turns : public testing::Test {
protected:
  void come(const std::string& address, const std::string& name) {
    asio::co_spawn(
        io,
        [this, address, name]() -> asio::awaitable<void> {
          co_await turns->wait(address);
          served.push_back(name);
        },
        asio::detached);
  }
  /// They arrive before the first of them has its turn.
  void wait_for(std::size_t count) {
    for (int i = 0; i < 1000 && turns->waiting() < count; ++i) {
      io.poll_one();
    }
    ASSERT_EQ(turns->waiting(), count);
  }
  asio::io_context io;
  std::shared_ptr<HandshakeTurns> turns = std::make_shared<HandshakeTurns>(io.get_executor());
  std::vector<std::string> served;
};

TEST_F(Turns, go_round_by_address_and_the_latest_of_each_is_first) {
  for (const char* name : {"a1", "a2", "a3", "b1", "b2", "c1"}) {
    come(std::string(name, 1), name);
  }
  wait_for(6);
  io.run();
  EXPECT_THAT(served, ElementsAre("a3", "b2", "c1", "a2", "b1", "a1"));
  EXPECT_EQ(turns->waiting(), 0U);
}

TEST_F(Turns, are_between_other_work) {
  for (int i = 0; i < 100; ++i) {
    come("flood", "flood");
  }
  wait_for(100);
  asio::post(io, [this] { served.emplace_back("other work"); });
  io.run();
  const auto other = std::ranges::find(served, "other work") - served.begin();
  EXPECT_LE(other, 2);
  EXPECT_EQ(served.size(), 101U);
}

} // namespace
} // namespace tributary::net
