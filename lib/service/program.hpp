// The main function of a program that is started from a configuration file: from the command line
// to a running service, and to an exit code.
//
//   int main(int argc, char** argv) {
//     return service::run_program(argc, argv, {.presentation = ..., .default_config = ..., ...});
//   }
#pragma once

#include "lib/service/options.hpp"

#include <boost/json/object.hpp>

#include <functional>
#include <string>

namespace tributary::service {

struct Program {
  Presentation presentation;
  /// What --print-config and --print-keys write.
  std::function<std::string()> default_config;
  std::function<std::string()> keys;
  /// Reads a file: what it holds, in numbers ("switches": 5), for --check-config. Throws
  /// configuration::ConfigError.
  std::function<boost::json::object(const std::string& file)> check;
  /// Serves until asked to end. Throws configuration::ConfigError before anything is started, and
  /// std::exception.
  std::function<void(const Options&)> run;
  /// Looks at the machine, prints what it found, and answers the exit code; where the presentation
  /// has a `doctor`. Throws configuration::ConfigError.
  std::function<int(const Options&)> doctor{};
};

[[nodiscard]] int run_program(int argc, char** argv, const Program& program);

} // namespace tributary::service
