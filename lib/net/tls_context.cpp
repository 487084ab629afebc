#include "lib/net/tls_context.hpp"

#include <boost/asio/ip/address.hpp>

#include <fmt/format.h>

#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

#include <sys/stat.h>

namespace tributary::net {
namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

struct Free {
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};

std::string text_of(const ASN1_STRING* string) {
  const unsigned char* const bytes = ASN1_STRING_get0_data(string);
  return {reinterpret_cast<const char*>(bytes),
          static_cast<std::size_t>(ASN1_STRING_length(string))};
}

void demand(const error_code& error, std::string_view what, const std::string& file,
            std::string_view remedy) {
  if (error) {
    throw TlsError(
        fmt::format("the TLS {} {} cannot be used ({}); {}", what, file, error.message(), remedy));
  }
}

void trust(ssl::context& context, const TlsSettings& settings) {
  if (settings.verify == TlsVerify::nothing) {
    context.set_verify_mode(ssl::verify_none);
    return;
  }
  context.set_verify_mode(settings.verify == TlsVerify::authority_if_any
                              ? ssl::verify_peer
                              : ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
  error_code error;
  if (settings.verify == TlsVerify::system) {
    context.set_default_verify_paths(error);
    demand(error, "authorities of this machine in", X509_get_default_cert_dir(),
           "name a CA of your own");
    return;
  }
  const std::string& ca = settings.files.ca;
  std::error_code unknown;
  if (std::filesystem::is_directory(ca, unknown)) {
    context.add_verify_path(ca, error);
  } else {
    context.load_verify_file(ca, error);
  }
  demand(error, "CA", ca, "give a readable PEM file of certificates, or a directory of them");
  if (settings.verify == TlsVerify::authority_if_any) {
    // A browser asks its user for a certificate unless it hears that it has none of these.
    STACK_OF(X509_NAME)* const authorities = SSL_load_client_CA_file(ca.c_str());
    ::SSL_CTX_set_client_CA_list(context.native_handle(), authorities);
  }
  // Sessions are resumed with the certificate that began them: not in another of our servers.
  constexpr std::string_view id = "tributary";
  ::SSL_CTX_set_session_id_context(context.native_handle(),
                                   reinterpret_cast<const unsigned char*>(id.data()),
                                   static_cast<unsigned>(id.size()));
}

void show(ssl::context& context, const TlsFiles& files) {
  // Otherwise a key with a passphrase would prompt at the terminal.
  const auto asked = std::make_shared<bool>(false);
  context.set_password_callback([asked](std::size_t, ssl::context::password_purpose) {
    *asked = true;
    return std::string();
  });
  error_code error;
  context.use_certificate_chain_file(files.certificate, error);
  demand(error, "certificate", files.certificate,
         "give a readable PEM file with the certificate and its chain");
  context.use_private_key_file(files.key, ssl::context::pem, error);
  if (error && *asked) {
    throw TlsError(
        fmt::format("the TLS key {0} cannot be used: it has a passphrase, and no terminal is "
                    "asked for one; take it off with `openssl pkey -in {0} -out FILE`",
                    files.key));
  }
  demand(error, "key", files.key,
         fmt::format("give a readable PEM file without a passphrase; it and the certificate {} "
                     "must belong together",
                     files.certificate));
}

} // namespace

ssl::context tls_context(const TlsSettings& settings) {
  const bool server = settings.role == TlsRole::server;
  ssl::context context(server ? ssl::context::tls_server : ssl::context::tls_client);
  context.set_options(ssl::context::default_workarounds);
  ::SSL_CTX_set_min_proto_version(context.native_handle(), settings.oldest == TlsVersion::tls_1_3
                                                               ? TLS1_3_VERSION
                                                               : TLS1_2_VERSION);
  trust(context, settings);
  if (server || !settings.files.key.empty()) {
    show(context, settings.files);
  }
  return context;
}

namespace {

/// Differs if the file was replaced or written.
std::string state_of(const std::string& file) {
  struct stat now {};
  if (file.empty() || ::stat(file.c_str(), &now) != 0) {
    return "-";
  }
  return fmt::format("{} {} {} {}.{} {}.{}", now.st_dev, now.st_ino, now.st_size,
                     now.st_mtim.tv_sec, now.st_mtim.tv_nsec, now.st_ctim.tv_sec,
                     now.st_ctim.tv_nsec);
}

} // namespace

std::shared_ptr<ssl::context> TlsSource::context() {
  const TlsFiles& files = settings_.files;
  std::string now = fmt::format("{}, {}, {}", state_of(files.ca), state_of(files.certificate),
                                state_of(files.key));
  if (context_ == nullptr || now != state_) {
    context_ = std::make_shared<ssl::context>(tls_context(settings_));
    state_ = std::move(now);
  }
  return context_;
}

void expect_host(SSL* connection, const std::string& host) {
  X509_VERIFY_PARAM* const wanted = ::SSL_get0_param(connection);
  error_code no_number;
  boost::asio::ip::make_address(host, no_number);
  if (no_number) {
    ::X509_VERIFY_PARAM_set1_host(wanted, host.c_str(), host.size());
    ::SSL_set_tlsext_host_name(connection, host.c_str()); // names only: RFC 6066, section 3
  } else {
    ::X509_VERIFY_PARAM_set1_ip_asc(wanted, host.substr(0, host.find('%')).c_str());
  }
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

} // namespace tributary::net
