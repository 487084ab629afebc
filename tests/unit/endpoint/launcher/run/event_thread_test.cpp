// A launcher whose manager has no event stream for it.
#include "endpoint/launcher/run/event_thread.hpp"
#include "tests/unit/endpoint/manager_client/fake_manager.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace tributary::launch::run {
namespace {

using manager_client::test::FakeManager;
using manager_client::test::FakeRequest;
using manager_client::test::FakeResponse;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(EventThread, that_is_refused_a_stream_says_so_and_hears_all_the_same) {
  std::string asked;
  FakeManager manager([&](const FakeRequest& request) {
    if (request.target.find("follow=false") == std::string::npos) {
      return FakeResponse{.status = 429, .body = R"({"message": "too many streams"})"};
    }
    asked = request.target;
    return FakeResponse{.body = R"({"events":[{"number":7,"event":"link","code":"link_down",)"
                                R"("scope":"job","time":"12:00","text":"a link"}],"last":40})"};
  });
  boost::asio::io_context io;
  const auto work = boost::asio::make_work_guard(io);
  std::vector<std::string> heard;
  std::vector<std::string> late;
  std::vector<std::string> failed;
  const EventThread thread(
      io, manager.settings(), "red", 5,
      [&](const control::FabricEvent& event) { heard.push_back(event.text); },
      [&](const std::string& why) { late.push_back(why); },
      [&](const std::string& why) { failed.push_back(why); });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (heard.empty() && failed.empty() && std::chrono::steady_clock::now() < end) {
    io.run_one_for(std::chrono::milliseconds(100));
  }
  EXPECT_THAT(heard, ElementsAre("a link"));
  EXPECT_THAT(late, ElementsAre(HasSubstr("429"))) << "once";
  EXPECT_TRUE(failed.empty());
  EXPECT_THAT(asked, HasSubstr("job=red&follow=false&after=5"));
}

TEST(EventThread, goes_on_behind_what_the_manager_says_was_nothing_to_it) {
  FakeManager manager([](const FakeRequest&) {
    FakeResponse response;
    response.fields["Content-Type"] = "text/event-stream";
    response.stream = {"retry: 1000\n\n", "id: 4100\n\n"};
    return response;
  });
  boost::asio::io_context io;
  const EventThread thread(
      io, manager.settings(), "red", 5, [](const control::FabricEvent&) {},
      [](const std::string&) {}, [](const std::string&) {});
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (manager.requests().size() < 2 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  manager.stop();
  const auto requests = manager.requests();
  ASSERT_GE(requests.size(), 2U);
  EXPECT_EQ(requests[0].fields.at("last-event-id"), "5");
  EXPECT_EQ(requests[1].fields.at("last-event-id"), "4100");
}

} // namespace
} // namespace tributary::launch::run
