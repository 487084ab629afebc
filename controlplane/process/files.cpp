#include "controlplane/process/files.hpp"

#include "lib/configuration/findings.hpp"
#include "lib/net/tls_context.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace tributary::fabricd {

namespace {

/// The first line of the file that the key names; "" without one.
std::string secret(const char* key, const std::string& file, const char* what) {
  if (file.empty()) {
    return {};
  }
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line) || line.empty()) {
    throw std::runtime_error(fmt::format("{} {}: {}; its first line must be the {}", key, file,
                                         in.is_open() ? "is empty" : std::strerror(errno), what));
  }
  return line;
}

} // namespace

std::string administrator_token(const Rest& config) {
  return secret("rest.administrator_token_file", config.administrator_token_file, "token");
}

std::string etcd_password(const Store& config) {
  return secret("store.etcd_password_file", config.etcd_password_file, "password");
}

etcd::ClientSettings etcd_client(const Store& store) {
  return {.endpoints = store.endpoints,
          .tls = {store.etcd_ca, store.etcd_certificate, store.etcd_key},
          .user = store.etcd_user,
          .password = etcd_password(store)};
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
  const Store& store = config.store;
  look("store", "etcd_password_file", [&] { static_cast<void>(etcd_password(store)); });
  if (!store.etcd_ca.empty() || !store.etcd_certificate.empty()) {
    look("store", store.etcd_ca.empty() ? "etcd_certificate" : "etcd_ca", [&] {
      static_cast<void>(net::tls_context(
          {.role = net::TlsRole::client,
           .verify = store.etcd_ca.empty() ? net::TlsVerify::system : net::TlsVerify::authority,
           .files = {store.etcd_ca, store.etcd_certificate, store.etcd_key}}));
    });
  }
  findings.throw_if_any(config.file);
}

} // namespace tributary::fabricd
