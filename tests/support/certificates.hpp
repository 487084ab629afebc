// Certificates for a test, made by openssl in a directory of their own: a CA, and certificates that
// it signed.
#pragma once

#include "tests/support/scratch_directory.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

namespace tributary::test {

class CertificateAuthority {
public:
  CertificateAuthority(const ScratchDirectory& directory, std::string name)
      : directory_(directory), name_(std::move(name)) {
    run(fmt::format("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
                    "-days 2 -subj /CN={0} -keyout {1} -out {2}",
                    name_, key(), certificate()));
  }
  [[nodiscard]] std::string certificate() const { return directory_.file(name_ + ".pem"); }

  /// Signs a certificate; `alternative_name` is e.g. "IP:127.0.0.1" or "DNS:leaf0".
  void sign(const std::string& name, const std::string& alternative_name) const {
    const std::string request = directory_.file(name + ".csr");
    const std::string extension = directory_.file(name + ".ext");
    run(fmt::format("openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "
                    "/CN={} -keyout {} -out {}",
                    name, directory_.file(name + ".key"), request));
    run(fmt::format("echo subjectAltName={} > {}", alternative_name, extension));
    run(fmt::format("openssl x509 -req -in {} -CA {} -CAkey {} -CAcreateserial -days 2 -extfile {} "
                    "-out {}",
                    request, certificate(), key(), extension, directory_.file(name + ".pem")));
  }
  /// The same key behind a passphrase, in a file of its own.
  void lock(const std::string& name, const std::string& locked) const {
    run(fmt::format("openssl pkey -in {} -aes256 -passout pass:secret -out {}",
                    directory_.file(name + ".key"), directory_.file(locked + ".key")));
  }

private:
  static void run(const std::string& command) {
    if (std::system((command + " 2>/dev/null").c_str()) != 0) {
      throw std::runtime_error("failed: " + command);
    }
  }
  [[nodiscard]] std::string key() const { return directory_.file(name_ + ".key"); }

  const ScratchDirectory& directory_;
  std::string name_;
};

} // namespace tributary::test
