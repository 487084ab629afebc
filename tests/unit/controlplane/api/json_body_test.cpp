#include "controlplane/api/json_body.hpp"

#include "controlplane/api/request_error.hpp"
#include "tests/support/error_of.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::api {
namespace {

using tributary::test::message_of;

using testing::HasSubstr;

std::string body_error(std::string_view text) {
  return message_of<RequestError>([&] { return parse_body(text); });
}

TEST(parse_body, takes_an_object) {
  EXPECT_EQ(parse_body(" {\"a\": [1, {\"b\": null}]}\r\n").size(), 1U);
  EXPECT_EQ(parse_body(R"({"a":{"x":1},"b":{"x":1},"c":[{"x":1},{"x":2}]})").size(), 3U)
      << "the same name in different objects is not a duplicate";
}

TEST(parse_body, says_where_it_is_not_json) {
  EXPECT_THAT(body_error("{\"a\": 1,\n  \"b\" 2}"), HasSubstr("line 2, column"));
  EXPECT_THAT(body_error("{\"a\": 1"), HasSubstr("not JSON"));
  EXPECT_THAT(body_error("{} {}"), HasSubstr("line 1, column 4"));
  EXPECT_THAT(body_error("{\"a\": nan}"), HasSubstr("not JSON"));
  EXPECT_THAT(body_error("{\"a\": 'x'}"), HasSubstr("not JSON"));
  EXPECT_THAT(body_error("{\"a\": \"\xff\"}"), HasSubstr("not JSON"));
  EXPECT_THAT(body_error("{\"a\": \"\n\"}"), HasSubstr("not JSON"));
  EXPECT_THAT(body_error(std::string_view("{}\0", 3)), HasSubstr("not JSON"));
  EXPECT_THAT(body_error("\xef\xbb\xbf{}"), HasSubstr("not JSON"));
  EXPECT_THAT(body_error("// a comment\n{}"), HasSubstr("not JSON"));
}

TEST(parse_body, says_what_it_is_instead_of_an_object) {
  EXPECT_THAT(body_error(""), HasSubstr("is empty"));
  EXPECT_THAT(body_error(" \n"), HasSubstr("is empty"));
  EXPECT_THAT(body_error("[1]"), HasSubstr("a list"));
  EXPECT_THAT(body_error("7"), HasSubstr("but 7"));
  EXPECT_THAT(body_error("null"), HasSubstr("but null"));
}

TEST(parse_body, refuses_a_name_twice_at_any_depth) {
  EXPECT_THAT(body_error(R"({"a":1,"a":1})"), HasSubstr("has \"a\" twice"));
  EXPECT_THAT(body_error(R"({"x":[{"y":{"a":1,"b":2,"a":3}}]})"), HasSubstr("has \"a\" twice"));
  EXPECT_THAT(body_error(R"({"a":1,"\u0061":1})"), HasSubstr("has \"a\" twice"));
}

TEST(parse_body, refuses_deep_nesting) {
  const auto nested = [](std::size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_EQ(body_error("{\"a\":" + nested(max_json_depth - 1) + "}"), "");
  EXPECT_THAT(body_error("{\"a\":" + nested(max_json_depth) + "}"), HasSubstr("deeper than 16"));
}

class FieldsTest : public testing::Test {
protected:
  const boost::json::object object = parse_body(
      R"({"Name":"demo","size":16,"real":16.0,"half":0.5,"minus":-1,"huge":99999999999999999999,
          "text":"16","none":null,"list":[],"object":{},"twice":1,"TWICE":2,
          "empty":"","control":"a\u0007b"})");
  const Fields fields{object};
};

TEST_F(FieldsTest, are_found_in_any_case) {
  EXPECT_EQ(fields.name("name"), "demo");
  EXPECT_EQ(fields.name("nAME"), "demo");
  EXPECT_EQ(fields.name("nam"), std::nullopt);
}

TEST_F(FieldsTest, of_two_spellings_are_refused) {
  EXPECT_THAT(message_of<RequestError>([&] { return fields.number("twice", 0, 9); }),
              HasSubstr("given twice"));
}

TEST_F(FieldsTest, of_null_are_not_there) {
  EXPECT_EQ(fields.name("none"), std::nullopt);
  EXPECT_EQ(fields.number("none", 0, 1), std::nullopt);
  EXPECT_EQ(message_of<RequestError>([&] { return fields.required_name("none"); }),
            "\"none\" is missing");
}

TEST_F(FieldsTest, numbers_are_integers_in_their_range) {
  EXPECT_EQ(fields.number("size", 16, 16), 16U);
  EXPECT_EQ(fields.number("real", 0, 100), 16U);
  for (const char* field : {"half", "minus", "huge", "text", "list", "object"}) {
    EXPECT_THAT(message_of<RequestError>([&] { return fields.number(field, 0, 1 << 20); }),
                HasSubstr("must be an integer from 0 to 1048576, not "))
        << field;
  }
  EXPECT_THAT(message_of<RequestError>([&] { return fields.number("size", 17, 20); }),
              HasSubstr("not 16"));
  EXPECT_THAT(message_of<RequestError>([&] { return fields.number("size", 0, 15); }),
              HasSubstr("not 16"));
  EXPECT_EQ(message_of<RequestError>([&] { return fields.required_number("absent", 0, 1); }),
            "\"absent\" is missing");
}

TEST_F(FieldsTest, names_are_printable_and_of_bounded_length) {
  EXPECT_THAT(message_of<RequestError>([&] { return fields.name("size"); }),
              HasSubstr("must be a string, not 16"));
  EXPECT_THAT(message_of<RequestError>([&] { return fields.name("empty"); }),
              HasSubstr("1 to 128 bytes"));
  EXPECT_THAT(message_of<RequestError>([&] { return fields.name("control"); }),
              HasSubstr("control characters"));
  for (const std::string dots : {".", ".."}) {
    const boost::json::object body{{"name", dots}};
    EXPECT_THAT(message_of<RequestError>([&] { return Fields(body).name("name"); }),
                HasSubstr("must not be \"" + dots + "\""));
  }
  const boost::json::object longest{{"a", std::string(128, 'x')}, {"b", std::string(129, 'x')}};
  EXPECT_TRUE(Fields(longest).name("a"));
  EXPECT_THAT(message_of<RequestError>([&] { return Fields(longest).name("b"); }),
              HasSubstr("not 129"));
}

TEST_F(FieldsTest, lists_and_objects_are_such) {
  EXPECT_TRUE(fields.required_list("list").empty());
  EXPECT_TRUE(fields.required_object("object").empty());
  EXPECT_THAT(message_of<RequestError>([&] { return fields.required_list("object"); }),
              HasSubstr("not an object"));
  EXPECT_THAT(message_of<RequestError>([&] { return fields.required_object("list"); }),
              HasSubstr("not a list"));
}

TEST(shown, is_short_and_never_cuts_a_character) {
  EXPECT_EQ(shown("x"), "\"x\"");
  for (std::size_t pad = 40; pad < 52; ++pad) {
    std::string text(pad, 'x');
    for (int i = 0; i < 20; ++i) {
      text += "\u20ac";
    }
    const std::string quoted = shown(boost::json::value(text));
    EXPECT_LT(quoted.size(), 60U);
    boost::system::error_code error;
    boost::json::parse(quoted, error);
    EXPECT_FALSE(error) << "not UTF-8 any more: " << quoted;
  }
}

} // namespace
} // namespace tributary::api
