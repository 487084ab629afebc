#include "controlplane/install/channel_tls.hpp"

#include <fmt/format.h>

#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string_view>

namespace tributary::install {
namespace {

namespace ssl = boost::asio::ssl;

struct Free {
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};

std::string text_of(const ASN1_STRING* string) {
  const unsigned char* const bytes = ASN1_STRING_get0_data(string);
  return {reinterpret_cast<const char*>(bytes),
          static_cast<std::size_t>(ASN1_STRING_length(string))};
}

} // namespace

ssl::context server_tls(const TlsFiles& files) {
  ssl::context context(ssl::context::tlsv13_server);
  context.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
  // Without this a key with a pass phrase would ask for it at the terminal.
  context.set_password_callback(
      [](std::size_t, ssl::context::password_purpose) { return std::string(); });
  const auto check = [](const boost::system::error_code& error, std::string_view what,
                        const std::string& file) {
    if (error) {
      throw ChannelError(fmt::format("the TLS {} {} of the switches' channel cannot be used ({}); "
                                     "it must be a readable PEM file without a pass phrase",
                                     what, file, error.message()));
    }
  };
  boost::system::error_code error;
  context.load_verify_file(files.ca, error);
  check(error, "CA", files.ca);
  context.use_certificate_chain_file(files.certificate, error);
  check(error, "certificate", files.certificate);
  context.use_private_key_file(files.key, ssl::context::pem, error);
  check(error, "key", files.key);
  return context;
}

std::vector<std::string> certified_names(const SSL* connection) {
  std::vector<std::string> names;
  const std::unique_ptr<X509, Free> certificate(SSL_get1_peer_certificate(connection));
  if (certificate == nullptr) {
    return names;
  }
  const X509_NAME* const subject = X509_get_subject_name(certificate.get());
  for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0;) {
    names.push_back(text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at))));
  }
  const std::unique_ptr<GENERAL_NAMES, Free> others(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; others != nullptr && i < sk_GENERAL_NAME_num(others.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(others.get(), i);
    if (name->type == GEN_DNS) {
      names.push_back(text_of(name->d.dNSName));
    }
  }
  return names;
}

} // namespace tributary::install
