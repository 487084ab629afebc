// The OpenAPI document and the router agree.
#include "controlplane/rest/server.hpp"
#include "fake_service.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

namespace tributary::rest {
namespace {

namespace json = boost::json;

const json::object& document() {
  static const json::value value =
      json::parse(json::string_view(openapi_document().data(), openapi_document().size()));
  return value.as_object();
}

std::set<std::string> parameters_in(std::string_view path) {
  std::set<std::string> names;
  for (std::size_t at = path.find('{'); at != path.npos; at = path.find('{', at + 1)) {
    names.emplace(path.substr(at + 1, path.find('}', at) - at - 1));
  }
  return names;
}

template <typename F> void for_each_operation(F f) {
  for (const auto& path : document().at("paths").as_object()) {
    for (const auto& operation : path.value().as_object()) {
      std::string method(operation.key());
      std::transform(method.begin(), method.end(), method.begin(),
                     [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      f(method, std::string(path.key()), operation.value().as_object());
    }
  }
}

TEST(openapi, has_every_route_and_no_other) {
  const FakeService service;
  const auto routes = service.routes();
  std::set<std::string> in_router;
  for (const api::Route& route : routes) {
    in_router.insert(std::string(route.method) + " " + std::string(route.path));
  }
  EXPECT_EQ(in_router.size(), routes.size()) << "a route stands there twice";
  std::set<std::string> in_document;
  for_each_operation([&](const std::string& method, const std::string& path, const auto&) {
    in_document.insert(method + " " + path);
  });
  EXPECT_EQ(in_document, in_router);
}

TEST(openapi, agrees_with_the_router_on_bodies_and_parameters) {
  for_each_operation(
      [](const std::string& method, const std::string& path, const json::object& operation) {
        const FakeService service;
        const auto routes = service.routes();
        const auto route = std::find_if(routes.begin(), routes.end(), [&](const api::Route& r) {
          return r.path == path && r.method == method;
        });
        ASSERT_NE(route, routes.end());
        EXPECT_EQ(operation.contains("requestBody"), route->has_body) << method << ' ' << path;
        EXPECT_EQ(operation.at("responses").as_object().contains("415"), route->has_body) << path;
        std::set<std::string> documented;
        if (const auto* parameters = operation.if_contains("parameters")) {
          for (const auto& parameter : parameters->as_array()) {
            if (parameter.at("in").as_string() == "path") {
              documented.emplace(parameter.at("name").as_string());
            }
          }
        }
        EXPECT_EQ(documented, parameters_in(path)) << path;
      });
}

TEST(openapi, names_every_operation_once) {
  std::set<std::string> names;
  std::size_t count = 0;
  for_each_operation([&](const auto&, const auto&, const json::object& operation) {
    names.emplace(operation.at("operationId").as_string());
    ++count;
  });
  EXPECT_EQ(names.size(), count);
}

void collect_references(const json::value& value, std::set<std::string>& found) {
  if (const auto* object = value.if_object()) {
    for (const auto& member : *object) {
      if (member.key() == "$ref") {
        found.emplace(member.value().as_string());
      }
      collect_references(member.value(), found);
    }
  } else if (const auto* array = value.if_array()) {
    for (const auto& element : *array) {
      collect_references(element, found);
    }
  }
}

TEST(openapi, refers_to_what_is_there_and_has_nothing_unused) {
  std::set<std::string> referred;
  collect_references(document(), referred);
  std::set<std::string> there;
  for (const char* kind : {"schemas", "responses"}) {
    for (const auto& component : document().at("components").at(kind).as_object()) {
      there.insert("#/components/" + std::string(kind) + "/" + std::string(component.key()));
    }
  }
  EXPECT_EQ(referred, there);
}

} // namespace
} // namespace tributary::rest
