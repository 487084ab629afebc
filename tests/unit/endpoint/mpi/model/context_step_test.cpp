// What ranks that do not lead learn of an agreement on a context.
#include "endpoint/mpi/model/context_step.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <initializer_list>

namespace tributary::mpi::test {
namespace {

ContextStep together(std::initializer_list<ContextStep> ranks) {
  ContextStep::Words all;
  all.fill(ContextStep::ones);
  for (const ContextStep& one : ranks) {
    const ContextStep::Words words = one.words();
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] &= words[i];
    }
  }
  return ContextStep::from(all);
}

TEST(ContextStep, RanksThatDoNotLeadChangeNothing) {
  const ContextStep leader{.offer = {1, 2, 3, ~4ULL}, .is_over = false, .waits = false};
  const ContextStep all = together({{}, leader, {}});
  EXPECT_EQ(all.offer, leader.offer);
  EXPECT_FALSE(all.is_over || all.waits);
  EXPECT_TRUE(all.is_sound && all.has_context && all.has_wide && all.has_no_idle);
}

TEST(ContextStep, AllRanksLearnTheIdsOfTheContext) {
  const ContextStep::Ids ids{.first = 120, .count = 8, .of_tree = 128, .payload = 8192};
  const ContextStep leader{.ids = ids};
  EXPECT_EQ(together({{}, leader, {}, leader}).ids, ids);
}

TEST(ContextStep, OneRankIsEnoughForANo) {
  for (bool ContextStep::*const answer :
       {&ContextStep::is_sound, &ContextStep::is_over, &ContextStep::has_context,
        &ContextStep::has_wide, &ContextStep::waits, &ContextStep::has_no_idle}) {
    ContextStep one;
    one.*answer = false;
    const ContextStep all = together({{}, one, {}});
    EXPECT_FALSE(all.*answer);
    const int yes = int{all.is_sound} + int{all.is_over} + int{all.has_context} +
                    int{all.has_wide} + int{all.waits} + int{all.has_no_idle};
    EXPECT_EQ(yes, 5) << "another answer has changed, too";
  }
}

} // namespace
} // namespace tributary::mpi::test
