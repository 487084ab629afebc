// The main function of a program with a configuration file: from the command line to a running
// service, and to an exit code.
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
  /// The output of --print-config and --print-keys.
  std::function<std::string()> default_config;
  std::function<std::string()> keys;
  /// For --check-config: reads a file and returns its contents in numbers ("switches": 5). Throws
  /// configuration::ConfigError.
  std::function<boost::json::object(const std::string& file)> check;
  /// Serves until asked to end. Throws configuration::ConfigError before anything is started, or
  /// another std::exception.
  std::function<void(const Options&)> run;
  /// Checks the machine, prints the findings, and returns the exit code; if the presentation has a
  /// `doctor`. Throws configuration::ConfigError.
  std::function<int(const Options&)> doctor{};
  /// Raises the epoch in the store that the configuration names, and returns a line about it; if
  /// the presentation has a `raise_epoch`. Throws configuration::ConfigError, or another
  /// std::exception.
  std::function<std::string(const Options&)> raise_epoch{};
};

[[nodiscard]] int run_program(int argc, char** argv, const Program& program);

} // namespace tributary::service
