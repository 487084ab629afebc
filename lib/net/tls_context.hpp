// The one way to a TLS context, for every server and client of ours.
//
// None of them may ask a person for anything: OpenSSL would read the passphrase of a private key
// from the terminal, where a service hangs and nobody sees why. So a key with a passphrase is
// refused here, and the error says so.
//
//   ssl::context context = net::tls_context({.role = net::TlsRole::client,
//                                            .oldest = net::TlsVersion::tls_1_3,
//                                            .verify = net::TlsVerify::authority,
//                                            .files = {ca, certificate, key}});
//   ssl::stream<Socket> stream(std::move(socket), context);
//   net::expect_host(stream.native_handle(), "fabric.example");      a client, before the handshake
//
// Files are read at once: whoever wants a renewed certificate makes a new context, or has a
// TlsSource do that.
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

/// A file that cannot be used; says which, why and what to do.
class TlsError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// PEM files; "": none.
struct TlsFiles {
  std::string ca;          ///< who signs the other end's certificates; may be a directory of them
  std::string certificate; ///< our own, with its chain
  std::string key;         ///< its private key, without a passphrase
};

enum class TlsRole : std::uint8_t { server, client };
enum class TlsVersion : std::uint8_t { tls_1_2, tls_1_3 };
/// What the other end must show: nothing that is looked at, a certificate signed by `files.ca`, or
/// one signed by an authority that this machine trusts.
enum class TlsVerify : std::uint8_t { nothing, authority, system };

struct TlsSettings {
  TlsRole role = TlsRole::server;
  TlsVersion oldest = TlsVersion::tls_1_2;
  TlsVerify verify = TlsVerify::nothing;
  TlsFiles files;
};

/// Throws TlsError.
[[nodiscard]] boost::asio::ssl::context tls_context(const TlsSettings& settings);

/// The context of these files as they are now: made again when one has changed, and shared by all
/// connections until then.
class TlsSource {
public:
  explicit TlsSource(TlsSettings settings) : settings_(std::move(settings)) {}
  /// Throws TlsError.
  [[nodiscard]] std::shared_ptr<boost::asio::ssl::context> context();

private:
  TlsSettings settings_;
  std::string state_; ///< of the files that `context_` was made of
  std::shared_ptr<boost::asio::ssl::context> context_;
};

/// For a client whose context verifies: the server's certificate must be for this host, a name or
/// an IP address. Tells a server of several names which one is meant.
void expect_host(SSL* connection, const std::string& host);

/// The common names and the DNS names of the certificate the other end has shown.
[[nodiscard]] std::vector<std::string> certified_names(const SSL* connection);

} // namespace tributary::net
