// Matching against two plain lists, and the room of messages without a receive.
#include "endpoint/messages/matching.hpp"
#include "endpoint/messages/unexpected.hpp"
#include "tributary/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <list>
#include <utility>
#include <vector>

namespace tributary::messages::test {
namespace {

TEST(Pattern, IgnoresTheBitsThatItSays) {
  const Envelope e{.source = 5, .tag = 0xF0F0, .tagged = true};
  EXPECT_TRUE((Pattern{.source = 5, .tag = 0xF0F0, .tagged = true}.matches(e)));
  EXPECT_FALSE((Pattern{.source = 5, .tag = 0xF0F1, .tagged = true}.matches(e)));
  EXPECT_TRUE((Pattern{.source = 5, .tag = 0xF0F1, .ignored = 1, .tagged = true}.matches(e)));
  EXPECT_TRUE((Pattern{.ignored = ~std::uint64_t{0}, .tagged = true}.matches(e)));
  EXPECT_FALSE((Pattern{.source = 6, .tag = 0xF0F0, .tagged = true}.matches(e)));
  EXPECT_FALSE((Pattern{.source = 5, .ignored = ~std::uint64_t{0}}.matches(e)))
      << "a receive without a tag is for messages without one";
}

/// The rules in their plainest form.
struct Oracle {
  std::list<std::pair<std::uint32_t, Pattern>> receives;
  std::list<std::pair<std::uint32_t, Envelope>> messages;

  std::uint32_t take_receive(const Envelope& e) {
    const auto at =
        std::ranges::find_if(receives, [&](const auto& each) { return each.second.matches(e); });
    if (at == receives.end()) {
      return Matching::none;
    }
    const std::uint32_t found = at->first;
    receives.erase(at);
    return found;
  }
  [[nodiscard]] std::uint32_t find(const Pattern& p) const {
    const auto at =
        std::ranges::find_if(messages, [&](const auto& each) { return p.matches(each.second); });
    return at == messages.end() ? Matching::none : at->first;
  }
};

TEST(Matching, DoesAsTwoPlainListsDo) {
  constexpr std::uint32_t places = 200;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    Matching matching(places, places);
    Oracle oracle;
    std::vector<std::uint32_t> free_receives;
    std::vector<std::uint32_t> free_messages;
    for (std::uint32_t i = 0; i < places; ++i) {
      free_receives.push_back(i);
      free_messages.push_back(i);
    }
    for (int step = 0; step < 4'000; ++step) {
      const Envelope e{
          .source = random.below(5), .tag = random.below(6), .tagged = random.chance(0.8)};
      Pattern p{.source = random.chance(0.3) ? any_source : random.below(5),
                .tag = random.below(6),
                .ignored = random.chance(0.3) ? random.below(8) : 0,
                .tagged = random.chance(0.8)};
      switch (random.below(4)) {
      case 0: // a receive
        if (const std::uint32_t m = matching.find(p); m != Matching::none) {
          ASSERT_EQ(m, oracle.find(p)) << seed;
          matching.remove(m);
          oracle.messages.remove_if([&](const auto& each) { return each.first == m; });
          free_messages.push_back(m);
        } else if (!free_receives.empty()) {
          ASSERT_EQ(oracle.find(p), Matching::none) << seed;
          matching.post(free_receives.back(), p);
          oracle.receives.emplace_back(free_receives.back(), p);
          free_receives.pop_back();
        }
        break;
      case 1:
      case 2: // a message
        if (const std::uint32_t r = matching.take_receive(e); r != Matching::none) {
          ASSERT_EQ(r, oracle.take_receive(e)) << seed;
          free_receives.push_back(r);
        } else {
          ASSERT_EQ(oracle.take_receive(e), Matching::none) << seed;
          if (!free_messages.empty()) {
            matching.store(free_messages.back(), e);
            oracle.messages.emplace_back(free_messages.back(), e);
            free_messages.pop_back();
          }
        }
        break;
      default: // a receive is cancelled
        if (!oracle.receives.empty()) {
          const auto at =
              std::next(oracle.receives.begin(),
                        static_cast<std::ptrdiff_t>(random.below(oracle.receives.size())));
          matching.withdraw(at->first);
          free_receives.push_back(at->first);
          oracle.receives.erase(at);
        }
      }
      ASSERT_EQ(matching.posted(), oracle.receives.size());
      ASSERT_EQ(matching.stored(), oracle.messages.size());
    }
  }
}

UnexpectedMessage of_session(std::uint32_t session) {
  UnexpectedMessage m{};
  m.session = session;
  return m;
}

std::vector<std::byte> numbered(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  }
  return bytes;
}

TEST(Unexpected, KeepsDataOfEveryLengthInParts) {
  Unexpected unexpected(4, 100, 1);
  for (const std::size_t length :
       std::initializer_list<std::size_t>{0, 1, 251, 252, 253, 504, 505, 5'000}) {
    for (const std::size_t part : std::initializer_list<std::size_t>{1, 100, 252, 1'000}) {
      const auto data = numbered(length);
      ASSERT_TRUE(unexpected.has_share(0, length));
      const std::uint32_t m = unexpected.add(of_session(0));
      for (std::size_t at = 0; at < length; at += part) {
        unexpected.append(m, std::span(data).subspan(at, std::min(part, length - at)));
      }
      std::vector<std::byte> out(length + 10);
      EXPECT_EQ(unexpected.copy(m, out), length);
      EXPECT_TRUE(std::equal(data.begin(), data.end(), out.begin()));
      std::vector<std::byte> cut(length / 2);
      EXPECT_EQ(unexpected.copy(m, cut), cut.size());
      EXPECT_TRUE(std::equal(cut.begin(), cut.end(), data.begin()));
      unexpected.remove(m);
    }
  }
  EXPECT_EQ(unexpected.size(), 0U);
  EXPECT_EQ(unexpected.held_by(0), 0U);
}

TEST(Unexpected, LeavesRoomForOthersHoweverMuchOnePeerSends) {
  Unexpected unexpected(90, 300, 3);
  std::size_t of_first = 0;
  while (unexpected.has_share(0, 1'000)) {
    unexpected.append(unexpected.add(of_session(0)), numbered(1'000));
    ++of_first;
  }
  EXPECT_GT(of_first, 40U);
  EXPECT_LE(of_first, 60U) << "two thirds";
  EXPECT_TRUE(unexpected.has_share(1, 1'000));
  std::size_t of_second = 0;
  while (unexpected.has_share(1, 1'000)) {
    unexpected.append(unexpected.add(of_session(1)), numbered(1'000));
    ++of_second;
  }
  EXPECT_GT(of_second, 5U);
  EXPECT_TRUE(unexpected.has_share(2, 100)) << "and for a third one";
}

} // namespace
} // namespace tributary::messages::test
