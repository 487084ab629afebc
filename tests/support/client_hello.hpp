// The first bytes of a TLS handshake, from a client that then sends nothing more.
#pragma once

#include <openssl/bio.h>
#include <openssl/ssl.h>

#include <array>
#include <memory>
#include <string>

namespace tributary::test {

inline std::string client_hello() {
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(::SSL_CTX_new(::TLS_client_method()),
                                                             ::SSL_CTX_free);
  const std::unique_ptr<SSL, void (*)(SSL*)> client(::SSL_new(context.get()), ::SSL_free);
  BIO* const out = ::BIO_new(::BIO_s_mem());
  ::SSL_set_bio(client.get(), ::BIO_new(::BIO_s_mem()), out);
  ::SSL_connect(client.get());
  std::array<char, 4096> bytes{};
  const int length = ::BIO_read(out, bytes.data(), static_cast<int>(bytes.size()));
  return {bytes.data(), static_cast<std::size_t>(length)};
}

} // namespace tributary::test
