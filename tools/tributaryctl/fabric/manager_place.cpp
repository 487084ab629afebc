#include "tools/tributaryctl/fabric/manager_place.hpp"

#include "endpoint/manager_client/environment.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace tributary::cli {
namespace {

std::string token_in(const std::string& path) {
  std::ifstream file(path);
  std::string token;
  if (!(file >> token)) {
    throw std::runtime_error(fmt::format("no token can be read from {} ({})", path,
                                         errno == 0 ? "it is empty" : std::strerror(errno)));
  }
  return token;
}

} // namespace

void add_manager_options(CLI::App& app, ManagerPlace& place) {
  app.add_option("-m,--manager", place.manager,
                 "unix:PATH, http://HOST[:PORT] or https://HOST[:PORT]; default "
                 "TRIBUTARY_FABRIC_MANAGER_URL, or the manager of this machine")
      ->type_name("URL");
  app.add_option("--token-file", place.token_file,
                 "The file with the token; default TRIBUTARY_FABRIC_MANAGER_TOKEN")
      ->type_name("FILE");
  app.add_option("--ca", place.certificate_authority,
                 "CA for https: a PEM file or directory, yes for the system's CAs, no for no check")
      ->type_name("PATH");
}

manager_client::ClientSettings settings_of(const ManagerPlace& place) {
  const std::string token = place.token_file ? token_in(*place.token_file) : std::string();
  const auto given = [](const std::optional<std::string>& text) {
    return text ? text->c_str() : nullptr;
  };
  try {
    return manager_client::settings_from(
        {.url = given(place.manager),
         .token = place.token_file ? token.c_str() : nullptr,
         .certificate_authority = given(place.certificate_authority)});
  } catch (const std::invalid_argument& e) {
    throw UsageError(e.what());
  }
}

} // namespace tributary::cli
