#include "lib/configuration/read_file.hpp"

#include "lib/configuration/diagnostic.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

namespace tributary::configuration {

std::string read_file(const std::string& path) {
  const auto refuse = [&](std::string_view why) {
    throw ConfigError(
        path,
        {{0, "", fmt::format("cannot be read ({}); check the path and its permissions", why)}});
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    refuse("it is a directory");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    refuse(std::strerror(errno));
  }
  return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace tributary::configuration
