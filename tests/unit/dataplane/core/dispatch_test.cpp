// Decisions carried out on frames, by their place in the burst.

#include "dataplane/core/dispatch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tributary::core::test {
namespace {

using std::to_string;

/// Records its calls, and has limited room; it takes at most `longest_run` of a run of frames to be
/// sent.
class Diary {
public:
  explicit Diary(std::size_t room = ~std::size_t{0}, std::size_t longest_run = ~std::size_t{0})
      : room_(room), longest_run_(longest_run) {}
  bool release(std::size_t first, std::size_t count) {
    return note("release " + to_string(first) + "+" + to_string(count));
  }
  bool deliver(std::size_t i) { return note("deliver " + to_string(i)); }
  std::size_t send(std::size_t first, std::size_t count, PortNumber port,
                   std::uint8_t traffic_class) {
    const std::size_t taken = std::min(count, longest_run_);
    return note("send " + to_string(first) + "+" + to_string(taken) + " to " +
                to_string(port.value) + " in " + to_string(traffic_class))
               ? taken
               : 0;
  }
  std::size_t send_results(std::size_t first, std::size_t count, PortNumber port,
                           std::uint16_t length, std::uint8_t traffic_class) {
    const std::size_t taken = std::min(count, longest_run_);
    return note("result " + to_string(first) + "+" + to_string(taken) + " to " +
                to_string(port.value) + " of " + to_string(length) + " in " +
                to_string(traffic_class))
               ? taken
               : 0;
  }
  bool replicate(std::size_t first, std::size_t count, PortSet ports, std::uint8_t traffic_class) {
    return note("copy " + to_string(first) + "+" + to_string(count) + " to " +
                to_string(ports.bits()) + " in " + to_string(traffic_class));
  }
  bool replicate_result(std::size_t i, PortSet ports, PortNumber root, std::uint16_t length,
                        std::uint8_t traffic_class) {
    return note("result copy " + to_string(i) + " to " + to_string(ports.bits()) + ", first " +
                to_string(root.value) + ", of " + to_string(length) + " in " +
                to_string(traffic_class));
  }
  std::size_t hand_over(std::size_t first, std::size_t count, std::size_t worker) {
    const std::size_t taken = std::min(count, longest_run_);
    return note("hand over " + to_string(first) + "+" + to_string(taken) + " to " +
                to_string(worker))
               ? taken
               : 0;
  }
  [[nodiscard]] const std::vector<std::string>& pages() const { return pages_; }

private:
  bool note(std::string what) {
    if (pages_.size() == room_) {
      return false;
    }
    pages_.push_back(std::move(what));
    return true;
  }
  std::size_t room_;
  std::size_t longest_run_;
  std::vector<std::string> pages_;
};

Decision copies(std::uint64_t ports, std::uint8_t traffic_class = 0) {
  return {.ports = PortSet(ports),
          .action = Action::replicate,
          .event = Event::multicast,
          .traffic_class = traffic_class};
}

Decision result(std::uint8_t port, std::uint16_t length = 94, std::uint8_t traffic_class = 0) {
  return {.action = Action::emit,
          .event = Event::completed_full,
          .port = PortNumber{port},
          .length = length,
          .traffic_class = traffic_class};
}

Decision goes(std::uint8_t port, std::uint8_t traffic_class = 0) {
  return {.action = Action::forward,
          .event = Event::unicast,
          .port = PortNumber{port},
          .traffic_class = traffic_class};
}

const std::vector<Decision> one_of_each = {
    {.action = Action::drop, .reason = DropReason::runt},
    {.action = Action::absorb, .event = Event::contributed},
    {.action = Action::deliver, .event = Event::hello},
    {.action = Action::forward, .event = Event::unicast, .port = PortNumber{3}, .traffic_class = 2},
    {.action = Action::emit,
     .event = Event::completed_full,
     .port = PortNumber{4},
     .length = 77,
     .traffic_class = 1},
    copies(6),
    {.ports = PortSet(7),
     .action = Action::replicate_result,
     .event = Event::completed_in_switch,
     .port = PortNumber{2},
     .length = 66,
     .traffic_class = 3},
    {.action = Action::hand_over, .event = Event::handed_over, .port = PortNumber{5}},
};

TEST(Dispatch, does_what_each_decision_says) {
  Diary diary;
  EXPECT_EQ(dispatch(one_of_each, diary), one_of_each.size());
  EXPECT_EQ(diary.pages(), (std::vector<std::string>{
                               "release 0+2", "deliver 2", "release 2+1", "send 3+1 to 3 in 2",
                               "result 4+1 to 4 of 77 in 1", "copy 5+1 to 6 in 0",
                               "result copy 6 to 7, first 2, of 66 in 3", "hand over 7+1 to 5"}));
}

TEST(Dispatch, what_is_at_no_place_to_look_at_is_released_together) {
  const std::vector<Decision> decisions = {one_of_each[1], one_of_each[1], result(1),     result(1),
                                           one_of_each[1], one_of_each[1], one_of_each[0]};
  Places others;
  for (const std::size_t place : {2U, 3U, 5U, 6U}) { // 5 need not be there
    others.insert(place);
  }
  Diary diary;
  EXPECT_EQ(dispatch(decisions, diary, others), decisions.size());
  EXPECT_EQ(diary.pages(), (std::vector<std::string>{"release 0+2", "result 2+2 to 1 of 94 in 0",
                                                     "release 4+1", "release 5+2"}));
  Diary no_room(0);
  EXPECT_EQ(dispatch(decisions, no_room, others), 0U);
}

TEST(Dispatch, of_nothing_asks_for_nothing) {
  Diary diary;
  EXPECT_EQ(dispatch(std::span<const Decision>(), diary), 0U);
  EXPECT_TRUE(diary.pages().empty());
}

TEST(Dispatch, what_goes_the_same_way_in_one_class_goes_together) {
  const std::vector<Decision> decisions = {copies(6), copies(6),      copies(2), copies(2, 1),
                                           copies(2), one_of_each[0], copies(2)};
  Diary diary;
  dispatch(decisions, diary);
  EXPECT_EQ(diary.pages(), (std::vector<std::string>{"copy 0+2 to 6 in 0", "copy 2+1 to 2 in 0",
                                                     "copy 3+1 to 2 in 1", "copy 4+1 to 2 in 0",
                                                     "release 5+1", "copy 6+1 to 2 in 0"}));
}

TEST(Dispatch, what_is_forwarded_by_one_port_in_one_class_goes_together) {
  const std::vector<Decision> decisions = {goes(1), goes(1), goes(1), goes(2), goes(1), goes(1, 3)};
  Diary diary;
  EXPECT_EQ(dispatch(decisions, diary), decisions.size());
  EXPECT_EQ(diary.pages(), (std::vector<std::string>{"send 0+3 to 1 in 0", "send 3+1 to 2 in 0",
                                                     "send 4+1 to 1 in 0", "send 5+1 to 1 in 3"}));
}

TEST(Dispatch, results_of_one_length_by_one_port_in_one_class_go_together) {
  const std::vector<Decision> decisions = {result(1), result(1),     result(1), result(2),
                                           goes(2),   result(1, 80), result(1), result(1, 94, 3)};
  Diary diary;
  EXPECT_EQ(dispatch(decisions, diary), decisions.size());
  EXPECT_EQ(diary.pages(),
            (std::vector<std::string>{"result 0+3 to 1 of 94 in 0", "result 3+1 to 2 of 94 in 0",
                                      "send 4+1 to 2 in 0", "result 5+1 to 1 of 80 in 0",
                                      "result 6+1 to 1 of 94 in 0", "result 7+1 to 1 of 94 in 3"}));
}

TEST(Dispatch, a_run_ends_where_it_ends_however_long_it_is) {
  for (std::size_t length = 1; length <= 13; ++length) {
    std::vector<Decision> decisions(length, goes(1));
    // The previous content of the first word means nothing.
    decisions.back().ports = PortSet(length);
    decisions.push_back(goes(2));
    decisions.insert(decisions.end(), 3, goes(1));
    Diary diary;
    EXPECT_EQ(dispatch(decisions, diary), decisions.size());
    EXPECT_EQ(diary.pages(),
              (std::vector<std::string>{"send 0+" + to_string(length) + " to 1 in 0",
                                        "send " + to_string(length) + "+1 to 2 in 0",
                                        "send " + to_string(length + 1) + "+3 to 1 in 0"}));
  }
}

TEST(Dispatch, of_results_that_go_together_those_that_found_no_room_are_asked_for_again) {
  const std::vector<Decision> decisions = {result(1), result(1), result(1)};
  Diary diary(~std::size_t{0}, 2);
  EXPECT_EQ(dispatch(decisions, diary), 2U);
  EXPECT_EQ(dispatch(std::span(decisions).subspan(2), diary), 1U);
  EXPECT_EQ(diary.pages(),
            (std::vector<std::string>{"result 0+2 to 1 of 94 in 0", "result 0+1 to 1 of 94 in 0"}));
}

TEST(Dispatch, of_frames_that_go_together_those_that_found_no_room_are_asked_for_again) {
  const std::vector<Decision> decisions = {goes(2), goes(1), goes(1), goes(1)};
  Diary diary(~std::size_t{0}, 2);
  EXPECT_EQ(dispatch(decisions, diary), 3U);
  EXPECT_EQ(dispatch(std::span(decisions).subspan(3), diary), 1U);
  EXPECT_EQ(diary.pages(), (std::vector<std::string>{"send 0+1 to 2 in 0", "send 1+2 to 1 in 0",
                                                     "send 0+1 to 1 in 0"}));
}

TEST(Dispatch, stops_where_the_shell_has_no_room_and_goes_on_from_there) {
  for (std::size_t room = 0; room < 8; ++room) {
    Diary first(room);
    const std::size_t done = dispatch(one_of_each, first);
    ASSERT_LT(done, one_of_each.size());
    Diary rest;
    dispatch(std::span(one_of_each).subspan(done), rest);
    // A delivery whose release found no room is asked for again.
    const std::size_t repeated = room == 2 ? 1 : 0;
    EXPECT_EQ(first.pages().size() + rest.pages().size(), 8 + repeated) << room;
  }
}

} // namespace
} // namespace tributary::core::test
