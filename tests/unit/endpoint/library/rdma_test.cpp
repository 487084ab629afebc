// RDMA through the C API, between two hosts on a veth pair. The right one's program only registers
// memory: its own thread answers.
#include "tests/support/eventually.hpp"
#include "tests/unit/endpoint/library/host_pair_test.hpp"
#include "tributary/random.hpp"
#include "tributary/rdma.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

extern "C" int exercise_rdma_from_c(tributary_host* passive, tributary_host* active);

namespace tributary::library::test {
namespace {

constexpr std::uint16_t rdma_vni = 0x0400;
constexpr std::size_t guard = 64;

class RdmaTest : public HostPairTest {
protected:
  void SetUp() override {
    HostPairTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    theirs.assign(guard + region_bytes + guard, std::byte{0xC5});
    register_theirs(TRIBUTARY_RDMA_PEERS_WRITE | TRIBUTARY_RDMA_PEERS_READ);
    Random random(7);
    ours.resize(region_bytes);
    for (std::byte& each : ours) {
      each = static_cast<std::byte>(random.next());
    }
  }
  void register_theirs(int rights, std::uint16_t vni = rdma_vni) {
    ASSERT_EQ(
        tributary_rdma_register(host[1], theirs.data() + guard, region_bytes, rights, vni, &region),
        TRIBUTARY_OK)
        << tributary_last_error(host[1]);
  }
  [[nodiscard]] std::string error() const { return tributary_last_error(host[0]); }
  /// Orders the right host's thread and this one: writes before it are visible after it.
  void meet() { EXPECT_EQ(tributary_progress(host[1]), TRIBUTARY_OK); }
  [[nodiscard]] bool guards_live() const {
    const auto live = [](std::byte b) { return b == std::byte{0xC5}; };
    return std::all_of(theirs.begin(), theirs.begin() + guard, live) &&
           std::all_of(theirs.end() - guard, theirs.end(), live);
  }
  [[nodiscard]] tributary_rdma_work work(std::size_t length, std::uint64_t offset = 0) {
    return {.region = &region,
            .offset = offset,
            .memory = ours.data(),
            .length = length,
            .user = 99,
            .immediate = 0,
            .flags = 0};
  }
  [[nodiscard]] static std::uint64_t counter(tributary_host* of, const std::string& name) {
    tributary_rdma_counter each{};
    for (std::size_t i = 0; tributary_rdma_get_counter(of, i, &each) == TRIBUTARY_OK; ++i) {
      if (each.name == name) {
        return each.value;
      }
    }
    ADD_FAILURE() << "no counter " << name;
    return 0;
  }
  [[nodiscard]] static std::string status(tributary_host* of) {
    std::array<char, 4096> text{};
    EXPECT_GT(tributary_rdma_status_text(of, text.data(), text.size()), 0);
    return text.data();
  }

  static constexpr std::size_t region_bytes = (std::size_t{1} << 20) + 3;
  std::vector<std::byte> theirs;
  std::vector<std::byte> ours;
  tributary_rdma_region region{};
};

TEST_F(RdmaTest, EveryLengthIsWrittenAndReadBackToTheByte) {
  constexpr std::size_t payload = 1444; // of an MTU of 1,500
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, payload - 1, payload,
                                   payload + 1, std::size_t{65'536}, region_bytes}) {
    const std::uint64_t offset = region_bytes - length;
    ASSERT_EQ(tributary_rdma_write(host[0], &region, offset, ours.data(), length), TRIBUTARY_OK)
        << error();
    meet();
    EXPECT_TRUE(std::equal(ours.begin(), ours.begin() + static_cast<std::ptrdiff_t>(length),
                           theirs.end() - guard - static_cast<std::ptrdiff_t>(length)))
        << length;
    meet(); // the next write follows the check here
    std::vector<std::byte> back(length + 1, std::byte{0x77});
    ASSERT_EQ(tributary_rdma_read(host[0], &region, offset, back.data(), length), TRIBUTARY_OK)
        << error();
    EXPECT_TRUE(std::equal(back.begin(), back.end() - 1, ours.begin())) << length;
    EXPECT_EQ(back.back(), std::byte{0x77}) << length;
  }
  EXPECT_TRUE(guards_live());
}

TEST_F(RdmaTest, FailuresNameThePeerTheTransferAndTheCause) {
  tributary_rdma_region_facts facts{};
  ASSERT_EQ(tributary_rdma_describe(&region, &facts), TRIBUTARY_OK);
  EXPECT_EQ(facts.nid, tributary_nid(host[1]));
  EXPECT_EQ(facts.length, region_bytes);
  const auto written_to = [&](tributary_rdma_region_facts to, std::uint64_t offset) {
    tributary_rdma_region forged{};
    EXPECT_EQ(tributary_rdma_region_of(&to, &forged), TRIBUTARY_OK);
    return tributary_rdma_write(host[0], &forged, offset, ours.data(), 100);
  };

  tributary_rdma_region_facts wrong = facts;
  wrong.key ^= std::uint64_t{1} << 40;
  EXPECT_EQ(written_to(wrong, 0), TRIBUTARY_ERR_PEER_REFUSED);
  EXPECT_NE(error().find("NID 0x2"), std::string::npos) << error();
  EXPECT_NE(error().find("write of 100 bytes"), std::string::npos) << error();
  EXPECT_NE(error().find("no region has this key"), std::string::npos) << error();

  EXPECT_EQ(written_to(facts, region_bytes - 99), TRIBUTARY_ERR_PEER_REFUSED);
  EXPECT_NE(error().find("outside the region"), std::string::npos) << error();

  wrong = facts;
  wrong.vni = 0x0401;
  EXPECT_EQ(written_to(wrong, 0), TRIBUTARY_ERR_PEER_REFUSED);
  EXPECT_NE(error().find("another VNI"), std::string::npos) << error();

  register_theirs(TRIBUTARY_RDMA_PEERS_READ);
  EXPECT_EQ(tributary_rdma_write(host[0], &region, 0, ours.data(), 100),
            TRIBUTARY_ERR_PEER_REFUSED);
  EXPECT_NE(error().find("may not be accessed in this way"), std::string::npos) << error();
  EXPECT_EQ(tributary_rdma_read(host[0], &region, 0, ours.data(), 100), TRIBUTARY_OK) << error();

  ASSERT_EQ(tributary_rdma_deregister(host[1], &region), TRIBUTARY_OK);
  EXPECT_EQ(tributary_rdma_read(host[0], &region, 0, ours.data(), 100), TRIBUTARY_ERR_PEER_REFUSED);
  EXPECT_EQ(tributary_rdma_deregister(host[1], &region), TRIBUTARY_ERR_ARGUMENT);
  // A request that was repeated is refused again.
  EXPECT_GE(counter(host[1], "refused_key"), 2U);
  EXPECT_GE(counter(host[1], "refused_bounds"), 1U);
  EXPECT_GE(counter(host[1], "refused_vni"), 1U);
  EXPECT_GE(counter(host[1], "refused_right"), 1U);

  wrong.nid = tributary_nid(host[0]);
  EXPECT_EQ(written_to(wrong, 0), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_NE(error().find("this host itself"), std::string::npos) << error();
}

TEST_F(RdmaTest, AnUnreachablePeerIsAnErrorAndWhoWaitsIsToldForWhom) {
  tributary_rdma_region_facts facts{};
  ASSERT_EQ(tributary_rdma_describe(&region, &facts), TRIBUTARY_OK);
  facts.nid = 0x777;
  ASSERT_EQ(tributary_rdma_region_of(&facts, &region), TRIBUTARY_OK);
  tributary_rdma_options impatient = tributary_rdma_defaults();
  impatient.retries = 10;
  ASSERT_EQ(tributary_rdma_enable(host[0], &impatient), TRIBUTARY_OK) << error();
  std::uint64_t transfer = 0;
  const tributary_rdma_work to = work(100);
  ASSERT_EQ(tributary_rdma_write_start(host[0], &to, &transfer), TRIBUTARY_OK) << error();
  EXPECT_EQ(tributary_rdma_wait(host[0], transfer, 1000, nullptr), TRIBUTARY_ERR_TIMEOUT);
  EXPECT_NE(error().find("NID 0x777"), std::string::npos) << error();
  EXPECT_NE(error().find("waits for the peer to accept it"), std::string::npos) << error();
  EXPECT_NE(status(host[0]).find("write to NID 0x777"), std::string::npos) << status(host[0]);
  tributary_rdma_completion completion{};
  EXPECT_EQ(tributary_rdma_wait(host[0], transfer, 30'000'000, &completion),
            TRIBUTARY_ERR_PEER_UNREACHABLE);
  EXPECT_NE(error().find("does not answer"), std::string::npos) << error();
  EXPECT_EQ(completion.user, 99U);
  EXPECT_EQ(completion.transfer, transfer);
  EXPECT_EQ(tributary_rdma_wait(host[0], transfer, 0, nullptr), TRIBUTARY_ERR_ARGUMENT)
      << "its completion was taken";
}

TEST_F(RdmaTest, ImmediateDataIsAnnouncedOnceAllIsThere) {
  tributary_rdma_work with = work(100'000, 17);
  with.flags = TRIBUTARY_RDMA_IMMEDIATE;
  with.immediate = 0x1122334455667788;
  std::uint64_t transfer = 0;
  ASSERT_EQ(tributary_rdma_write_start(host[0], &with, &transfer), TRIBUTARY_OK) << error();
  EXPECT_NE(transfer, 0U);
  ASSERT_EQ(tributary_rdma_wait(host[0], transfer, -1, nullptr), TRIBUTARY_OK) << error();
  tributary_rdma_completion arrival{};
  std::size_t count = 0;
  ASSERT_EQ(tributary_rdma_wait_any(host[1], &arrival, 1, 30'000'000, &count), TRIBUTARY_OK);
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(arrival.kind, TRIBUTARY_RDMA_ARRIVAL);
  EXPECT_EQ(arrival.immediate, with.immediate);
  EXPECT_EQ(arrival.offset, 17U);
  EXPECT_EQ(arrival.length, 100'000U);
  EXPECT_EQ(arrival.nid, tributary_nid(host[0]));
  EXPECT_EQ(std::memcmp(theirs.data() + guard + 17, ours.data(), 100'000), 0);
  std::array<char, 256> text{};
  EXPECT_GT(tributary_rdma_completion_text(&arrival, text.data(), text.size()), 0);
  EXPECT_NE(std::string(text.data()).find("write of 100000 bytes by NID 0x1"), std::string::npos)
      << text.data();
  EXPECT_EQ(tributary_rdma_wait_any(host[1], &arrival, 1, 1000, &count), TRIBUTARY_ERR_TIMEOUT);
  EXPECT_EQ(count, 0U);
}

TEST_F(RdmaTest, ManyTransfersAtOnceEachCompleteOnce) {
  constexpr std::size_t all = 200;
  constexpr std::size_t each = 5000;
  std::vector<std::byte> back(all * each);
  std::vector<bool> ended(2 * all);
  std::size_t over = 0;
  const auto take = [&](std::int64_t timeout) {
    std::array<tributary_rdma_completion, 16> some{};
    std::size_t count = 0;
    const int code =
        timeout == 0 ? tributary_rdma_poll(host[0], some.data(), some.size(), &count)
                     : tributary_rdma_wait_any(host[0], some.data(), some.size(), timeout, &count);
    ASSERT_EQ(code, TRIBUTARY_OK) << error();
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(some[i].error, TRIBUTARY_OK);
      ASSERT_FALSE(ended[some[i].user]);
      ended[some[i].user] = true;
      ++over;
    }
  };
  std::uint64_t transfer = 0;
  for (std::size_t i = 0; i < all; ++i) {
    tributary_rdma_work one = work(each, i * each);
    one.memory = ours.data() + i * each;
    one.user = i;
    ASSERT_EQ(tributary_rdma_write_start(host[0], &one, &transfer), TRIBUTARY_OK) << error();
    take(0);
  }
  while (over < all) {
    take(30'000'000);
  }
  for (std::size_t i = 0; i < all; ++i) {
    tributary_rdma_work one = work(each, i * each);
    one.memory = back.data() + i * each;
    one.user = all + i;
    ASSERT_EQ(tributary_rdma_read_start(host[0], &one, &transfer), TRIBUTARY_OK) << error();
  }
  while (over < 2 * all) {
    take(30'000'000);
  }
  EXPECT_TRUE(std::equal(back.begin(), back.end(), ours.begin()));
}

TEST_F(RdmaTest, FullAndCancelledAreSaidAndRoomComesBack) {
  tributary_close(host[0]);
  const tributary_host_options on = tributary_host_defaults("left");
  ASSERT_EQ(tributary_open(&on, &host[0]), TRIBUTARY_OK);
  tributary_rdma_options sizes = tributary_rdma_defaults();
  sizes.transfers = 2;
  sizes.window = 100;
  EXPECT_EQ(tributary_rdma_enable(host[0], &sizes), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_NE(error().find("window is 100"), std::string::npos) << error();
  sizes.window = 128;
  ASSERT_EQ(tributary_rdma_enable(host[0], &sizes), TRIBUTARY_OK) << error();
  EXPECT_EQ(tributary_rdma_enable(host[0], nullptr), TRIBUTARY_ERR_BUSY);

  tributary_rdma_region_facts facts{};
  ASSERT_EQ(tributary_rdma_describe(&region, &facts), TRIBUTARY_OK);
  facts.nid = 0x777;
  ASSERT_EQ(tributary_rdma_region_of(&facts, &region), TRIBUTARY_OK);
  std::array<std::uint64_t, 3> transfers{};
  const tributary_rdma_work to = work(100);
  ASSERT_EQ(tributary_rdma_write_start(host[0], &to, &transfers[0]), TRIBUTARY_OK);
  ASSERT_EQ(tributary_rdma_read_start(host[0], &to, &transfers[1]), TRIBUTARY_OK);
  EXPECT_EQ(tributary_rdma_write_start(host[0], &to, &transfers[2]), TRIBUTARY_ERR_FULL);
  EXPECT_NE(error().find("completions"), std::string::npos) << error();
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(tributary_rdma_cancel(host[0], transfers[static_cast<std::size_t>(i)]), TRIBUTARY_OK);
    int done = 0;
    EXPECT_EQ(tributary_rdma_test(host[0], transfers[static_cast<std::size_t>(i)], &done, nullptr),
              TRIBUTARY_ERR_CANCELLED);
    EXPECT_EQ(done, 1);
  }
  EXPECT_EQ(tributary_rdma_write_start(host[0], &to, &transfers[2]), TRIBUTARY_OK) << error();
}

TEST_F(RdmaTest, APeerThatClosesEndsWhatIsUnderWayAtOnce) {
  std::uint64_t transfer = 0;
  // Far more than can leave until the peer is closed. What is in it does not matter.
  constexpr std::size_t much = std::size_t{256} << 20;
  const auto memory = std::make_unique_for_overwrite<std::byte[]>(much);
  ASSERT_EQ(tributary_rdma_register(host[1], memory.get(), much, TRIBUTARY_RDMA_PEERS_WRITE,
                                    rdma_vni, &region),
            TRIBUTARY_OK);
  const auto other = std::make_unique_for_overwrite<std::byte[]>(much);
  tributary_rdma_work to = work(much);
  to.memory = other.get();
  ASSERT_EQ(tributary_rdma_write_start(host[0], &to, &transfer), TRIBUTARY_OK);
  ASSERT_TRUE(tributary::test::eventually([&] {
    EXPECT_EQ(tributary_progress(host[1]), TRIBUTARY_OK);
    return counter(host[1], "accepted") == 1;
  }));
  tributary_close(host[1]);
  host[1] = nullptr;
  EXPECT_EQ(tributary_rdma_wait(host[0], transfer, 30'000'000, nullptr), TRIBUTARY_ERR_PEER_ENDED);
  EXPECT_NE(error().find("deregistered"), std::string::npos) << error();
}

TEST_F(RdmaTest, APeerThatRestartedIsWrittenToAgain) {
  ASSERT_EQ(tributary_rdma_write(host[0], &region, 0, ours.data(), 5000), TRIBUTARY_OK);
  tributary_close(host[1]);
  const tributary_host_options on = tributary_host_defaults("right");
  ASSERT_EQ(tributary_open(&on, &host[1]), TRIBUTARY_OK);
  const tributary_rdma_region old = region;
  register_theirs(TRIBUTARY_RDMA_PEERS_WRITE);
  EXPECT_EQ(tributary_rdma_write(host[0], &old, 0, ours.data(), 5000), TRIBUTARY_ERR_PEER_REFUSED);
  std::fill(theirs.begin() + guard, theirs.end() - guard, std::byte{0});
  meet();
  ASSERT_EQ(tributary_rdma_write(host[0], &region, 0, ours.data(), 5000), TRIBUTARY_OK) << error();
  meet();
  EXPECT_EQ(std::memcmp(theirs.data() + guard, ours.data(), 5000), 0);
}

TEST_F(RdmaTest, AWriterThatRestartedWritesAgain) {
  for (int i = 0; i < 3; ++i) {
    ours[0] = static_cast<std::byte>(i);
    ASSERT_EQ(tributary_rdma_write(host[0], &region, 0, ours.data(), 5000), TRIBUTARY_OK)
        << error();
    meet();
    EXPECT_EQ(theirs[guard], static_cast<std::byte>(i));
    meet();
    tributary_close(host[0]);
    const tributary_host_options on = tributary_host_defaults("left");
    ASSERT_EQ(tributary_open(&on, &host[0]), TRIBUTARY_OK);
  }
}

TEST_F(RdmaTest, BadArgumentsAreNamed) {
  tributary_rdma_region none{};
  EXPECT_EQ(tributary_rdma_write(host[0], &none, 0, ours.data(), 1), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_NE(error().find("not a region"), std::string::npos) << error();
  EXPECT_EQ(tributary_rdma_write(host[0], &region, 0, nullptr, 1), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_EQ(tributary_rdma_write(nullptr, &region, 0, ours.data(), 1), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_EQ(tributary_rdma_register(host[0], nullptr, 1, 0, 0, &none), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_EQ(tributary_rdma_register(host[0], ours.data(), 1, 4, 0, &none), TRIBUTARY_ERR_ARGUMENT);
  tributary_rdma_work bad = work(1);
  bad.flags = TRIBUTARY_RDMA_IMMEDIATE;
  std::uint64_t transfer = 0;
  EXPECT_EQ(tributary_rdma_read_start(host[0], &bad, &transfer), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_EQ(transfer, 0U);
  EXPECT_EQ(tributary_rdma_cancel(host[0], 12), TRIBUTARY_ERR_ARGUMENT);
}

TEST_F(RdmaTest, ANumberInTheEnvironmentThatFitsNotIsNamed) {
  ::setenv("TRIBUTARY_RDMA_TRANSFERS", "many", 1);
  EXPECT_EQ(tributary_rdma_enable(host[0], nullptr), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_NE(error().find("TRIBUTARY_RDMA_TRANSFERS is 'many'"), std::string::npos) << error();
  ::setenv("TRIBUTARY_RDMA_TRANSFERS", "100000", 1);
  EXPECT_EQ(tributary_rdma_enable(host[0], nullptr), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_NE(error().find("1 to 65536"), std::string::npos) << error();
  ::unsetenv("TRIBUTARY_RDMA_TRANSFERS");
}

TEST_F(RdmaTest, ThePolicyThatALauncherHasSetUpHoldsForItsVniFromTheFirstTransferOn) {
  ::setenv("TRIBUTARY_RDMA_POLICY", "window=4096", 1);
  ::setenv("TRIBUTARY_VNI", "1024", 1);
  EXPECT_EQ(tributary_rdma_enable(host[0], nullptr), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_NE(error().find("TRIBUTARY_RDMA_POLICY in the environment: 'window=4096'"),
            std::string::npos)
      << error();
  ::setenv("TRIBUTARY_RDMA_POLICY", "request_retries=3 most_timeout_ns=2000000", 1);
  ::setenv("TRIBUTARY_VNI", "65536", 1);
  EXPECT_EQ(tributary_rdma_enable(host[0], nullptr), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_NE(error().find("TRIBUTARY_VNI is '65536'"), std::string::npos) << error();
  ::setenv("TRIBUTARY_VNI", "1024", 1);
  EXPECT_EQ(tributary_rdma_enable(host[0], nullptr), TRIBUTARY_OK) << error();
  ::unsetenv("TRIBUTARY_RDMA_POLICY");
  ::unsetenv("TRIBUTARY_VNI");

  tributary_rdma_region_facts facts{};
  ASSERT_EQ(tributary_rdma_describe(&region, &facts), TRIBUTARY_OK);
  facts.nid = 0x777;
  ASSERT_EQ(tributary_rdma_region_of(&facts, &region), TRIBUTARY_OK);
  EXPECT_EQ(tributary_rdma_write(host[0], &region, 0, ours.data(), 100),
            TRIBUTARY_ERR_PEER_UNREACHABLE);
  EXPECT_LE(counter(host[0], "requests_sent"), 5U) << "without that policy it asks 250 times";
}

TEST_F(RdmaTest, AProgramInC) { EXPECT_EQ(exercise_rdma_from_c(host[1], host[0]), 0); }

} // namespace
} // namespace tributary::library::test
