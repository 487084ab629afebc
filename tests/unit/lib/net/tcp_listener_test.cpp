#include "lib/net/tcp_listener.hpp"

#include "tests/support/error_of.hpp"

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using testing::HasSubstr;

std::string refusal_of(const HostPort& where) {
  return test::message_of<ListenFailed>([&] {
    asio::io_context io;
    return listen_on_tcp(io, where).size();
  });
}

TEST(listen_on_tcp, takes_a_free_port_and_says_which) {
  asio::io_context io;
  const auto acceptors = listen_on_tcp(io, {"127.0.0.1", 0});
  ASSERT_EQ(acceptors.size(), 1U);
  const tcp::endpoint where = acceptors.front().local_endpoint();
  EXPECT_NE(where.port(), 0);
  EXPECT_EQ(text_of(where), "127.0.0.1:" + std::to_string(where.port()));
  tcp::socket caller(io);
  caller.connect(where);
}

TEST(listen_on_tcp, without_a_host_hears_every_address_of_this_machine) {
  asio::io_context io;
  bool loopback_reaches_it = false;
  for (const auto& acceptor : listen_on_tcp(io, {"", 0})) {
    const tcp::endpoint where = acceptor.local_endpoint();
    EXPECT_TRUE(where.address().is_unspecified()) << text_of(where);
    if (where.address().is_v4()) {
      tcp::socket caller(io);
      caller.connect({asio::ip::address_v4::loopback(), where.port()});
      loopback_reaches_it = true;
    }
  }
  EXPECT_TRUE(loopback_reaches_it);
}

TEST(listen_on_tcp, says_what_is_in_the_way) {
  asio::io_context io;
  const auto taken = listen_on_tcp(io, {"127.0.0.1", 0});
  const std::uint16_t port = taken.front().local_endpoint().port();
  EXPECT_THAT(refusal_of({"127.0.0.1", port}),
              HasSubstr("cannot listen on 127.0.0.1:" + std::to_string(port)));
  EXPECT_THAT(refusal_of({"no.such.host.invalid", 1}), HasSubstr("the name is not known"));
}

TEST(text_of, puts_an_ipv6_address_in_brackets) {
  EXPECT_EQ(text_of({asio::ip::make_address("::1"), 7581}), "[::1]:7581");
  EXPECT_EQ(text_of({asio::ip::make_address("10.0.0.1"), 7581}), "10.0.0.1:7581");
}

} // namespace
} // namespace tributary::net
