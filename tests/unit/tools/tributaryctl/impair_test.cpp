// `tributaryctl impair`: the user's input, the request to the switch, and the display of its
// answer.
#include "tools/tributaryctl/command_line.hpp"
#include "tools/tributaryctl/commands.hpp"
#include "tools/tributaryctl/impair/units.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tributary::cli {
namespace impair_test {

using testing::AllOf;
using testing::HasSubstr;

ParsedCommand parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), {"tributaryctl", "impair"});
  return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}
boost::json::value request(const std::vector<const char*>& arguments) {
  const ParsedCommand parsed = parse(arguments);
  EXPECT_FALSE(parsed.exit_code.has_value()) << arguments.front();
  return request_of(parsed.command);
}
std::pair<int, std::string> refused(const std::vector<const char*>& arguments) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  const ParsedCommand parsed = parse(arguments);
  testing::internal::GetCapturedStdout();
  return {parsed.exit_code.value_or(-1), testing::internal::GetCapturedStderr()};
}

TEST(impair, show_and_clear_name_what_they_are_about) {
  EXPECT_EQ(request({"show"}), boost::json::parse(R"({"command":"impair","action":"show"})"));
  EXPECT_EQ(request({"clear", "--switch", "s", "--port", "p", "--direction", "sent"}),
            boost::json::parse(R"({"command":"impair","action":"clear","switch":"s","port":"p",
                                   "direction":"sent"})"));
  EXPECT_EQ(request({"clear", "--all"}),
            boost::json::parse(R"({"command":"impair","action":"clear"})"));
}

TEST(impair, set_sends_every_setting_by_the_name_and_in_the_unit_of_its_key) {
  EXPECT_EQ(request({"set",
                     "--port",
                     "p0",
                     "--direction",
                     "sent",
                     "--loss",
                     "25%",
                     "--good-to-bad",
                     "0.5",
                     "--bad-to-good",
                     "0.25",
                     "--loss-good",
                     "0.125",
                     "--loss-bad",
                     "75%",
                     "--duplicate",
                     "0.5",
                     "--corrupt",
                     "0.5",
                     "--corrupt-bits",
                     "3",
                     "--delay",
                     "1.5ms",
                     "--jitter",
                     "20us",
                     "--reorder",
                     "0.5",
                     "--reorder-distance",
                     "8",
                     "--reorder-hold",
                     "7us",
                     "--rate",
                     "2.5G",
                     "--rate-burst",
                     "1000",
                     "--rate-queue",
                     "2000",
                     "--held-frames",
                     "10",
                     "--seed",
                     "7",
                     "--kinds",
                     "reduction,result"}),
            boost::json::parse(R"({"command":"impair","action":"set","port":"p0","direction":"sent",
        "settings":{"loss":0.25,"good_to_bad":0.5,"bad_to_good":0.25,"loss_good":0.125,
        "loss_bad":0.75,"duplicate":0.5,"corrupt":0.5,"corrupt_bits":3,"delay_us":1500,
        "jitter_us":20,"reorder":0.5,"reorder_distance":8,"reorder_hold_us":7,"rate_kbps":2500000,
        "rate_burst_bytes":1000,"rate_queue_bytes":2000,"held_frames":10,"seed":7,
        "kinds":["reduction","result"]}})"));
}

TEST(impair, a_command_that_says_too_little_or_nonsense_is_refused_and_says_why) {
  const std::pair<std::vector<const char*>, const char*> cases[] = {
      {{}, "a command is missing"},
      {{"set", "--loss", "1%"}, "--port"},
      {{"set", "--port", "p"}, "no impairment is given"},
      {{"set", "--port", "p", "--loss", "101%"}, "--loss is a share, such as 1% or 0.01"},
      {{"set", "--port", "p", "--loss", "1 in 5"}, "--loss is a share"},
      {{"set", "--port", "p", "--delay", "1.5us"}, "--delay must be a multiple of 1us, not 1.5us"},
      {{"set", "--port", "p", "--delay", "5"}, "--delay is a duration"},
      {{"set", "--port", "p", "--rate", "fast"}, "is not a rate"},
      {{"set", "--port", "p", "--seed", "x"}, "--seed must be a whole number"},
      {{"set", "--port", "p", "--kinds", "foo"}, "--kinds must be reduction"},
      {{"set", "--port", "p", "--direction", "up", "--loss", "1%"}, "received"},
      {{"clear"}, "--all"},
      {{"clear", "--all", "--port", "p"}, "--port"},
  };
  for (const auto& [arguments, expected] : cases) {
    const auto [exit_code, said] = refused(arguments);
    EXPECT_EQ(exit_code, exit_usage) << expected;
    EXPECT_THAT(said, HasSubstr(expected));
  }
}

TEST(impair, a_view_has_what_is_in_force_and_what_it_did) {
  const auto result = boost::json::parse(
      R"([{"switch":"leaf0","port":"p0","direction":"sent","on":true,"seed":7,"held":0,
           "settings":{"loss":1E-2,"kinds":["rdma","unicast"]},"frames":100,"lost":3},
          {"switch":"leaf0","port":"p0","direction":"received","on":false,"frames":5}])");
  const std::string text = impairments_view(result, false);
  EXPECT_THAT(text, AllOf(HasSubstr("leaf0"), HasSubstr("100     3"),
                          HasSubstr("kinds rdma,unicast"), HasSubstr("seed 7"), HasSubstr("off")));
  EXPECT_EQ(impairments_view(boost::json::array(), false),
            "No port is impaired, and none has been.\n");
}

TEST(kilobits_of, takes_the_units_that_people_write) {
  EXPECT_EQ(kilobits_of("800k"), 800U);
  EXPECT_EQ(kilobits_of("10Mbit"), 10'000U);
  EXPECT_EQ(kilobits_of("1000000"), 1'000U);
  EXPECT_EQ(kilobits_of("0.1G"), 100'000U);
  for (const char* text : {"", "0", "10", "1T", "0k", "-1M"}) {
    EXPECT_THROW(static_cast<void>(kilobits_of(text)), std::invalid_argument) << text;
  }
}

} // namespace impair_test
} // namespace tributary::cli
