#include "lib/terminal/command_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tributary::terminal {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

/// A program with one command and an option of each type.
struct Program {
  Program() {
    set_up(app);
    app.fallthrough(); // inherited by commands
    add_duration(app, "--wait", wait, "Time", {.most = std::chrono::hours(1)});
    add_duration(app, "-f,--fine", fine, "Time of a simulation");
    add_share(app, "--loss", loss, "Share of frames");
    one_of(app.add_option("--form", form, "Form")->type_name("FORM")->capture_default_str(),
           {"raw", "af_xdp"});
    within(app.add_option("--trees", trees, "Number of trees"), 1, 2)->capture_default_str();
    app.add_option("--size", size, "Size");
    app.add_flag("--armed,!--no-armed", armed, "Whether armed")->default_str("--armed");
    add_ethertype(app, ethertype);
    CLI::App* const show = app.add_subcommand("show", "Show it");
    one_of(show->add_option("what", what, "What")->required()->type_name("WHAT"),
           {"groups", "trees"});
    app.footer("Examples:\n  program show groups");
    add_exit_codes(app, {"0  success", "2  wrong command line"});
  }
  std::optional<int> run(std::vector<const char*> words) {
    words.insert(words.begin(), "program");
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const auto code = parse(app, static_cast<int>(words.size()), words.data(), check);
    out = testing::internal::GetCapturedStdout();
    error = testing::internal::GetCapturedStderr();
    return code;
  }

  CLI::App app{"Does something.", "program"};
  milliseconds wait{2000};
  FineDuration fine{2.5};
  double loss = 0.25;
  std::string form = "raw";
  std::uint32_t trees = 1;
  std::uint32_t size = 0;
  bool armed = true;
  std::uint16_t ethertype = 0x88B5;
  std::string what;
  std::function<void()> check;
  std::string out;
  std::string error;
};

TEST(command_line, values_have_units) {
  Program program;
  EXPECT_EQ(program.run({"--wait", "1.5s", "--fine", "0.5ns", "--loss", "1%", "--form", "af_xdp",
                         "--trees", "2", "--no-armed", "--ethertype", "0x88B6", "show", "groups"}),
            std::nullopt)
      << program.error;
  EXPECT_EQ(program.wait, milliseconds(1500));
  EXPECT_EQ(program.fine.count(), 0.5);
  EXPECT_DOUBLE_EQ(program.loss, 0.01);
  EXPECT_EQ(program.form, "af_xdp");
  EXPECT_EQ(program.trees, 2U);
  EXPECT_FALSE(program.armed);
  EXPECT_EQ(program.ethertype, 0x88B6);
  EXPECT_EQ(Program().run({"--loss", "0.5", "--wait", "0", "show", "trees"}), std::nullopt);
}

TEST(command_line, usage_errors_are_a_line_with_code_2) {
  const std::pair<std::vector<const char*>, const char*> mistakes[] = {
      {{"--wait", "2"}, "program: --wait is a duration, such as 2s or 500ms, not \"2\""},
      {{"--wait", "2h"}, "--wait must be from 0s to 1h, not 2h"},
      {{"--wait", "1us"}, "--wait must be a multiple of 1ms, not 1us"},
      {{"--wait"}, "--wait needs a value: DURATION"},
      {{"--wait", "1s", "--wait", "2s", "show", "trees"}, "--wait is given 2 times; give it once"},
      {{"--loss", "2"}, "--loss is a share, such as 1% or 0.01, not \"2\""},
      {{"--form", "xdp"}, "--form must be raw or af_xdp, not \"xdp\""},
      {{"--form", "af_xpd"}, "did you mean af_xdp?"},
      {{"--trees", "3"}, "--trees must be a whole number from 1 to 2, not \"3\""},
      {{"--trees", "x"}, "--trees must be a whole number from 1 to 2, not \"x\""},
      {{"--size", "x"}, "--size must be a whole number, not \"x\""},
      {{"--size", "5000000000", "show", "trees"}, "--size does not take \"5000000000\""},
      {{"--ethertype", "1"}, "--ethertype must be from 0x0600 to 0xFFFF, not \"1\""},
      {{"--waits", "1s"}, "program: unknown option --waits; did you mean --wait?"},
      {{"show", "trees", "--lsos=1%"}, "program show: unknown option --lsos; did you mean --loss?"},
      {{"shw"}, "program: unknown command \"shw\"; did you mean show?"},
      {{"show"}, "program show: WHAT is missing"},
      {{"show", "grups"}, "WHAT must be groups or trees, not \"grups\"; did you mean groups?"},
      {{"show", "groups", "more"}, "program show: unexpected word \"more\""},
  };
  for (const auto& [words, expected] : mistakes) {
    Program program;
    EXPECT_EQ(program.run(words), exit_usage) << expected;
    EXPECT_THAT(program.error, HasSubstr(expected));
    EXPECT_THAT(program.error, HasSubstr("--help)\n"));
    EXPECT_EQ(std::ranges::count(program.error, '\n'), 1) << program.error;
    EXPECT_EQ(program.out, "");
  }
}

TEST(command_line, words_behind_dashes_are_a_command_whatever_they_look_like) {
  const auto run = [](const std::vector<const char*>& words) {
    Program program;
    std::vector<std::string> command;
    program.app.add_subcommand("run", "Run it")
        ->add_option("command", command, "Command")
        ->required()
        ->type_name("COMMAND");
    const auto code = program.run(words);
    return std::tuple(code, command, program.size, program.error);
  };
  const auto [code, command, size, error] =
      run({"run", "--trees", "2", "--", "./app", "--size", "x", "show"});
  EXPECT_EQ(code, std::nullopt) << error;
  EXPECT_THAT(command, testing::ElementsAre("./app", "--size", "x", "show"));
  EXPECT_EQ(size, 0U);
  const auto wrong = run({"run", "--trees", "9", "--", "./app"});
  EXPECT_EQ(std::get<0>(wrong), 2);
  EXPECT_THAT(std::get<3>(wrong), HasSubstr("--trees"));
}

TEST(command_line, what_a_check_throws_is_a_usage_error) {
  Program program;
  program.check = [] { throw std::invalid_argument("\"x\" is not an address"); };
  EXPECT_EQ(program.run({"show", "trees"}), exit_usage);
  EXPECT_THAT(program.error, HasSubstr("program show: \"x\" is not an address"));
}

TEST(command_line, help_shows_values_defaults_and_exit_codes_in_one_form) {
  Program program;
  EXPECT_EQ(program.run({"--help"}), 0);
  for (const char* const expected :
       {"--wait DURATION", "Time [default: 2s]", "[default: 2.5ns]", "[default: 25%]",
        "--form raw|af_xdp", "Form [default: raw]", "[1 to 2; default: 1]", "--size N",
        "--armed,--no-armed", "[default: --armed]", "default: 0x88B5",
        "Examples:", "Exit codes:\n  0  success\n"}) {
    EXPECT_THAT(program.out, HasSubstr(expected));
  }
  for (const char* const inner : {"{false}", "UINT", "TEXT", " in ["}) {
    EXPECT_THAT(program.out, Not(HasSubstr(inner)));
  }
  Program again;
  EXPECT_EQ(again.run({"show", "--help"}), 0);
  EXPECT_THAT(again.out, HasSubstr("Exit codes:"));
  EXPECT_THAT(again.out, HasSubstr("[one of groups, trees; required]"));
}

TEST(command_line, version_is_the_project_s) {
  Program program;
  EXPECT_EQ(program.run({"--version"}), 0);
  EXPECT_THAT(program.out, testing::StartsWith("program "));
}

} // namespace
} // namespace tributary::terminal
