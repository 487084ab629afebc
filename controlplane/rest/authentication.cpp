#include "controlplane/rest/authentication.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>

#include <sys/socket.h>
#include <unistd.h>

namespace tributary::rest {
namespace {

bool has_scheme(std::string_view text, std::string_view scheme) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return text.size() > scheme.size() && text[scheme.size()] == ' ' &&
         std::equal(scheme.begin(), scheme.end(), text.begin(),
                    [&](char a, char b) { return a == lower(b); });
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// "" when it is not base64.
std::string from_base64(std::string_view text) {
  std::string out(text.size() / 4 * 3, '\0');
  const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  if (length < 0) {
    return {};
  }
  // The decoder counts the padding as zeros.
  const auto padding = static_cast<std::size_t>(
      std::count(text.end() - std::min<std::ptrdiff_t>(2, std::ssize(text)), text.end(), '='));
  out.resize(static_cast<std::size_t>(length) - std::min<std::size_t>(padding, out.size()));
  return out;
}

} // namespace

std::string token_of(std::string_view authorization) {
  const std::string_view text = without_blanks(authorization);
  if (has_scheme(text, "bearer")) {
    return std::string(without_blanks(text.substr(6)));
  }
  if (has_scheme(text, "basic")) {
    const std::string login = from_base64(without_blanks(text.substr(5)));
    const std::size_t colon = login.find(':');
    return colon == std::string::npos ? std::string() : login.substr(colon + 1);
  }
  return {};
}

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::optional<uid_t> peer_user(int descriptor) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
    return std::nullopt;
  }
  return credentials.uid;
}

bool is_administrator(uid_t user) { return user == 0 || user == ::geteuid(); }

} // namespace tributary::rest
