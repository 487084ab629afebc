#include "endpoint/manager_client/manager_client.hpp"

#include "endpoint/manager_client/event_stream.hpp"
#include "fake_manager.hpp"
#include "tests/support/error_of.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <initializer_list>

namespace tributary::manager_client::test {
namespace {

using tributary::test::error_of;

using namespace std::chrono_literals;
using Kind = ManagerError::Kind;
using Clock = std::chrono::steady_clock;

FakeResponse echo(const FakeRequest& request) {
  return {.body = boost::json::serialize(
              boost::json::object{{"method", request.method}, {"target", request.target}})};
}

TEST(ManagerClient, EachMethodArrivesWithItsBodyAndToken) {
  FakeManager manager(echo);
  ClientSettings settings = manager.settings();
  settings.token = "secret";
  ManagerClient client(settings);
  const boost::json::value body = {{"a", 1}};
  EXPECT_EQ(client.get("/g?x=1").body.at("target").as_string(), "/g?x=1");
  EXPECT_EQ(client.post("/p", body).body.at("method").as_string(), "POST");
  EXPECT_EQ(client.put("/u").status, 200U);
  EXPECT_EQ(client.patch("/t", body).status, 200U);
  EXPECT_EQ(client.del("/d").status, 200U);
  const auto requests = manager.requests();
  ASSERT_EQ(requests.size(), 5U);
  EXPECT_EQ(requests[1].body, R"({"a":1})");
  EXPECT_EQ(requests[1].fields.at("content-type"), "application/json");
  EXPECT_EQ(requests[2].method, "PUT");
  EXPECT_EQ(requests[2].body, "");
  EXPECT_EQ(requests[3].method, "PATCH");
  EXPECT_EQ(requests[4].method, "DELETE");
  for (const FakeRequest& request : requests) {
    EXPECT_EQ(request.fields.at("authorization"), "Bearer secret");
  }
  EXPECT_EQ(manager.connections(), 1U) << "one connection serves them all";
}

TEST(ManagerClient, PathOfTheAddressStandsInFront) {
  FakeManager manager(echo, FakeManager::On::tcp);
  ClientSettings settings = manager.settings();
  settings.addresses.at(0).path = "/proxy";
  EXPECT_EQ(ManagerClient(settings).get("/api").body.at("target").as_string(), "/proxy/api");
  EXPECT_FALSE(manager.requests()[0].fields.contains("authorization"));
}

TEST(ManagerClient, FailuresAreAnsweredWithTheManagersWords) {
  FakeManager manager([](const FakeRequest& request) -> FakeResponse {
    if (request.target == "/words") {
      return {.status = 409,
              .body = R"({"message": "rank 3 is taken"})",
              .fields = {{"Retry-After", "2"}}};
    }
    if (request.target == "/page") {
      return {.status = 404, .body = "<html>"};
    }
    return {.status = 200, .body = "<html>"};
  });
  ManagerClient client(manager.settings());
  const Answer answer = client.get("/words");
  EXPECT_EQ(answer.status, 409U);
  EXPECT_EQ(answer.message(), "rank 3 is taken");
  EXPECT_EQ(answer.retry_after, 2s);
  const ManagerError refused =
      error_of<ManagerError>([&] { throw_unless_done(answer, "joining"); }).value();
  EXPECT_EQ(refused.kind(), Kind::refused);
  EXPECT_EQ(refused.status(), 409U);
  EXPECT_EQ(std::string(refused.what()),
            "the fabric manager refused, while joining: rank 3 is taken");
  EXPECT_EQ(client.get("/page").message(), "status 404 Not Found");
  EXPECT_EQ(error_of<ManagerError>([&] { client.get("/"); }).value().kind(), Kind::garbled);
}

TEST(ManagerClient, AMissingManagerIsReportedAtOnceWithoutTimeout) {
  FakeManager manager(echo);
  ManagerClient client(manager.settings());
  manager.stop();
  const ManagerError error = error_of<ManagerError>([&] { client.get("/"); }).value();
  EXPECT_EQ(error.kind(), Kind::unreachable);
  EXPECT_NE(std::string(error.what()).find("is tributary-fabricd running there?"),
            std::string::npos)
      << error.what();
}

TEST(ManagerClient, TheTimeoutCoversARestart) {
  FakeManager manager(echo, FakeManager::On::tcp);
  ClientSettings settings = manager.settings();
  settings.retry_limit = 20s;
  ManagerClient client(settings);
  EXPECT_EQ(client.get("/before").status, 200U);
  manager.stop();
  auto answer = std::async(std::launch::async, [&] { return client.get("/after"); });
  EXPECT_EQ(answer.wait_for(200ms), std::future_status::timeout);
  manager.start();
  EXPECT_EQ(answer.get().body.at("target").as_string(), "/after");
}

TEST(ManagerClient, ManagerThatIsNotReadyIsAskedAgain) {
  int asked = 0;
  FakeManager manager(
      [&](const FakeRequest&) -> FakeResponse { return {.status = ++asked < 3 ? 503U : 200U}; });
  ClientSettings settings = manager.settings();
  EXPECT_EQ(ManagerClient(settings).get("/").status, 503U) << "no timeout";
  settings.retry_limit = 20s;
  EXPECT_EQ(ManagerClient(settings).get("/").status, 200U);
  EXPECT_EQ(asked, 3);
}

TEST(ManagerClient, IdleConnectionThatWasClosedIsOpenedAgain) {
  bool hang_up = false;
  FakeManager manager([&](const FakeRequest& request) {
    FakeResponse response = echo(request);
    response.hang_up = std::exchange(hang_up, false);
    return response;
  });
  ManagerClient client(manager.settings());
  EXPECT_EQ(client.get("/1").status, 200U);
  hang_up = true;
  EXPECT_EQ(client.get("/2").status, 200U);
  EXPECT_EQ(manager.connections(), 2U);
}

TEST(ManagerClient, SilentManagerEndsByTheTimeLimit) {
  FakeManager* held = nullptr;
  FakeManager manager([&](const FakeRequest& request) {
    held->hold(60s);
    return echo(request);
  });
  held = &manager;
  ClientSettings settings = manager.settings();
  settings.answer_limit = 50ms;
  ManagerClient client(settings);
  const ManagerError error = error_of<ManagerError>([&] { client.get("/"); }).value();
  EXPECT_EQ(error.kind(), Kind::timed_out);
  EXPECT_NE(std::string(error.what()).find(manager.url()), std::string::npos);
  manager.stop();
}

TEST(ManagerClient, CancelEndsACallInProgressAndEveryLaterOne) {
  FakeManager* held = nullptr;
  std::promise<void> asked;
  FakeManager manager([&](const FakeRequest& request) {
    asked.set_value();
    held->hold(60s);
    return echo(request);
  });
  held = &manager;
  ManagerClient client(manager.settings());
  auto call = std::async(std::launch::async, [&] {
    return error_of<ManagerError>([&] { client.get("/"); }).value().kind();
  });
  asked.get_future().wait();
  client.cancel();
  EXPECT_EQ(call.get(), Kind::cancelled);
  EXPECT_EQ(error_of<ManagerError>([&] { client.get("/"); }).value().kind(), Kind::cancelled);
  EXPECT_EQ(error_of<ManagerError>([&] { client.sleep(60s); }).value().kind(), Kind::cancelled);
  manager.stop();
}

TEST(ManagerClient, WhatIsNotHttpIsGarbled) {
  using boost::asio::ip::tcp;
  boost::asio::io_context io;
  tcp::acceptor acceptor(io, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
  auto mail_server = std::async(std::launch::async, [&] {
    tcp::socket client = acceptor.accept();
    boost::asio::write(client, boost::asio::buffer(std::string("220 mail.example ready\r\n")));
    client.shutdown(tcp::socket::shutdown_send);
    boost::system::error_code end;
    std::string asked; // until the client has gone, so that nothing is cut off under way
    boost::asio::read(client, boost::asio::dynamic_buffer(asked), end);
  });
  ClientSettings settings;
  settings.addresses = {
      parse_address("http://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port()))};
  EXPECT_EQ(error_of<ManagerError>([&] { ManagerClient(settings).get("/"); }).value().kind(),
            Kind::garbled);
  mail_server.get();
}

// ---- several addresses ----

/// The settings of several managers.
ClientSettings all_of(std::initializer_list<const FakeManager*> managers) {
  ClientSettings settings;
  for (const FakeManager* manager : managers) {
    settings.addresses.push_back(manager->settings().addresses.at(0));
  }
  return settings;
}
FakeResponse standby_of(const std::string& leader) {
  return {.status = 421,
          .body = boost::json::serialize(
              boost::json::object{{"message", "this manager is a standby"}, {"leader", leader}})};
}

TEST(SeveralManagers, OneThatIsAwayIsPassedOverAndTheNextCallBeginsWithTheOther) {
  FakeManager away(echo);
  FakeManager there(echo);
  ManagerClient client(all_of({&away, &there}));
  away.stop();
  EXPECT_EQ(client.get("/1").body.at("target").as_string(), "/1");
  EXPECT_EQ(client.get("/2").status, 200U);
  EXPECT_EQ(there.connections(), 1U) << "it stays with the one that answers";
}

TEST(SeveralManagers, OneThatIsNotReadyAndAStandbyArePassedOver) {
  FakeManager unready([](const FakeRequest&) { return FakeResponse{.status = 503}; });
  FakeManager standby([](const FakeRequest&) { return standby_of(""); });
  FakeManager leader(echo);
  ManagerClient client(all_of({&unready, &standby, &leader}));
  EXPECT_EQ(client.get("/1").status, 200U);
  EXPECT_EQ(client.get("/2").status, 200U);
  EXPECT_EQ(unready.requests().size(), 1U);
  EXPECT_EQ(standby.requests().size(), 1U);
}

TEST(SeveralManagers, TheLeaderThatAStandbyNamesIsAskedNext) {
  FakeManager leader(echo);
  FakeManager other([](const FakeRequest&) { return standby_of(""); });
  FakeManager standby([&](const FakeRequest&) { return standby_of(leader.url()); });
  ManagerClient client(all_of({&standby, &other, &leader}));
  EXPECT_EQ(client.get("/1").status, 200U);
  EXPECT_TRUE(other.requests().empty());
}

TEST(SeveralManagers, ALeaderThatIsNamedAndGoneKeepsNobodyFromTheOneThatLeads) {
  FakeManager gone(echo);
  FakeManager leader(echo);
  FakeManager standby([&](const FakeRequest&) { return standby_of(gone.url()); });
  ManagerClient client(all_of({&standby, &leader, &gone}));
  gone.stop();
  EXPECT_EQ(client.get("/1").status, 200U);
  EXPECT_EQ(leader.requests().size(), 1U);
}

TEST(SeveralManagers, ALeaderElsewhereIsNotAsked) {
  FakeManager elsewhere(echo);
  FakeManager standby([&](const FakeRequest&) { return standby_of(elsewhere.url()); });
  ManagerClient client(all_of({&standby}));
  EXPECT_EQ(client.get("/1").status, 421U) << "the caller has not named it, nor sent it a token";
  EXPECT_TRUE(elsewhere.requests().empty());
}

TEST(SeveralManagers, WithoutALeaderTheyAreAskedUntilThereIsOne) {
  std::atomic<int> asked = 0;
  FakeManager first(
      [&](const FakeRequest& request) { return ++asked < 3 ? standby_of("") : echo(request); });
  FakeManager second([](const FakeRequest&) { return standby_of(""); });
  ClientSettings settings = all_of({&first, &second});
  EXPECT_EQ(ManagerClient(settings).get("/").status, 421U) << "each is asked once";
  settings.retry_limit = 20s;
  EXPECT_EQ(ManagerClient(settings).get("/").status, 200U);
}

TEST(SeveralManagers, TheAnswerOfTheLeaderIsGivenWhenNoneIsBetter) {
  FakeManager leader([](const FakeRequest&) {
    return FakeResponse{.status = 503, .body = R"({"message": "the disk is full"})"};
  });
  FakeManager standby([](const FakeRequest&) { return standby_of(""); });
  EXPECT_EQ(ManagerClient(all_of({&leader, &standby})).get("/").message(), "the disk is full");
  EXPECT_EQ(ManagerClient(all_of({&standby, &leader})).get("/").message(), "the disk is full");
}

TEST(SeveralManagers, AllThatAreAwayAreOneErrorAndOneThatIsNotTrustedIsPassedOver) {
  const tributary::test::ScratchDirectory directory;
  const Certificates certificates(directory);
  FakeManager impostor(echo, FakeManager::On::tls, &certificates);
  FakeManager there(echo);
  FakeManager away(echo);
  away.stop();
  EXPECT_EQ(ManagerClient(all_of({&impostor, &there})).get("/").status, 200U);
  EXPECT_EQ(error_of<ManagerError>([&] {
              ManagerClient(all_of({&impostor, &away})).get("/");
            })
                .value()
                .kind(),
            Kind::unreachable)
      << "that may pass";
}

TEST(SeveralManagers, EventsComeFromTheOneThatHasThem) {
  FakeManager standby([](const FakeRequest&) { return standby_of(""); });
  FakeManager leader([](const FakeRequest&) -> FakeResponse {
    return {.stream = {"id: 8\nevent: link\ndata: {}\n\n"}};
  });
  FakeManager away(echo);
  away.stop();
  EventStream events(all_of({&away, &standby, &leader}), 7);
  EXPECT_EQ(events.next(10s).value().number, 8U);
  EXPECT_EQ(leader.requests().at(0).fields.at("last-event-id"), "7");
  FakeManager refusing([](const FakeRequest&) -> FakeResponse { return {.status = 401}; });
  EXPECT_EQ(error_of<ManagerError>([&] {
              EventStream refused(all_of({&refusing, &leader}));
            })
                .value()
                .status(),
            401U)
      << "another one would say the same";
}

TEST(ManagerError, IsFinalWhereAskingAgainIsInVain) {
  const auto refused = [](unsigned status) {
    return ManagerError(Kind::refused, "", status).is_final();
  };
  EXPECT_TRUE(refused(401));
  EXPECT_TRUE(refused(409));
  EXPECT_FALSE(refused(421));
  EXPECT_FALSE(refused(429));
  EXPECT_FALSE(refused(503));
  EXPECT_FALSE(ManagerError(Kind::unreachable, "").is_final());
  EXPECT_FALSE(ManagerError(Kind::timed_out, "").is_final());
  EXPECT_TRUE(ManagerError(Kind::untrusted, "").is_final());
}

class TlsTest : public testing::Test {
protected:
  TlsTest() : certificates(directory), manager(echo, FakeManager::On::tls, &certificates) {}
  Kind kind_with(const std::string& authority, const std::string& host = "localhost") {
    ClientSettings settings = manager.settings();
    settings.certificate_authority = authority;
    settings.addresses.at(0).host = host;
    return error_of<ManagerError>([&] { ManagerClient(settings).get("/"); }).value().kind();
  }
  tributary::test::ScratchDirectory directory;
  Certificates certificates;
  FakeManager manager;
};

TEST_F(TlsTest, TheRightAuthorityIsBelieved) {
  ClientSettings settings = manager.settings();
  settings.certificate_authority = certificates.authority;
  ManagerClient client(settings);
  EXPECT_EQ(client.get("/x").body.at("target").as_string(), "/x");
  EXPECT_EQ(client.get("/y").body.at("target").as_string(), "/y");
  EXPECT_EQ(manager.connections(), 1U);
}

TEST_F(TlsTest, AnotherAuthorityNameOrNoneIsNot) {
  EXPECT_EQ(kind_with(certificates.other_authority), Kind::untrusted);
  EXPECT_EQ(kind_with(""), Kind::untrusted) << "the system knows no such authority";
  EXPECT_EQ(kind_with(certificates.authority, "127.0.0.1"), Kind::untrusted)
      << "the certificate is made for localhost";
  EXPECT_EQ(kind_with(directory.file("missing.pem")), Kind::untrusted);
  for (const FakeRequest& request : manager.requests()) {
    ADD_FAILURE() << request.target << " was sent to a server that is not trusted";
  }
}

TEST_F(TlsTest, CheckingCanBeSwitchedOff) {
  ClientSettings settings = manager.settings();
  settings.certificate_authority = "off";
  EXPECT_EQ(ManagerClient(settings).get("/").status, 200U);
}

TEST(Encoded, NamesBecomeOneSegment) {
  EXPECT_EQ(encoded("demo-1_a.b~"), "demo-1_a.b~");
  EXPECT_EQ(encoded("a/b c?%"), "a%2Fb%20c%3F%25");
}

TEST(EventStream, EventsComeAsTheyArriveWhateverThePieces) {
  FakeManager manager([](const FakeRequest&) -> FakeResponse {
    return {.stream = {": hello\n\nid: 7\nevent: gro", "up\ndata: {\"text\":\n",
                       "data: \"one\"}\n\nid: 8\r\nevent: link\r\ndata: {}\r\n", "\r\n"}};
  });
  EventStream events(manager.settings(), 6);
  const auto one = events.next(10s);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->number, 7U);
  EXPECT_EQ(one->kind, "group");
  EXPECT_EQ(one->body.at("text").as_string(), "one");
  const auto two = events.next(10s);
  ASSERT_TRUE(two);
  EXPECT_EQ(two->number, 8U);
  EXPECT_EQ(two->kind, "link");
  EXPECT_EQ(error_of<ManagerError>([&] { events.next(10s); }).value().kind(), Kind::unreachable)
      << "it ended";
  EXPECT_EQ(manager.requests()[0].fields.at("last-event-id"), "6");
  EXPECT_EQ(manager.requests()[0].target, "/api/v1/events");
}

TEST(EventStream, NothingHappensForAWhile) {
  FakeManager manager([](const FakeRequest&) -> FakeResponse {
    FakeResponse response{.stream = {": hello\n\n"}};
    response.stream.insert(response.stream.end(), 10, ": still here\n\n"); // for 200 ms
    response.stream.push_back("id: 1\ndata: {}\n\n");
    return response;
  });
  EventStream events(manager.settings());
  int empty = 0;
  std::optional<Event> event;
  while (!(event = events.next(10ms))) {
    ++empty;
  }
  EXPECT_GT(empty, 1);
  EXPECT_EQ(event->number, 1U);
  EXPECT_FALSE(manager.requests()[0].fields.contains("last-event-id"));
}

TEST(EventStream, RefusalAndCancelAreSaid) {
  FakeManager refusing([](const FakeRequest&) -> FakeResponse { return {.status = 401}; });
  EXPECT_EQ(
      error_of<ManagerError>([&] { EventStream events(refusing.settings()); }).value().status(),
      401U);

  FakeManager quiet([](const FakeRequest&) -> FakeResponse {
    return {.stream = std::vector<std::string>(100, ": still here\n\n")};
  });
  EventStream events(quiet.settings());
  auto next = std::async(std::launch::async, [&] {
    return error_of<ManagerError>([&] { events.next(60s); }).value().kind();
  });
  events.cancel();
  EXPECT_EQ(next.get(), Kind::cancelled);
  quiet.stop();
}

} // namespace
} // namespace tributary::manager_client::test
