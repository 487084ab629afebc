#include "lib/service/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tributary::service {
namespace {

using testing::HasSubstr;

constexpr const char* default_config_file = "/etc/tributary/switch.toml";

struct Outcome {
  ParsedOptions parsed;
  std::string output;
  std::string errors;
};
Outcome parse(std::vector<std::string> arguments, const std::string& raise_epoch = {}) {
  arguments.insert(arguments.begin(), "tributary-switch");
  std::vector<char*> argv;
  for (std::string& argument : arguments) {
    argv.push_back(argument.data());
  }
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const Presentation program{.name = "tributary-switch",
                             .summary = "A switch.",
                             .config_file = default_config_file,
                             .log_level = "process.log_level",
                             .signals = "SIGTERM ends it.",
                             .more_examples = {},
                             .raise_epoch = raise_epoch};
  Outcome outcome{parse_options(static_cast<int>(argv.size()), argv.data(), program), {}, {}};
  outcome.output = testing::internal::GetCapturedStdout();
  outcome.errors = testing::internal::GetCapturedStderr();
  return outcome;
}

TEST(parse_options, runs_the_default_file_when_nothing_is_said) {
  const Options options = parse({}).parsed.options;
  EXPECT_EQ(options.action, Options::Action::run);
  EXPECT_EQ(options.config_file, default_config_file);
  EXPECT_FALSE(options.config_given);
}

TEST(parse_options, takes_a_file_and_a_log_level) {
  const Options options = parse({"--config", "a.toml", "--log-level", "debug"}).parsed.options;
  EXPECT_EQ(options.config_file, "a.toml");
  EXPECT_TRUE(options.config_given);
  EXPECT_EQ(options.log_level, "debug");
}

TEST(parse_options, raises_the_epoch_of_programs_that_have_one) {
  const Options options = parse({"--raise-epoch", "-c", "x"}, "Raise it").parsed.options;
  EXPECT_EQ(options.action, Options::Action::raise_epoch);
  EXPECT_EQ(options.config_file, "x");
  EXPECT_EQ(parse({"--raise-epoch", "--check-config"}, "Raise it").parsed.exit_code,
            exit_usage_or_config_error);
  EXPECT_EQ(parse({"--raise-epoch"}).parsed.exit_code, exit_usage_or_config_error)
      << "a switch has none";
}

TEST(parse_options, distinguishes_the_actions) {
  using Action = Options::Action;
  EXPECT_EQ(parse({"--print-config"}).parsed.options.action, Action::print_config);
  EXPECT_EQ(parse({"--print-keys"}).parsed.options.action, Action::print_keys);
  const Options check = parse({"--check-config", "--json", "-c", "x"}).parsed.options;
  EXPECT_EQ(check.action, Action::check_config);
  EXPECT_TRUE(check.json);
}

TEST(parse_options, help_and_version_exit_with_0) {
  const Outcome help = parse({"-h"});
  EXPECT_EQ(help.parsed.exit_code, exit_success);
  EXPECT_THAT(help.output, HasSubstr("Examples:"));
  const Outcome version = parse({"--version"});
  EXPECT_EQ(version.parsed.exit_code, exit_success);
  EXPECT_THAT(version.output, HasSubstr("tributary-switch "));
}

TEST(parse_options, mistakes_exit_with_2_and_are_named_on_standard_error) {
  const std::vector<std::string> mistakes[] = {
      {"--confg", "x"}, {"--config"}, {"--log-level", "loud"}, {"--print-config", "--check-config"},
      {"--json"},       {"stray"}};
  for (const auto& arguments : mistakes) {
    const Outcome outcome = parse(arguments);
    EXPECT_EQ(outcome.parsed.exit_code, exit_usage_or_config_error) << arguments.front();
    EXPECT_THAT(outcome.errors, HasSubstr(arguments.front().substr(2))) << arguments.front();
    EXPECT_EQ(outcome.output, "");
  }
}

} // namespace
} // namespace tributary::service
