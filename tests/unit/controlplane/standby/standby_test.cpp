// A manager that does not lead: every request is answered with the leader's place.
#include "controlplane/standby/standby.hpp"

#include "controlplane/api/route.hpp"

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace tributary::standby {
namespace {

using testing::HasSubstr;

class StandbyTest : public testing::Test {
protected:
  static constexpr std::array<api::Route, 2> routes{
      {{.method = "GET", .path = "/api/v1/groups"}, {.method = "POST", .path = "/api/v1/groups"}}};

  api::Answer ask(const api::Route& route) {
    std::optional<api::Answer> given;
    standby.serve(route, {}, [&](api::Answer answer) { given = std::move(answer); });
    return given.value();
  }

  std::optional<LeaderPlace> leader = LeaderPlace{"fm1", "https://fm1:7580", "fm1:7581"};
  Standby standby{"fm2", [this] { return leader; }, routes};
};

TEST_F(StandbyTest, names_the_leader_to_every_request) {
  for (const api::Route& route : routes) {
    const api::Answer answer = ask(route);
    EXPECT_EQ(answer.status, 421U);
    EXPECT_EQ(answer.body.at("leader").as_string(), "https://fm1:7580");
    EXPECT_EQ(answer.body.at("message").as_string(),
              "this manager, \"fm2\", stands by; \"fm1\" leads, at https://fm1:7580");
  }
  EXPECT_EQ(standby.refuse(routes[1], {}).value().status, 421U) << "before a body is received";
  EXPECT_EQ(standby.refuse_events({}).value().status, 421U);
  EXPECT_EQ(standby.refuse_job_events({}, "j").value().status, 421U);
  EXPECT_EQ(standby.leader_url(), "https://fm1:7580");
}

TEST_F(StandbyTest, rejects_switches_and_names_the_leader_to_them) {
  const auto why = standby.connected(southbound::protocol::SessionNumber{1}, {});
  ASSERT_TRUE(why.has_value());
  EXPECT_THAT(*why, HasSubstr("\"fm2\", stands by; \"fm1\" leads"));
  EXPECT_EQ(standby.leader_address(), "fm1:7581");
}

TEST_F(StandbyTest, says_that_none_leads_when_that_is_so) {
  leader.reset();
  const api::Answer answer = ask(routes[0]);
  EXPECT_EQ(answer.status, 421U);
  EXPECT_FALSE(answer.body.as_object().contains("leader"));
  EXPECT_THAT(std::string(answer.body.at("message").as_string()),
              HasSubstr("no manager leads now"));
  EXPECT_EQ(standby.leader_address(), "");
  EXPECT_THAT(standby.not_ready_because(), HasSubstr("no manager leads now"));
}

TEST_F(StandbyTest, is_alive_and_not_ready_and_its_metrics_say_so) {
  EXPECT_NE(standby.not_ready_because(), "");
  EXPECT_NE(standby.not_leading_because(), "");
  std::string text;
  EXPECT_EQ(standby.metrics({}, text), std::nullopt);
  EXPECT_THAT(text, HasSubstr("tributary_leads 0\n"));
}

} // namespace
} // namespace tributary::standby
