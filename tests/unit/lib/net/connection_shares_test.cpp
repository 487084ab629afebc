// Which connection is closed when there are too many: against a model, and by name.
#include "lib/net/connection_shares.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>

namespace tributary::net {
namespace {

class Shares : public testing::Test {
protected:
  ConnectionShares::Admission come(const std::string& address) {
    const auto admission = shares.admit(++last, address);
    if (admission.to_close) {
      EXPECT_EQ(of.erase(*admission.to_close), 1U) << "one that was there";
    }
    if (admission.is_admitted) {
      of[last] = address;
    }
    return admission;
  }
  /// A job's connection, between two requests.
  ConnectionShares::Id job(const std::string& name, const std::string& address = "login") {
    EXPECT_TRUE(come(address).is_admitted) << name;
    shares.belongs_to(last, name, true);
    of[last] = name;
    return last;
  }
  [[nodiscard]] std::size_t count(const std::string& caller) const {
    std::size_t all = 0;
    for (const auto& [id, name] : of) {
      all += name == caller ? 1 : 0;
    }
    return all;
  }

  ConnectionShares shares{8};
  ConnectionShares::Id last = 0;
  std::map<ConnectionShares::Id, std::string> of;
};

TEST_F(Shares, are_not_counted_while_there_is_room) {
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(come("one").is_admitted);
  }
  EXPECT_EQ(count("one"), 8U);
}

TEST_F(Shares, are_taken_from_those_who_have_most) {
  for (int i = 0; i < 8; ++i) {
    come(i < 5 ? "five" : "three");
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(come("new").is_admitted);
  }
  EXPECT_EQ(count("five"), 3U);
  EXPECT_EQ(count("three"), 2U);
  EXPECT_EQ(count("new"), 3U);
}

TEST_F(Shares, a_connection_at_work_goes_only_for_those_who_have_less) {
  for (int i = 0; i < 8; ++i) {
    come(i < 4 ? "a" : "b");
    shares.works(last);
  }
  EXPECT_TRUE(come("c").is_admitted) << "who has none";
  EXPECT_TRUE(come("c").is_admitted);
  EXPECT_EQ(count("c"), 2U);
  EXPECT_EQ(count("a") + count("b"), 6U);
}

TEST_F(Shares, of_a_job_outweigh_those_of_addresses_and_never_lose_the_last) {
  for (int i = 0; i < 8; ++i) {
    come(fmt::format("stranger {}", i));
    shares.works(last); // strangers that stay
  }
  EXPECT_FALSE(come("another").is_admitted);
  of.clear();
  shares = ConnectionShares(8);
  for (int i = 0; i < 8; ++i) {
    job(fmt::format("job {}", i));
  }
  EXPECT_FALSE(come("another").is_admitted);
  EXPECT_EQ(of.size(), 8U);
}

TEST_F(Shares, idle_strangers_make_room_whatever_their_address) {
  job("red");
  const auto red = last;
  shares.works(red);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(come(fmt::format("stranger {}", i)).is_admitted);
  }
  EXPECT_TRUE(of.contains(red));
  EXPECT_TRUE(of.contains(last));
  for (int i = 0; i < 7; ++i) {
    job(fmt::format("job {}", i));
  }
  EXPECT_EQ(of.size(), 8U);
  EXPECT_TRUE(of.contains(red));
}

TEST_F(Shares, a_job_that_floods_loses_its_own) {
  for (int i = 0; i < 8; ++i) {
    shares.works(job("flood"));
  }
  const auto blue = job("blue");
  for (int i = 0; i < 50; ++i) {
    if (come("login").is_admitted) {
      shares.belongs_to(last, "flood", true);
      of[last] = "flood";
      shares.works(last);
    }
  }
  EXPECT_TRUE(of.contains(blue));
}

TEST_F(Shares, hold_under_random_comings_and_goings) {
  std::mt19937 random(7); // NOLINT: the same each time
  const auto below = [&random](std::size_t n) { return random() % n; };
  std::set<ConnectionShares::Id> open;
  for (int step = 0; step < 50'000; ++step) {
    if (open.empty() || below(3) == 0) {
      const auto admission = shares.admit(++last, fmt::format("address {}", below(12)));
      if (admission.to_close) {
        ASSERT_EQ(open.erase(*admission.to_close), 1U);
      }
      if (admission.is_admitted) {
        open.insert(last);
      }
    } else {
      const auto one = *std::next(open.begin(), static_cast<long>(below(open.size())));
      switch (below(4)) {
      case 0: shares.works(one); break;
      case 1: shares.rests(one); break;
      case 2: shares.belongs_to(one, fmt::format("job {}", below(5)), true); break;
      default: shares.remove(one); open.erase(one);
      }
    }
    ASSERT_EQ(shares.count(), open.size());
    ASSERT_LE(open.size(), 8U);
  }
}

} // namespace
} // namespace tributary::net
