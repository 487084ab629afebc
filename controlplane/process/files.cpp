#include "controlplane/process/files.hpp"

#include "lib/configuration/findings.hpp"
#include "lib/net/tls_context.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace tributary::fabricd {

std::string administrator_token(const Rest& config) {
  const std::string& file = config.administrator_token_file;
  if (file.empty()) {
    return {};
  }
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line) || line.empty()) {
    throw std::runtime_error(
        fmt::format("rest.administrator_token_file {}: {}; its first line must be the token", file,
                    in.is_open() ? "is empty" : std::strerror(errno)));
  }
  return line;
}

void check_files(const Config& config) {
  configuration::Findings findings;
  const auto look = [&](const std::string& section, const std::string& key, const auto& use) {
    try {
      use();
    } catch (const std::exception& error) {
      const auto written = config.document.find(fmt::format("{}: {}", section, key));
      findings.add(written == config.document.end() ? 0 : written->second.line,
                   fmt::format("{}.{}", section, key), "{}", error.what());
    }
  };
  const Rest& rest = config.rest;
  look("rest", "administrator_token_file", [&] { static_cast<void>(administrator_token(rest)); });
  if (!rest.tls_certificate.empty()) {
    look("rest", "tls_certificate", [&] {
      static_cast<void>(
          net::tls_context({.role = net::TlsRole::server,
                            .verify = rest.tls_ca.empty() ? net::TlsVerify::nothing
                                                          : net::TlsVerify::authority_if_any,
                            .files = {rest.tls_ca, rest.tls_certificate, rest.tls_key}}));
    });
  }
  const Switches& switches = config.switches;
  if (!switches.tls_ca.empty() && !switches.tls_certificate.empty()) {
    look("switches", "tls_certificate", [&] {
      static_cast<void>(net::tls_context(
          {.role = net::TlsRole::server,
           .verify = net::TlsVerify::authority,
           .files = {switches.tls_ca, switches.tls_certificate, switches.tls_key}}));
    });
  }
  findings.throw_if_any(config.file);
}

} // namespace tributary::fabricd
