// The bytes of an HTTP/1.1 answer. Pure.
#pragma once

#include "controlplane/api/service.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::rest {

struct Response {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::string body;
  /// Further header fields. Names and values come from the server, never from a client.
  std::vector<std::pair<std::string_view, std::string>> fields;
};

/// The answer as JSON text; a null body becomes an empty object. 401 says how to authenticate.
[[nodiscard]] Response json_response(const api::Answer& answer);

struct Framing {
  bool keep_alive = true;
  bool with_body = true;    ///< not for HEAD, which has the length all the same
  bool length_known = true; ///< otherwise closing the connection ends the body
};
/// Header and body.
[[nodiscard]] std::string text_of(const Response& response, const Framing& framing);

} // namespace tributary::rest
