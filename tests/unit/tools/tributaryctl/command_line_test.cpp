#include "tools/tributaryctl/command_line.hpp"
#include "tools/tributaryctl/commands.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace tributary::cli {
namespace command_line_test {

using testing::HasSubstr;
using Verb = Command::Verb;

ParsedCommand parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "tributaryctl");
  return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}
Command command_of(const std::vector<const char*>& arguments) {
  const ParsedCommand parsed = parse(arguments);
  EXPECT_FALSE(parsed.exit_code.has_value()) << arguments.front();
  return parsed.command;
}
std::string request_text(const std::vector<const char*>& arguments, const std::string& frame = {}) {
  return boost::json::serialize(request_of(command_of(arguments), frame));
}
/// The exit code and the message.
std::pair<int, std::string> refused(const std::vector<const char*>& arguments) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  const ParsedCommand parsed = parse(arguments);
  testing::internal::GetCapturedStdout();
  return {parsed.exit_code.value_or(-1), testing::internal::GetCapturedStderr()};
}

TEST(request_of, each_command) {
  EXPECT_EQ(request_text({"show", "ports"}), R"({"command":"show","what":"ports"})");
  EXPECT_EQ(request_text({"show", "trees", "--switch", "leaf0"}),
            R"({"command":"show","what":"trees","switch":"leaf0"})");
  EXPECT_EQ(request_text({"show", "neighbours"}), R"({"command":"show","what":"neighbours"})");
  EXPECT_EQ(request_text({"show", "links"}), R"({"command":"show","what":"ports"})");
  EXPECT_EQ(request_text({"show", "queues", "--port", "p"}),
            R"({"command":"show","what":"queues","port":"p"})");
  EXPECT_EQ(request_text({"trace"}), R"({"command":"trace","action":"dump"})");
  EXPECT_EQ(request_text({"trace", "off"}), R"({"command":"trace","action":"off"})");
  EXPECT_EQ(request_text({"trace", "-f", "--drops", "--port", "p", "--tree", "5"}),
            R"({"command":"trace","action":"dump","port":"p","tree":5,"drops":true})");
  EXPECT_EQ(request_text({"capture", "--kind", "wide", "--vni", "7", "--cookie", "0xFFFFFFFF",
                          "--drops", "-o", "x"}),
            R"({"command":"capture","kind":"wide","vni":7,"cookie":4294967295,"drops":true})");
  EXPECT_EQ(request_text({"reload"}), R"({"command":"reload"})");
  EXPECT_EQ(request_text({"version"}), R"({"command":"version"})");
  EXPECT_EQ(request_text({"explain", "--switch", "s", "--port", "p", "-"}, "45d0"),
            R"({"command":"explain","switch":"s","port":"p","frame":"45d0"})");
  EXPECT_EQ(request_text({"capture", "--switch", "s", "--port", "p", "--tree", "5", "--count", "9",
                          "--direction", "received", "-o", "x"}),
            R"({"command":"capture","switch":"s","port":"p","direction":"received","tree":5,)"
            R"("count":9})");
}

TEST(command_line, options_of_the_program_may_stand_behind_the_command) {
  const Command c = command_of({"show", "ports", "--json", "--socket", "/x"});
  EXPECT_TRUE(c.json);
  EXPECT_EQ(c.socket, "/x");
}

TEST(command_line, socket_comes_from_the_environment_unless_given) {
  EXPECT_EQ(command_of({"version"}).socket, default_socket);
  ::setenv("TRIBUTARY_SOCKET", "/from/environment", 1);
  EXPECT_EQ(command_of({"version"}).socket, "/from/environment");
  EXPECT_EQ(command_of({"--socket", "/given", "version"}).socket, "/given");
  ::unsetenv("TRIBUTARY_SOCKET");
}

TEST(command_line, watch_and_duration_take_units_and_fractions) {
  using std::chrono::milliseconds;
  EXPECT_EQ(command_of({"show", "ports", "--watch", "500ms"}).watch, milliseconds(500));
  EXPECT_EQ(command_of({"capture", "-o", "x", "--duration", "2.5s"}).duration, milliseconds(2500));
}

TEST(command_line, mistakes_exit_with_2_and_say_what_is_wrong) {
  const std::pair<std::vector<const char*>, const char*> mistakes[] = {
      {{"show"}, "show: WHAT is missing"},
      {{"show", "hosts"},
       "WHAT must be ports, links, neighbours, queues, trees, engines, counters, workers or "
       "manager, "
       "not \"hosts\""},
      {{"trace", "maybe"}, "ACTION must be on, off, all or dump, not \"maybe\""},
      {{"dance"}, "unknown command \"dance\""},
      {{}, "a command is missing: show, trace"},
      {{"fabric", "tree"}, "fabric tree: a command is missing: draw"},
      {{"capture", "--switch", "s"}, "--output is missing"},
      {{"capture", "-o", "x", "--tree", "8192"},
       "--tree must be a whole number from 0 to 8191, not \"8192\""},
      {{"capture", "-o", "x", "--kind", "tcp"}, "--kind must be reduction, wide"},
      {{"capture", "-o", "x", "--vni", "65536"}, "from 0 to 65535"},
      {{"capture", "-o", "x", "--vni", "blue"}, "--vni must be a whole number"},
      {{"capture", "-o", "x", "--cookie", "4294967296"}, "--cookie"},
      {{"capture", "-o", "x", "--drops", "--direction", "sent"},
       "only received frames are dropped"},
      {{"capture", "-o", "x", "--kind", "rdma", "--cookie", "7"},
       "frames of kind rdma have no cookie"},
      {{"capture", "-o", "x", "--kind", "lldp", "--vni", "7"}, "frames of kind lldp have no vni"},
      {{"capture", "-o", "x", "--kind", "rdma", "--tree", "7"}, "go to a host"},
      {{"trace", "off", "--drops"}, "--drops applies to events that are printed"},
      {{"trace", "--count", "3"}, "--count needs --follow"},
      {{"trace", "--follow", "--count", "0"}, "--count"},
      {{"capture", "-o", "x", "--count", "-1"}, "--count"},
      {{"explain", "--switch", "s", "00"}, "--port is missing"},
      {{"explain", "--switch", "s", "--port", "p", "zz"}, "HEX takes hexadecimal digits"},
      {{"show", "ports", "--port", "p"}, "--port applies to \"show queues\" only"},
      {{"capture", "-o", "x", "--port", "p"}, "--port needs --switch"},
      {{"show", "ports", "--watch", "0"}, "--watch must be from 100ms to 24h, not 0"},
      {{"show", "ports", "--watch", "2"}, "--watch is a duration, such as 2s or 500ms, not \"2\""},
      {{"show", "ports", "--socket"}, "--socket needs a value: PATH"},
      {{"show", "ports", "--switch", "a", "--switch", "b"}, "--switch is given 2 times"},
      {{"show", "ports", "--json=x"}, "--json"},
      {{"reload", "now"}, "reload: unexpected word \"now\""},
  };
  for (const auto& [arguments, says] : mistakes) {
    const auto [code, text] = refused(arguments);
    EXPECT_EQ(code, exit_usage) << says;
    EXPECT_THAT(text, HasSubstr(says));
  }
}

TEST(command_line, misspelt_commands_options_and_words_are_guessed) {
  const std::pair<std::vector<const char*>, const char*> mistakes[] = {
      {{"shw", "ports"}, "did you mean show?"},
      {{"--socket", "shw", "tracee"}, "did you mean trace?"},
      {{"show", "prots"}, "did you mean ports?"},
      {{"fabric", "shwo", "groups"}, "did you mean show?"},
      {{"fabric", "show", "grups"}, "did you mean groups?"},
      {{"show", "ports", "--swich", "a"}, "unknown option --swich; did you mean --switch?"},
      {{"show", "ports", "--jsn"}, "did you mean --json?"},
      {{"fabric", "show", "groups", "--manger=x"},
       "unknown option --manger; did you mean --manager?"},
      {{"impair", "set", "--port", "p", "--kinds", "unicats"}, "did you mean unicast?"},
  };
  for (const auto& [arguments, says] : mistakes) {
    const auto [code, text] = refused(arguments);
    EXPECT_EQ(code, exit_usage) << says;
    EXPECT_THAT(text, HasSubstr(says));
  }
  EXPECT_THAT(refused({"dance"}).second, testing::Not(HasSubstr("did you mean")));
  EXPECT_THAT(refused({"show", "ports", "--watch", "0"}).second,
              testing::Not(HasSubstr("did you mean")));
}

TEST(command_line, help_of_trace_says_what_is_left_out_and_how_to_get_it) {
  testing::internal::CaptureStdout();
  parse({"trace", "--help"});
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_THAT(text, HasSubstr("Left out are contributions"));
  EXPECT_THAT(text, HasSubstr("tributaryctl trace all "));
}

TEST(command_line, help_of_every_command_has_an_example) {
  for (const char* name : {"show", "trace", "capture", "explain", "reload", "version"}) {
    testing::internal::CaptureStdout();
    const ParsedCommand parsed = parse({name, "--help"});
    const std::string text = testing::internal::GetCapturedStdout();
    EXPECT_EQ(parsed.exit_code, exit_success) << name;
    EXPECT_THAT(text, HasSubstr(std::string("  tributaryctl ") + name)) << name;
  }
}

} // namespace command_line_test
} // namespace tributary::cli
