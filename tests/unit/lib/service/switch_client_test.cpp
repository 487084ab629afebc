// The client against a switch made of one thread and a socket.
#include "lib/service/switch_client.hpp"

#include "one_shot_switch.hpp"
#include "tests/support/error_of.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include <sys/socket.h>

namespace tributary::service {
namespace {

using test::OneShotSwitch;
using testing::HasSubstr;

constexpr const char* how_to_name = "name it with --here";

std::function<void(int, const std::string&)> answers(std::string text) {
  return [text = std::move(text)](int client, const std::string&) {
    EXPECT_EQ(::send(client, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  };
}

std::string error_of(const std::function<void(int, const std::string&)>& behave) {
  const OneShotSwitch fake(behave);
  SwitchClient client(fake.path(), how_to_name);
  return tributary::test::message_of<SwitchError>([&] {
    return client.ask({{"command", "version"}});
  });
}

TEST(switch_client_ask, sends_one_line_and_returns_the_result) {
  std::string received;
  boost::json::value result;
  {
    const OneShotSwitch fake([&](int client, const std::string& line) {
      received = line;
      answers("{\"ok\":true,\"result\":[1,2]}\n")(client, line);
    });
    result = SwitchClient(fake.path(), how_to_name).ask({{"command", "version"}});
  }
  EXPECT_EQ(received, R"({"command":"version"})");
  EXPECT_EQ(result, boost::json::parse("[1,2]"));
}

TEST(switch_client_ask, a_refusal_carries_the_switchs_own_words) {
  EXPECT_EQ(error_of(answers("{\"ok\":false,\"error\":\"no such port\"}\n")), "no such port");
}

TEST(switch_client_ask, a_connection_closed_early_is_reported) {
  EXPECT_THAT(error_of([](int, const std::string&) {}), HasSubstr("closed the connection"));
  EXPECT_THAT(error_of(answers("{\"ok\":tr")), HasSubstr("closed the connection"));
}

TEST(switch_client_ask, something_else_on_the_socket_is_noticed) {
  EXPECT_THAT(error_of(answers("hello\n")), HasSubstr("is it the right socket?"));
  EXPECT_THAT(error_of(answers("{\"ok\":1}\n")), HasSubstr("is it the right socket?"));
  EXPECT_THAT(error_of(answers("[]\n")), HasSubstr("is it the right socket?"));
}

TEST(switch_client_receive, what_came_behind_the_answer_is_not_lost) {
  const OneShotSwitch fake(answers("{\"ok\":true,\"result\":{}}\nstream"));
  SwitchClient client(fake.path(), how_to_name);
  static_cast<void>(client.ask({{"command", "capture"}}));
  std::string text;
  for (bool ended = false; !ended;) {
    for (const std::byte b : client.receive(std::nullopt, ended)) {
      text += static_cast<char>(b);
    }
  }
  EXPECT_EQ(text, "stream");
}

TEST(switch_client, says_that_no_switch_is_there_and_what_to_do) {
  try {
    SwitchClient client("/nonexistent/switch.sock", how_to_name);
    FAIL();
  } catch (const SwitchError& e) {
    EXPECT_THAT(e.what(), HasSubstr("/nonexistent/switch.sock"));
    EXPECT_THAT(e.what(), HasSubstr("is tributary-switch running?"));
    EXPECT_THAT(e.what(), HasSubstr(how_to_name));
  }
}

TEST(switch_client, refuses_a_path_too_long_for_a_socket) {
  EXPECT_THROW(SwitchClient(std::string(200, 'x'), how_to_name), SwitchError);
}

} // namespace
} // namespace tributary::service
