#include "lib/service/program.hpp"

#include "lib/configuration/diagnostic_json.hpp"
#include "lib/service/log.hpp"
#include "lib/terminal/output.hpp"
#include "lib/terminal/output_file.hpp"

#include <boost/json/serialize.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <exception>

namespace tributary::service {
namespace {

namespace json = boost::json;

int check_config(const Program& program, const Options& options) {
  try {
    const json::object numbers = program.check(options.config_file);
    if (options.json) {
      json::object answer{{"ok", true}, {"file", options.config_file}};
      answer.insert(numbers.begin(), numbers.end());
      fmt::print("{}\n", json::serialize(answer));
      return exit_success;
    }
    std::string text;
    for (const auto& [name, number] : numbers) {
      text += fmt::format("{} {} {}", text.empty() ? ":" : ",", std::string_view(name),
                          json::serialize(number));
    }
    fmt::print("{} is good{}\n", options.config_file, text);
    return exit_success;
  } catch (const configuration::ConfigError& e) {
    if (options.json) {
      fmt::print("{}\n", json::serialize(configuration::findings_json(e)));
    } else {
      fmt::print(stderr, "{}\n", e.what());
    }
    return exit_usage_or_config_error;
  }
}

int doctor(const Program& program, const Options& options) {
  try {
    return program.doctor(options);
  } catch (const configuration::ConfigError& e) {
    fmt::print(stderr, "{}\n", e.what());
    return exit_usage_or_config_error;
  }
}

int raise_epoch(const Program& program, const Options& options) {
  try {
    fmt::print("{}\n", program.raise_epoch(options));
    return exit_success;
  } catch (const configuration::ConfigError& e) {
    fmt::print(stderr, "{}\n", e.what());
    return exit_usage_or_config_error;
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}: {}\n", program.presentation.name, e.what());
    return exit_runtime_failure;
  }
}

int serve(const Program& program, const Options& options) {
  start_logging(program.presentation.name);
  try {
    program.run(options);
    return exit_success;
  } catch (const configuration::ConfigError& e) {
    fmt::print(stderr, "{}\nNothing was started.{}\n", e.what(),
               options.config_given ? "" : " Name a configuration with --config FILE.");
    return exit_usage_or_config_error;
  } catch (const std::exception& e) {
    spdlog::critical("{}", e.what());
    fmt::print(stderr, "Everything that was opened is closed again.\n");
    return exit_runtime_failure;
  }
}

int act(int argc, char** argv, const Program& program) {
  const ParsedOptions parsed = parse_options(argc, argv, program.presentation);
  if (parsed.exit_code) {
    return *parsed.exit_code;
  }
  terminal::send_output_to(parsed.options.output);
  switch (parsed.options.action) {
  case Options::Action::print_config:
    fmt::print("{}", program.default_config());
    return exit_success;
  case Options::Action::print_keys: fmt::print("{}", program.keys()); return exit_success;
  case Options::Action::check_config: return check_config(program, parsed.options);
  case Options::Action::doctor: return doctor(program, parsed.options);
  case Options::Action::raise_epoch: return raise_epoch(program, parsed.options);
  case Options::Action::run: break;
  }
  return serve(program, parsed.options);
}

} // namespace

int run_program(int argc, char** argv, const Program& program) {
  return terminal::with_checked_output(program.presentation.name,
                                       [&] { return act(argc, argv, program); });
}

} // namespace tributary::service
