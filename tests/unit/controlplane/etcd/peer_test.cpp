// Managers that ask each other whether they run, over real connections.
#include "controlplane/etcd/peer.hpp"

#include "tests/unit/controlplane/etcd/led_store.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tributary::test {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using etcd::PeerAsker;
using etcd::PeerListener;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using store::Standing;

const std::string instance = "00112233445566aa";
const net::HostPort anywhere{"127.0.0.1", 0};

/// The thread of a member: it ends before what it serves.
class Loop {
public:
  explicit Loop(asio::io_context& context) : context_(context) {}
  ~Loop() {
    context_.stop();
    thread_.join();
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

private:
  asio::io_context& context_;
  std::thread thread_{[this] {
    const auto work = asio::make_work_guard(context_);
    context_.run();
  }};
};

tcp::socket dial(asio::io_context& context, const net::HostPort& where) {
  tcp::socket socket(context);
  socket.connect({asio::ip::make_address(where.host), where.port});
  return socket;
}

std::string received(tcp::socket& socket, std::size_t bytes) {
  std::string text(bytes, ' ');
  boost::system::error_code error;
  text.resize(asio::read(socket, asio::buffer(text), error));
  return text;
}

TEST(PeerListener, says_who_it_is_and_answers_each_byte) {
  asio::io_context own;
  asio::io_context context{1};
  const PeerListener listener(context, anywhere, instance);
  const Loop loop(context);
  ASSERT_NE(listener.place().port, 0);
  EXPECT_TRUE(listener.is_loopback());
  EXPECT_FALSE(PeerListener(own, {"0.0.0.0", 0}, instance).is_loopback());
  tcp::socket asker = dial(own, listener.place());
  EXPECT_EQ(received(asker, 17), instance + '\n');
  for (const char byte : {'.', 'x', '\0'}) {
    asio::write(asker, asio::buffer(&byte, 1));
    EXPECT_EQ(received(asker, 1), std::string(1, byte));
  }
}

TEST(PeerListener, has_room_for_some_and_closes_the_others_at_once) {
  asio::io_context own;
  asio::io_context context{1};
  const PeerListener listener(context, anywhere, instance);
  const Loop loop(context);
  std::vector<tcp::socket> askers;
  while (askers.size() < PeerListener::most_askers) {
    askers.push_back(dial(own, listener.place()));
    ASSERT_EQ(received(askers.back(), 17).size(), 17U);
  }
  tcp::socket one_more = dial(own, listener.place());
  EXPECT_EQ(received(one_more, 17), "");
  askers.pop_back();
  EXPECT_TRUE(eventually([&] {
    tcp::socket next = dial(own, listener.place());
    return received(next, 17).size() == 17U;
  })) << "and a place that is free is given again";
}

class PeerAskerTest : public testing::Test {
protected:
  void follow(election::LeaseId lease) {
    asio::post(context, [this, lease] {
      asker.follow(lease, instance, {"127.0.0.1", leader.local_endpoint().port()});
    });
  }
  tcp::socket accept() {
    tcp::socket socket = leader.accept();
    asio::write(socket, asio::buffer(instance + '\n'));
    return socket;
  }
  static void answer(tcp::socket& socket) {
    const std::string byte = received(socket, 1);
    ASSERT_EQ(byte.size(), 1U);
    asio::write(socket, asio::buffer(byte));
  }

  asio::io_context own;
  tcp::acceptor leader{own, {asio::ip::make_address("127.0.0.1"), 0}};
  std::atomic<int> deaths = 0;
  std::atomic<election::LeaseId> dead = 0;
  asio::io_context context{1};
  PeerAsker asker{context, [this](election::LeaseId lease) {
                    dead = lease;
                    ++deaths;
                  }};
  const Loop loop{context};
};

TEST_F(PeerAskerTest, a_leader_that_does_not_answer_any_more_is_dead_once) {
  follow(7);
  tcp::socket socket = accept();
  for (int i = 0; i < 5; ++i) {
    answer(socket);
  }
  EXPECT_EQ(deaths, 0);
  ASSERT_TRUE(eventually([this] { return deaths > 0; }));
  EXPECT_EQ(dead, 7);
  std::this_thread::sleep_for(milliseconds(700));
  EXPECT_EQ(deaths, 1);
}

TEST_F(PeerAskerTest, a_leader_whose_address_refuses_is_dead_at_once) {
  follow(7);
  {
    tcp::socket socket = accept();
    answer(socket);
    leader.close();
  }
  const auto begin = steady_clock::now();
  ASSERT_TRUE(eventually([this] { return deaths > 0; }));
  EXPECT_LT(steady_clock::now() - begin, milliseconds(400)) << "it waited for silence";
}

TEST_F(PeerAskerTest, a_connection_that_breaks_alone_is_made_again) {
  follow(7);
  for (int i = 0; i < 5; ++i) {
    tcp::socket socket = accept();
    answer(socket);
  }
  EXPECT_EQ(deaths, 0);
}

TEST_F(PeerAskerTest, another_run_of_that_manager_is_not_the_leader) {
  follow(7);
  {
    tcp::socket socket = accept();
    answer(socket);
  }
  tcp::socket other = leader.accept();
  asio::write(other, asio::buffer(std::string("ffffffffffffffff\n")));
  ASSERT_TRUE(eventually([this] { return deaths > 0; }));
}

TEST_F(PeerAskerTest, one_that_is_not_reached_from_the_beginning_is_left_alone) {
  follow(7);
  const std::uint16_t port = leader.local_endpoint().port();
  ASSERT_NE(port, 0);
  tcp::socket silent = leader.accept(); // and says nothing
  std::this_thread::sleep_for(milliseconds(1200));
  EXPECT_EQ(deaths, 0);
}

class MembersThatAsk : public testing::Test {
protected:
  std::unique_ptr<etcd::Member> start(const std::string& name) {
    etcd::MemberSettings settings = member_settings(gateway, name);
    settings.timing.lease_ns = 20 * ns_per_second;
    settings.peer = anywhere;
    settings.switches = {"switches-of-" + name};
    auto member = std::make_unique<etcd::Member>(settings);
    member->start();
    return member;
  }
  static bool leads(const etcd::Member& member) {
    return eventually([&] { return member.standing() == Standing::leads; });
  }
  std::shared_ptr<SharedEtcd> shared = std::make_shared<SharedEtcd>();
  EtcdGateway gateway{shared};
};

TEST_F(MembersThatAsk, a_leader_that_died_is_replaced_long_before_its_lease_ends) {
  auto a = start("a");
  ASSERT_TRUE(leads(*a));
  const auto b = start("b");
  ASSERT_TRUE(eventually([&] { return b->leader() && b->leader()->name == "a"; }));
  EXPECT_TRUE(eventually([&] { return b->is_registered(); }));
  EXPECT_EQ(b->leader()->switches, std::vector<std::string>{"switches-of-a"});
  std::this_thread::sleep_for(milliseconds(500)); // it has answered
  const auto begin = steady_clock::now();
  a.reset(); // as by kill -9: its lease is left
  ASSERT_TRUE(leads(*b));
  const auto took = steady_clock::now() - begin;
  std::cout << "took over after " << std::chrono::duration_cast<milliseconds>(took).count()
            << " ms\n";
  EXPECT_LT(took, std::chrono::seconds(10)) << "it waited for the lease";
}

TEST_F(MembersThatAsk, a_leader_that_etcd_does_not_answer_is_not_deposed_for_that) {
  const auto a = start("a");
  ASSERT_TRUE(leads(*a));
  const auto b = start("b");
  ASSERT_TRUE(eventually([&] { return b->leader() && b->leader()->name == "a"; }));
  std::this_thread::sleep_for(milliseconds(300));
  gateway.cut_off(true);
  ASSERT_TRUE(eventually([&] { return a->standing() == Standing::suspended; }));
  std::this_thread::sleep_for(milliseconds(1000));
  gateway.cut_off(false);
  ASSERT_TRUE(leads(*a));
  EXPECT_EQ(a->epoch(), 1U);
}

} // namespace
} // namespace tributary::test
