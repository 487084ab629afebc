#include "controlplane/turns/controller.hpp"
#include "controlplane/turns/stall_detector.hpp"
#include "quiet_environment.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace tributary::manager {
namespace {

using turns::Controller;
using turns::Controllers;
using turns::Turn;

/// Writes down what it is asked to do.
class Recorder final : public Controller {
public:
  Recorder(std::string_view name, std::vector<std::string>& log,
           std::vector<std::string_view> after = {})
      : name_(name), log_(log), after_(std::move(after)) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::span<const std::string_view> after() const override { return after_; }
  void fabric_changed() override { log_.push_back(std::string(name_) + " hears"); }
  void begin(const Turn& /*turn*/) override { log_.push_back(std::string(name_) + " begins"); }
  bool handle(const Turn& /*turn*/) override {
    log_.push_back(std::string(name_) + " handles");
    return work-- > 0;
  }
  [[nodiscard]] bool is_idle(const Turn& /*turn*/) const override { return work <= 0; }
  [[nodiscard]] TimeNs next_deadline(const Turn& /*turn*/) const override { return due; }

  int work = 0;
  TimeNs due = never;

private:
  std::string_view name_;
  std::vector<std::string>& log_;
  std::vector<std::string_view> after_;
};

class ControllersTest : public ::testing::Test {
protected:
  QuietEnvironment world;
  turns::StallDetector stalls{world};
  std::vector<std::string> log;
  Recorder topology{"topology", log};
  Recorder trees{"trees", log, {"topology", "not in the list"}};
};

TEST_F(ControllersTest, act_and_hear_in_the_order_of_the_list) {
  const Controllers both(stalls, {&topology, &trees});
  both.run(&Controller::begin, {});
  both.notify(&Controller::fabric_changed);
  EXPECT_EQ(log, (std::vector<std::string>{"topology begins", "trees begins", "topology hears",
                                           "trees hears"}));
}

TEST_F(ControllersTest, begin_again_with_the_first_after_every_step) {
  const Controllers both(stalls, {&topology, &trees});
  trees.work = 1;
  EXPECT_FALSE(both.are_idle({}));
  EXPECT_TRUE(both.handle({}));
  EXPECT_FALSE(both.handle({}));
  EXPECT_TRUE(both.are_idle({}));
  EXPECT_EQ(log, (std::vector<std::string>{"topology handles", "trees handles", "topology handles",
                                           "trees handles"}));
}

TEST_F(ControllersTest, want_the_turn_of_the_first_deadline) {
  const Controllers both(stalls, {&topology, &trees});
  EXPECT_EQ(both.next_deadline({}), never);
  topology.due = TimeNs{7};
  trees.due = TimeNs{5};
  EXPECT_EQ(both.next_deadline({}), TimeNs{5});
}

TEST_F(ControllersTest, are_refused_in_a_wrong_order) {
  try {
    const Controllers wrong(stalls, {&trees, &topology});
    FAIL() << "accepted";
  } catch (const std::logic_error& error) {
    EXPECT_STREQ(error.what(), "the controller of trees must come after the one of topology");
  }
}

TEST_F(ControllersTest, are_refused_with_one_name_for_two) {
  Recorder other("trees", log);
  EXPECT_THROW(Controllers(stalls, {&topology, &trees, &other}), std::logic_error);
}

} // namespace
} // namespace tributary::manager
