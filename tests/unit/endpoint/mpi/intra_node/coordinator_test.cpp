// The coordinator's thread when poll() fails: it says so and ends, and does not spin.
#include "endpoint/mpi/intra_node/coordinator.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <sys/resource.h>
#include <utility>

namespace tributary::mpi::intra_node {
namespace {

using std::chrono_literals::operator""s;

/// No descriptor beyond this number may be opened, nor may poll() be given more than this many.
class DescriptorLimit {
public:
  explicit DescriptorLimit(rlim_t limit) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit now{.rlim_cur = limit, .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &now), 0);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

private:
  rlimit before_{};
};

TEST(Coordinator, says_why_and_ends_its_connections_when_poll_fails) {
  StreamPair leader = connected_pair();
  std::deque<MessageStream> streams;
  streams.push_back(std::move(leader.second));
  std::mutex mutex;
  std::condition_variable changed;
  std::string said;
  Coordinator coordinator(std::move(streams), {"rank 0 on h0"}, 1s, [&](const std::string& text) {
    const std::lock_guard lock(mutex);
    said = text;
    changed.notify_all();
  });
  ASSERT_TRUE(leader.first.send(text_message(MessageType::suspect, 1, "silent")));
  ASSERT_TRUE(leader.first.receive().has_value()) << "its thread does not answer";
  // Not earlier: a sanitizer needs descriptors to check a thread that starts.
  const DescriptorLimit fewer_than_it_polls(1);
  ASSERT_TRUE(leader.first.send(text_message(MessageType::status, 0, "")));
  std::unique_lock lock(mutex);
  ASSERT_TRUE(changed.wait_for(lock, 5s, [&] { return !said.empty(); })) << "it continues to poll";
  EXPECT_NE(said.find("poll: Invalid argument"), std::string::npos) << said;
  EXPECT_FALSE(leader.first.receive().has_value()) << "the leader does not notice";
}

} // namespace
} // namespace tributary::mpi::intra_node
