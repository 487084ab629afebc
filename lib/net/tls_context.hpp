// Creates the TLS contexts of all our servers and clients.
//
// None of them may prompt: OpenSSL would read the passphrase of a private key from the terminal,
// where a service would hang without an explanation. So a key with a passphrase is refused, and the
// error says so.
//
//   ssl::context context = net::tls_context({.role = net::TlsRole::client,
//                                            .oldest = net::TlsVersion::tls_1_3,
//                                            .verify = net::TlsVerify::authority,
//                                            .files = {ca, certificate, key}});
//   ssl::stream<Socket> stream(std::move(socket), context);
//   net::expect_host(stream.native_handle(), "fabric.example");      a client, before the handshake
//
// Files are read immediately: for a renewed certificate make a new context, or use a TlsSource.
#pragma once

#include <boost/asio/ssl/context.hpp>

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tributary::net {

/// A file that cannot be used; the message names it, the reason and the remedy.
class TlsError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// PEM files; "": none.
struct TlsFiles {
  std::string ca;          ///< signs the other end's certificates; may be a directory of such files
  std::string certificate; ///< our own, with its chain
  std::string key;         ///< its private key, without a passphrase
};

enum class TlsRole : std::uint8_t { server, client };
enum class TlsVersion : std::uint8_t { tls_1_2, tls_1_3 };
/// Requirements on the other end's certificate: none; signed by `files.ca`; the same, or that it
/// presents none (servers only); signed by an authority that this machine trusts.
enum class TlsVerify : std::uint8_t { nothing, authority, authority_if_any, system };

struct TlsSettings {
  TlsRole role = TlsRole::server;
  TlsVersion oldest = TlsVersion::tls_1_2;
  TlsVerify verify = TlsVerify::nothing;
  TlsFiles files;
};

/// Throws TlsError.
[[nodiscard]] boost::asio::ssl::context tls_context(const TlsSettings& settings);

/// The context of the files in their current version: made again when one has changed, and shared
/// by all connections until then.
class TlsSource {
public:
  explicit TlsSource(TlsSettings settings) : settings_(std::move(settings)) {}
  /// Throws TlsError.
  [[nodiscard]] std::shared_ptr<boost::asio::ssl::context> context();

private:
  TlsSettings settings_;
  std::string state_; ///< of the files of `context_`
  std::shared_ptr<boost::asio::ssl::context> context_;
};

/// For a client whose context verifies: the server's certificate must be for this host, a name or
/// an IP address. Sends the name to servers with several.
void expect_host(SSL* connection, const std::string& host);

/// The common names and the DNS names in the other end's certificate.
[[nodiscard]] std::vector<std::string> certified_names(const SSL* connection);

} // namespace tributary::net
