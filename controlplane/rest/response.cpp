#include "controlplane/rest/response.hpp"

#include <boost/beast/http/status.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include <iterator>

namespace tributary::rest {

namespace json = boost::json;
namespace http = boost::beast::http;

Response json_response(const api::Answer& answer) {
  Response response;
  response.status = answer.status;
  response.body = answer.body.is_null() ? "{}" : json::serialize(answer.body);
  response.body += '\n';
  if (answer.status == 401) {
    response.fields.emplace_back("WWW-Authenticate", "Bearer realm=\"tributary-fabricd\"");
  }
  if (answer.retry_after != 0) {
    response.fields.emplace_back("Retry-After", fmt::format("{}", answer.retry_after));
  }
  return response;
}

std::string text_of(const Response& response, const Framing& framing) {
  const auto reason = http::obsolete_reason(http::int_to_status(response.status));
  std::string text = fmt::format("HTTP/1.1 {} {}\r\nServer: tributary-fabricd\r\n"
                                 "Content-Type: {}\r\nCache-Control: no-store\r\n",
                                 response.status, std::string_view(reason.data(), reason.size()),
                                 response.content_type);
  const auto out = std::back_inserter(text);
  for (const auto& [name, value] : response.fields) {
    fmt::format_to(out, "{}: {}\r\n", name, value);
  }
  if (framing.length_known) {
    fmt::format_to(out, "Content-Length: {}\r\n", response.body.size());
  }
  fmt::format_to(out, "Connection: {}\r\n\r\n", framing.keep_alive ? "keep-alive" : "close");
  if (framing.with_body) {
    text += response.body;
  }
  return text;
}

} // namespace tributary::rest
