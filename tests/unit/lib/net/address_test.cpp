#include "lib/net/address.hpp"

#include "tests/support/error_of.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <utility>

namespace tributary::net {
namespace {

using testing::HasSubstr;

Address unix_socket(std::string path) { return {.path = std::move(path), .tcp = {}}; }
Address tcp(std::string host, std::uint16_t port) { return {.path = {}, .tcp = {host, port}}; }

TEST(parse_address, understands_every_form) {
  const std::pair<const char*, Address> cases[] = {
      {"unix:/run/x.sock", unix_socket("/run/x.sock")},
      {"unix:run/x.sock", unix_socket("run/x.sock")},
      {"unix:/run/a:b [c].sock", unix_socket("/run/a:b [c].sock")},
      {"127.0.0.1:7581", tcp("127.0.0.1", 7581)},
      {"tcp:127.0.0.1:7581", tcp("127.0.0.1", 7581)},
      {"fabric.example:1", tcp("fabric.example", 1)},
      {"localhost:65535", tcp("localhost", 65535)},
      {"[::1]:7581", tcp("::1", 7581)},
      {"tcp:[::1]:7581", tcp("::1", 7581)},
      {"[fe80::1%eth1]:7581", tcp("fe80::1%eth1", 7581)},
      {"fabric:007581", tcp("fabric", 7581)},
      {"tcp:unix:80", tcp("unix", 80)},
      {"tcp:tcp:80", tcp("tcp", 80)},
  };
  for (const auto& [text, expected] : cases) {
    for (const Purpose purpose : {Purpose::dial, Purpose::listen}) {
      EXPECT_EQ(parse_address(text, purpose), expected) << text;
    }
  }
}

TEST(parse_address, to_listen_takes_any_free_port_and_every_address_of_this_machine) {
  EXPECT_EQ(parse_address("[::1]:0", Purpose::listen), tcp("::1", 0));
  EXPECT_EQ(parse_address(":7580", Purpose::listen), tcp("", 7580));
  EXPECT_EQ(parse_address("tcp::0", Purpose::listen), tcp("", 0));
}

TEST(parse_address, takes_a_path_as_long_as_a_socket_may_have) {
  const std::string longest = "/" + std::string(longest_socket_path - 1, 'x');
  EXPECT_EQ(parse_address("unix:" + longest, Purpose::dial), unix_socket(longest));
}

struct Mistake {
  std::string text;
  std::string reason;
  std::string quoted = text; ///< as the message shows it
};

void expect_refused(const Mistake& mistake, Purpose purpose) {
  const auto error = test::error_of<AddressError>([&] {
    static_cast<void>(parse_address(mistake.text, purpose));
    return 0;
  });
  ASSERT_TRUE(error.has_value()) << mistake.text;
  EXPECT_THAT(error->reason(), HasSubstr(mistake.reason)) << mistake.text;
  EXPECT_THAT(error->what(), HasSubstr("\"" + mistake.quoted + "\" is not an address: "))
      << "the whole text is quoted";
  EXPECT_THAT(error->what(), HasSubstr(error->reason()));
  EXPECT_THAT(error->what(), HasSubstr("write \"unix:PATH\", \"HOST:PORT\" or \"[V6]:PORT\""));
}

TEST(parse_address, says_what_is_wrong) {
  const Mistake mistakes[] = {
      {"", "it is empty"},
      {"tcp:", "it is empty"},
      {"unix:", "the path of the socket is missing"},
      {"unix:/" + std::string(longest_socket_path, 'x'), "at most 107 bytes, not 108"},
      {std::string("unix:/a\0b", 9), "zero byte", "unix:/a\\x00b"},
      {"fabric", "the port is missing"},
      {"fabric:", "the port is missing"},
      {"7581", "the port is missing"},
      {"tcp:7581", "the port is missing"},
      {"[::1]", "the port is missing"},
      {"[::1]:", "the port is missing"},
      {"fabric:port", "the port \"port\" is not a number"},
      {"fabric:65536", "the port \"65536\" is not a number"},
      {"fabric:7581x", "the port \"7581x\" is not a number"},
      {"fabric:-1", "the port \"-1\" is not a number"},
      {"fabric:+1", "the port \"+1\" is not a number"},
      {"fabric: 1", "the port \" 1\" is not a number"},
      {"[::1", "not closed"},
      {"[::1]80", "only \":PORT\" may follow"},
      {"[a]b:80", "only \":PORT\" may follow"},
      {"[]:80", "no IPv6 address in the brackets"},
      {"::1:7581", "in brackets, as in \"[::1]:7581\""},
      {"fe80::1", "in brackets"},
      {"a:b:1", "several colons"},
      {"http://fabric:7580", "\"http://\" begins a URL"},
      {"fabric/a:80", "has a '/' in it"},
      {"user@fabric:80", "has a '@' in it"},
      {"fabric example:80", "has a space in it"},
      {"fabric\n:80", "the host \"fabric\\x0a\" has a control character in it", "fabric\\x0a:80"},
      {"fabric]:80", "has a ']' in it"},
      {"[[::1]:80", "has a '[' in it"},
  };
  for (const Mistake& mistake : mistakes) {
    expect_refused(mistake, Purpose::dial);
    expect_refused(mistake, Purpose::listen);
  }
}

TEST(parse_address, says_what_cannot_be_dialled) {
  expect_refused({"fabric:0", "the port \"0\" is not a number from 1 to 65535"}, Purpose::dial);
  expect_refused({":7581", "the host is missing"}, Purpose::dial);
  expect_refused({"fabric:x", "the port \"x\" is not a number from 0 to 65535"}, Purpose::listen);
}

TEST(parse_host_port, may_have_a_default_port) {
  EXPECT_EQ(parse_host_port("fabric", Purpose::dial, 7580), (HostPort{"fabric", 7580}));
  EXPECT_EQ(parse_host_port("[::1]", Purpose::dial, 7580), (HostPort{"::1", 7580}));
  EXPECT_EQ(parse_host_port("[::1]:80", Purpose::dial, 7580), (HostPort{"::1", 80}));
  EXPECT_THROW(static_cast<void>(parse_host_port("fabric:", Purpose::dial, 7580)), AddressError);
}

TEST(address, is_local_when_every_caller_runs_on_this_machine) {
  for (const char* text : {"unix:/x", "127.0.0.1:1", "127.1.2.3:1", "[::1]:1", "localhost:1"}) {
    EXPECT_TRUE(parse_address(text, Purpose::listen).is_local()) << text;
  }
  for (const char* text :
       {":1", "0.0.0.0:1", "[::]:1", "fabric:1", "127.example:1", "128.0.0.1:1"}) {
    EXPECT_FALSE(parse_address(text, Purpose::listen).is_local()) << text;
  }
}

// ---- every address reads back, and every text is an address or an error ----

std::string some_of(test::Random& random, std::string_view letters, std::size_t longest) {
  std::string text(1 + random() % longest, '\0');
  for (char& c : text) {
    c = letters[random() % letters.size()];
  }
  return text;
}

TEST(address, reads_back_as_it_was_written) {
  test::Random random(test::seed());
  for (unsigned round = 0; round < 20'000; ++round) {
    Address address;
    const auto port = static_cast<std::uint16_t>(1 + random() % 65535);
    switch (random() % 3) {
    case 0: address = unix_socket(some_of(random, "/abc:.[]@ -_\"", longest_socket_path)); break;
    case 1: address = tcp(some_of(random, "unixtcp0123456789.-_", 6), port); break;
    default: address = tcp(":" + some_of(random, "0123456789abcdef:.%eth", 30), port); break;
    }
    const std::string text = address.text();
    ASSERT_EQ(parse_address(text, Purpose::dial), address) << text;
    ASSERT_EQ(parse_address(text, Purpose::dial).text(), text);
    if (!address.is_unix()) {
      ASSERT_EQ(parse_address("tcp:" + address.tcp.text(), Purpose::dial), address) << text;
    }
  }
}

TEST(parse_address, answers_any_text_with_an_address_that_reads_back_or_an_error) {
  const std::string seeds[] = {"unix:/run/x", "tcp:h:1", "[::1]:80", "a.b:7", ":9", "unix:tcp:1"};
  constexpr std::string_view letters = "unixtcp:[]0179./@ a\n";
  test::Random random(test::seed());
  unsigned understood = 0;
  unsigned refused = 0;
  for (unsigned round = 0; round < 50'000; ++round) {
    std::string text = seeds[random() % std::size(seeds)];
    for (std::uint64_t changes = random() % 4; changes > 0; --changes) {
      text.insert(random() % (text.size() + 1), 1, letters[random() % letters.size()]);
      text.erase(random() % text.size(), random() % 2);
    }
    const Purpose purpose = random() % 2 == 0 ? Purpose::dial : Purpose::listen;
    try {
      const Address address = parse_address(text, purpose);
      ASSERT_EQ(parse_address(address.text(), purpose), address) << text;
      ++understood;
    } catch (const AddressError& error) {
      ASSERT_FALSE(error.reason().empty());
      ++refused;
    }
  }
  EXPECT_GT(understood, 5'000U);
  EXPECT_GT(refused, 5'000U);
}

} // namespace
} // namespace tributary::net
