// Mutual TLS on control channels: whose certificates are taken, and which switch one is for.
#pragma once

#include <boost/asio/ssl/context.hpp>

#include <openssl/ssl.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace tributary::install {

/// PEM files.
struct TlsFiles {
  std::string ca;          ///< who signs the switches' certificates
  std::string certificate; ///< the manager's, with its chain
  std::string key;
};

/// An address that cannot be listened on, or a TLS file that cannot be used; says what to do.
class ChannelError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// TLS 1.3, and a certificate of the CA is demanded of the other end. Throws ChannelError.
[[nodiscard]] boost::asio::ssl::context server_tls(const TlsFiles& files);

/// The common name and the DNS names of the certificate the other end has shown.
[[nodiscard]] std::vector<std::string> certified_names(const SSL* connection);

} // namespace tributary::install
