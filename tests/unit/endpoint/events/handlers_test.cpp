#include "endpoint/events/handlers.hpp"

#include "made_events.hpp"

#include <gmock/gmock.h>

#include <string>
#include <variant>
#include <vector>

namespace tributary::events {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class HandlerOrder : public testing::Test {
protected:
  HandlerId add(HandlerOptions options) {
    const Handlers::Added added = handlers.add(std::move(options));
    if (const auto* const error = std::get_if<Handlers::Error>(&added)) {
      ADD_FAILURE() << error->text;
      return 0;
    }
    return std::get<HandlerId>(added);
  }
  std::string refused(HandlerOptions options, Handlers::Error::Kind kind) {
    const Handlers::Added added = handlers.add(std::move(options));
    const auto* const error = std::get_if<Handlers::Error>(&added);
    if (error == nullptr) {
      return "it was taken";
    }
    EXPECT_EQ(error->kind, kind);
    return error->text;
  }
  HandlerOptions one(const std::string& name, Order order = Order::newest_first,
                     const std::string& relative_to = "") {
    return {.name = name, .codes = {down}, .order = order, .relative_to = relative_to};
  }
  std::vector<std::string> chain(const Event& event) {
    std::vector<std::string> names;
    for (const HandlerId id : handlers.chain_of(event)) {
      names.push_back(handlers.find(id)->name);
    }
    return names;
  }
  const int down = code("link_down");
  const int up = code("link_up");
  Handlers handlers;
};

TEST_F(HandlerOrder, is_first_single_several_any_last) {
  add({.name = "any"});
  add({.name = "last", .codes = {down}, .place = Place::last});
  add({.name = "several", .codes = {down, up}});
  add({.name = "first", .codes = {down}, .place = Place::first});
  add(one("single"));
  EXPECT_THAT(chain(made(1)), ElementsAre("first", "single", "several", "any", "last"));
  EXPECT_THAT(chain(made(1, "link_up")), ElementsAre("several", "any"));
  EXPECT_THAT(chain(made(1, "congestion")), ElementsAre("any"));
}

TEST_F(HandlerOrder, inside_a_category_is_as_asked) {
  add(one("a"));
  add(one("b"));
  EXPECT_THAT(chain(made(1)), ElementsAre("b", "a")) << "the newest comes first";
  add(one("c", Order::append));
  add(one("d", Order::first));
  add(one("e", Order::last));
  add(one("f"));
  add(one("g", Order::append));
  EXPECT_THAT(chain(made(1)), ElementsAre("d", "f", "b", "a", "c", "g", "e"));
  add(one("h", Order::before, "a"));
  add(one("i", Order::after, "a"));
  EXPECT_THAT(chain(made(1)), ElementsAre("d", "f", "b", "h", "a", "i", "c", "g", "e"));
}

TEST_F(HandlerOrder, has_places_for_one_and_gives_them_back) {
  using Kind = Handlers::Error::Kind;
  const HandlerId first = add({.name = "boss", .codes = {down}, .place = Place::first});
  EXPECT_THAT(refused({.codes = {up}, .place = Place::first}, Kind::taken), HasSubstr("boss"));
  EXPECT_TRUE(handlers.remove(first));
  EXPECT_FALSE(handlers.remove(first));
  add({.codes = {up}, .place = Place::first});
  add(one("a", Order::last));
  EXPECT_THAT(refused(one("b", Order::last), Kind::taken), HasSubstr("last of its category"));
  EXPECT_THAT(refused(one("b", Order::after, "a"), Kind::taken), HasSubstr("'a' is the last"));
  add({.name = "other category", .codes = {up, down}, .order = Order::last});
}

TEST_F(HandlerOrder, refuses_what_makes_no_sense) {
  using Kind = Handlers::Error::Kind;
  EXPECT_THAT(refused({.codes = {-1}}, Kind::argument), HasSubstr("-1 is not a code"));
  add({.name = "several", .codes = {down, up}});
  EXPECT_THAT(refused(one("x", Order::before, "several"), Kind::argument),
              HasSubstr("no handler called 'several' in the same category"));
  EXPECT_THAT(refused(one("x", Order::before), Kind::argument), HasSubstr("''"));
  EXPECT_THAT(refused({.name = "several", .codes = {up}}, Kind::taken), HasSubstr("already"));
  EXPECT_THAT(refused({.codes = {up}, .place = Place::last, .order = Order::after}, Kind::argument),
              HasSubstr("no handler"));
}

TEST_F(HandlerOrder, codes_named_twice_are_one) {
  add({.name = "several", .codes = {up, down}});
  add({.name = "single", .codes = {down, down}});
  EXPECT_THAT(chain(made(1)), ElementsAre("single", "several"));
}

TEST_F(HandlerOrder, the_environment_is_for_those_who_asked) {
  add({.name = "job", .codes = {down}});
  add({.name = "all", .codes = {down}, .environment = true});
  EXPECT_THAT(chain(made(1, "link_down", Scope::environment)), ElementsAre("all"));
  EXPECT_THAT(chain(made(1)), ElementsAre("all", "job"));
}

} // namespace
} // namespace tributary::events
