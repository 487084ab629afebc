// What a request costs must not depend on how many others are outstanding: counted in objects that
// the list visits.
#include "endpoint/library/owned_list.hpp"

#include "tests/unit/include/wire/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tributary::library {
namespace {

struct Watched {
  OwnedList<Watched>::Link& link() {
    ++looks;
    return link_;
  }
  Watched() { ++alive; }
  ~Watched() { --alive; }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  static inline std::size_t looks = 0;
  static inline std::size_t alive = 0;

private:
  OwnedList<Watched>::Link link_;
};

TEST(OwnedList, LooksAtAFewObjectsHoweverManyThereAre) {
  tributary::test::Random random(tributary::test::seed());
  OwnedList<Watched> list;
  std::vector<Watched*> all;
  for (int i = 0; i < 20'000; ++i) {
    Watched::looks = 0;
    all.push_back(&list.add(std::make_unique<Watched>()));
    ASSERT_LE(Watched::looks, 3U);
  }
  std::shuffle(all.begin(), all.end(), random);
  for (std::size_t left = all.size(); left > 0; --left) {
    ASSERT_EQ(list.size(), left);
    ASSERT_EQ(Watched::alive, left);
    Watched::looks = 0;
    list.remove(*all[left - 1]);
    ASSERT_LE(Watched::looks, 3U);
  }
  EXPECT_TRUE(list.empty());
}

TEST(OwnedList, FreesWhatIsLeft) {
  {
    OwnedList<Watched> list;
    Watched& first = list.add(std::make_unique<Watched>());
    list.add(std::make_unique<Watched>());
    list.add(std::make_unique<Watched>());
    list.remove(first);
    EXPECT_EQ(Watched::alive, 2U);
  }
  EXPECT_EQ(Watched::alive, 0U);
}

} // namespace
} // namespace tributary::library
