// Progress by the caller, or by a thread of the host's own. Two hosts on a wire over which the test
// itself carries frames, and loses chosen ones.
#include "lib/link/raw_socket.hpp"
#include "tests/support/eventually.hpp"
#include "tests/unit/lib/link/private_network.hpp"
#include "tributary/tributary.h"
#include "tributary/wire/reduction.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

namespace tributary::library::test {
namespace {

using link::test::left_nid;
using link::test::PrivateNetwork;
using tributary::test::eventually;

/// Two interfaces, "left" and "right", joined by the caller of carry().
class LossyWire {
public:
  LossyWire() {
    remove();
    for (const int end : {1, 2}) {
      const std::string name = end == 1 ? "left" : "right";
      PrivateNetwork::run("ip link add " + name + " address 02:00:00:00:00:0" +
                          std::to_string(end) + " type veth peer name " + name + "wire");
      for (const std::string& each : {name, name + "wire"}) {
        PrivateNetwork::run("echo 1 > /proc/sys/net/ipv6/conf/" + each +
                            "/disable_ipv6; ip link set " + each + " up");
      }
      PrivateNetwork::wait_for_carrier(name);
      PrivateNetwork::wait_for_carrier(name + "wire");
    }
    left_ = std::make_unique<link::RawSocket>("leftwire", wire::default_ethertype);
    right_ = std::make_unique<link::RawSocket>("rightwire", wire::default_ethertype);
  }
  ~LossyWire() { remove(); }
  LossyWire(const LossyWire&) = delete;
  LossyWire& operator=(const LossyWire&) = delete;

  /// Carries the frames that have arrived so far.
  void carry() {
    pass(*left_, *right_, true);
    pass(*right_, *left_, false);
  }

  /// Whether a frame from left to right is lost.
  std::function<bool(const wire::ReductionFrame&)> loses;
  int lost = 0;

private:
  static void remove() {
    PrivateNetwork::run("ip link del left 2>/dev/null; ip link del right 2>/dev/null; true");
  }
  void pass(link::Port& from, link::Port& to, bool rightward) {
    for (const FrameView& frame : from.receive()) {
      wire::ReductionFrame decoded;
      if (rightward && loses &&
          wire::decode({frame.data, frame.length}, wire::default_ethertype, decoded) ==
              wire::DecodeError::none &&
          loses(decoded)) {
        ++lost;
        continue;
      }
      std::byte* const room = to.room();
      ASSERT_NE(room, nullptr);
      std::memcpy(room, frame.data, frame.length);
      to.push(frame.length);
    }
    to.flush();
  }

  std::unique_ptr<link::RawSocket> left_;
  std::unique_ptr<link::RawSocket> right_;
};

class ProgressThreadTest : public testing::Test {
protected:
  void SetUp() override {
    if (!PrivateNetwork::skip_reason().empty()) {
      GTEST_SKIP() << PrivateNetwork::skip_reason();
    }
    wire = std::make_unique<LossyWire>();
  }
  void TearDown() override {
    tributary_close(host[0]);
    tributary_close(host[1]);
  }

  void open(int rank, tributary_progress_mode progress) {
    tributary_host_options on = tributary_host_defaults(rank == 0 ? "left" : "right");
    on.progress = progress;
    ASSERT_EQ(tributary_open(&on, &host[rank]), TRIBUTARY_OK) << tributary_last_error(nullptr);
    tributary_group_options who = tributary_group_defaults();
    who.tree = 77;
    who.cookie = 0xABCD;
    who.rank = static_cast<std::uint32_t>(rank);
    who.size = 2;
    who.root_nid = left_nid;
    who.result_timeout_usec = 40'000;
    ASSERT_EQ(tributary_join(host[rank], &who, &group[rank]), TRIBUTARY_OK)
        << tributary_last_error(host[rank]);
    ASSERT_EQ(tributary_allreduce_start(group[rank], &in[rank], &out[rank], 1, TRIBUTARY_INT64,
                                        TRIBUTARY_SUM, &request[rank]),
              TRIBUTARY_OK);
  }
  /// Carries frames, and checks whether one host has its sum.
  bool is_done(int rank) {
    wire->carry();
    int done = 0;
    EXPECT_EQ(tributary_test(&request[rank], &done, nullptr), TRIBUTARY_OK)
        << tributary_last_error(host[rank]);
    return done != 0;
  }
  /// The root has its sum, the frame that would have brought it to the leaf is lost, and from here
  /// on no thread calls the root's host.
  void lose_the_result() {
    wire->loses = [](const wire::ReductionFrame& frame) {
      constexpr std::uint32_t none_yet = 1023;
      return frame.word.resno.value() != none_yet;
    };
    bool root_is_done = false;
    ASSERT_TRUE(eventually([&] {
      EXPECT_FALSE(is_done(1));
      root_is_done = root_is_done || is_done(0);
      return root_is_done && wire->lost > 0;
    }));
    EXPECT_EQ(out[0], 42);
    wire->loses = nullptr;
  }
  [[nodiscard]] std::uint64_t requests_sent() {
    tributary_statistics s{};
    EXPECT_EQ(tributary_get_statistics(group[1], &s), TRIBUTARY_OK);
    return s.requests_sent;
  }

  std::unique_ptr<LossyWire> wire;
  tributary_host* host[2] = {};
  tributary_group* group[2] = {};
  tributary_request* request[2] = {};
  std::int64_t in[2] = {20, 22};
  std::int64_t out[2] = {};
};

TEST_F(ProgressThreadTest, OnTheCallersThreadALostResultWaitsForTheRootsNextCall) {
  open(0, TRIBUTARY_PROGRESS_CALLER);
  open(1, TRIBUTARY_PROGRESS_CALLER);
  lose_the_result();
  // The leaf keeps asking, and the root's program computes.
  ASSERT_TRUE(eventually([&] {
    EXPECT_FALSE(is_done(1));
    return requests_sent() >= 3;
  }));
  ASSERT_TRUE(eventually([&] {
    wire->carry();
    EXPECT_EQ(tributary_progress(host[0]), TRIBUTARY_OK);
    return is_done(1);
  }));
  EXPECT_EQ(out[1], 42);
}

TEST_F(ProgressThreadTest, OnAThreadOfItsOwnTheRootAnswersThoughNobodyCallsIt) {
  open(0, TRIBUTARY_PROGRESS_THREAD);
  open(1, TRIBUTARY_PROGRESS_CALLER);
  lose_the_result();
  ASSERT_TRUE(eventually([&] { return is_done(1); }));
  EXPECT_EQ(out[1], 42);
  EXPECT_GE(requests_sent(), 1U) << "it had to ask for it";
}

TEST_F(ProgressThreadTest, AnOperationThatWasStartedEndsWithoutAnyCall) {
  open(0, TRIBUTARY_PROGRESS_THREAD);
  open(1, TRIBUTARY_PROGRESS_THREAD);
  const auto completed = [&](int rank) {
    tributary_statistics s{};
    EXPECT_EQ(tributary_get_statistics(group[rank], &s), TRIBUTARY_OK); // which makes no progress
    return s.completed == 1;
  };
  ASSERT_TRUE(eventually([&] {
    wire->carry();
    return completed(0) && completed(1);
  }));
  EXPECT_TRUE(is_done(0));
  EXPECT_TRUE(is_done(1));
  EXPECT_EQ(out[0], 42);
  EXPECT_EQ(out[1], 42);
}

TEST_F(ProgressThreadTest, AHostIsClosedInTheMiddleOfAnOperation) {
  open(0, TRIBUTARY_PROGRESS_THREAD);
  tributary_close(host[0]); // hangs, or uses freed memory, if the thread continues
  host[0] = nullptr;
  EXPECT_EQ(out[0], 0);
}

TEST_F(ProgressThreadTest, AChildProcessMayCloseTheHostAndTheParentGoesOn) {
  open(0, TRIBUTARY_PROGRESS_THREAD);
  open(1, TRIBUTARY_PROGRESS_THREAD);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    tributary_close(host[0]);
    ::_exit(7);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  ASSERT_TRUE(eventually([&] { return is_done(0); }));
  ASSERT_TRUE(eventually([&] { return is_done(1); }));
  EXPECT_EQ(out[1], 42);
}

TEST(ProgressEnvironmentTest, DecidesWhereTheOptionDoesNotAndOnlyInWordsThereAre) {
  tributary_host* host = nullptr;
  tributary_host_options on = tributary_host_defaults("nosuch0");
  on.progress = 99;
  EXPECT_EQ(tributary_open(&on, &host), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_NE(std::string(tributary_last_error(nullptr)).find("99"), std::string::npos);
  const char* const before = std::getenv("TRIBUTARY_PROGRESS");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TRIBUTARY_PROGRESS", "sometimes", 1);
  on.progress = TRIBUTARY_PROGRESS_DEFAULT;
  EXPECT_EQ(tributary_open(&on, &host), TRIBUTARY_ERR_ARGUMENT);
  const std::string message = tributary_last_error(nullptr);
  EXPECT_NE(message.find("TRIBUTARY_PROGRESS is 'sometimes'"), std::string::npos) << message;
  EXPECT_NE(message.find("caller or thread"), std::string::npos) << message;
  on.progress = TRIBUTARY_PROGRESS_THREAD;
  EXPECT_NE(tributary_open(&on, &host), TRIBUTARY_ERR_ARGUMENT) << "the option wins";
  ::setenv("TRIBUTARY_PROGRESS", kept.c_str(), 1);
}

} // namespace
} // namespace tributary::library::test
