#include "lib/net/address.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/client_hello.hpp"
#include "tests/unit/controlplane/rest/server_fixture.hpp"

#include <gmock/gmock.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <fstream>
#include <future>

namespace tributary::rest {
namespace {

namespace asio = boost::asio;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class Tls : public ServerTest {
protected:
  /// A certificate for localhost that vouches for itself.
  void make_certificate(const std::string& name) {
    const std::string base = folder_.file(name);
    const std::string command =
        fmt::format("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
                    "-days 2 -subj /CN={0} -addext subjectAltName=DNS:localhost -keyout {1}.key "
                    "-out {1}.pem > {1}.log 2>&1",
                    name, base);
    ASSERT_EQ(std::system(command.c_str()), 0) << "see " << base << ".log";
  }
  Settings settings_with(const std::string& name) {
    Settings settings;
    settings.listen = {"unix:" + folder_.file("s"), "127.0.0.1:0"};
    settings.tls_certificate = folder_.file(name + ".pem");
    settings.tls_key = folder_.file(name + ".key");
    return settings;
  }
  /// The whole answer to one request, checked against this certificate; throws when the handshake
  /// fails. `own`: the client's certificate.
  std::string ask_securely(const std::string& trusted, const std::string& text,
                           const std::string& own = "") {
    asio::io_context context;
    asio::ssl::context tls(asio::ssl::context::tls_client);
    if (!own.empty()) {
      tls.use_certificate_chain_file(folder_.file(own + ".pem"));
      tls.use_private_key_file(folder_.file(own + ".key"), asio::ssl::context::pem);
    }
    tls.load_verify_file(folder_.file(trusted + ".pem"));
    tls.set_verify_mode(asio::ssl::verify_peer);
    asio::ssl::stream<asio::ip::tcp::socket> stream(context, tls);
    stream.next_layer().connect({asio::ip::address_v4::loopback(), tcp_port()});
    stream.handshake(asio::ssl::stream_base::client);
    asio::write(stream, asio::buffer(text));
    std::string answer;
    boost::system::error_code error;
    asio::read(stream, asio::dynamic_buffer(answer), error);
    EXPECT_EQ(error, asio::error::eof)
        << "the end is announced, not just torn off: " << error.message();
    return answer;
  }
  std::uint16_t tcp_port() {
    return net::parse_address(tcp_address(), net::Purpose::dial).tcp.port;
  }
  const std::string closing = request_text("GET", "/api/v1/hosts", "", "Connection: close\r\n");
};

TEST_F(Tls, carries_requests_and_answers) {
  make_certificate("one");
  start(settings_with("one"));
  on_loop([this] { service.answer.body = boost::json::string(3'000'000, 'x'); });
  const std::string answer = ask_securely("one", closing);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_GT(answer.size(), 3'000'000U);
}

TEST_F(Tls, does_not_make_an_administrator_but_the_token_does) {
  make_certificate("one");
  Settings settings = settings_with("one");
  settings.administrator_token = "secret";
  start(settings);
  ask_securely("one", closing);
  EXPECT_FALSE(on_loop([this] { return service.caller->administrator; }));
  ask_securely("one", request_text("GET", "/api/v1/hosts", "",
                                   "Connection: close\r\nAuthorization: Bearer secret\r\n"));
  EXPECT_TRUE(on_loop([this] { return service.caller->administrator; }));
}

TEST_F(Tls, callers_are_nodes_by_their_certificates_unless_they_have_a_token) {
  make_certificate("one");
  const test::CertificateAuthority authority(folder_, "nodes");
  authority.sign("n7", "DNS:n7.example");
  test::CertificateAuthority(folder_, "other").sign("stranger", "DNS:n7");
  Settings settings = settings_with("one");
  settings.tls_ca = authority.certificate();
  start(settings);
  ask_securely("one", closing, "n7");
  EXPECT_THAT(on_loop([this] { return service.caller->nodes; }), ElementsAre("n7", "n7.example"));
  EXPECT_TRUE(on_loop([this] { return service.caller->is_node(); }));
  ask_securely("one",
               request_text("GET", "/api/v1/hosts", "",
                            "Connection: close\r\nAuthorization: Bearer secret\r\n"),
               "n7");
  EXPECT_FALSE(on_loop([this] { return service.caller->is_node(); }));
  EXPECT_THAT(ask_securely("one", closing), StartsWith("HTTP/1.1 200"));
  EXPECT_FALSE(on_loop([this] { return service.caller->is_node(); }));
  // TLS 1.3 refuses a client's certificate with the first answer, and not in its handshake.
  on_loop([this] { service.caller.reset(); });
  asio::io_context context;
  asio::ssl::context tls(asio::ssl::context::tls_client);
  tls.use_certificate_chain_file(folder_.file("stranger.pem"));
  tls.use_private_key_file(folder_.file("stranger.key"), asio::ssl::context::pem);
  asio::ssl::stream<asio::ip::tcp::socket> stream(context, tls);
  stream.next_layer().connect({asio::ip::address_v4::loopback(), tcp_port()});
  boost::system::error_code error;
  stream.handshake(asio::ssl::stream_base::client, error);
  asio::write(stream, asio::buffer(closing), error);
  std::string answer;
  asio::read(stream, asio::dynamic_buffer(answer), error);
  EXPECT_TRUE(error);
  EXPECT_EQ(answer, "");
  EXPECT_FALSE(on_loop([this] { return service.caller.has_value(); }));
}

TEST_F(Tls, no_certificate_is_asked_for_without_an_authority) {
  make_certificate("one");
  test::CertificateAuthority(folder_, "nodes").sign("n7", "DNS:n7.example");
  start(settings_with("one"));
  EXPECT_THAT(ask_securely("one", closing, "n7"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(on_loop([this] { return service.caller->nodes; }), IsEmpty());
}

TEST_F(Tls, is_not_for_the_unix_socket) {
  make_certificate("one");
  start(settings_with("one"));
  RawClient client(unix_address());
  client.send(request_text("GET", "/healthz"));
  EXPECT_EQ(client.read_answer().status, 200);
}

TEST_F(Tls, a_client_that_speaks_without_it_is_closed) {
  make_certificate("one");
  start(settings_with("one"));
  RawClient client(tcp_address());
  client.send(request_text("GET", "/healthz"));
  EXPECT_EQ(client.read_answer().status, 0);
  EXPECT_THAT(ask_securely("one", closing), StartsWith("HTTP/1.1 200"));
}

TEST_F(Tls, a_client_that_never_shakes_hands_is_closed) {
  make_certificate("one");
  Settings settings = settings_with("one");
  settings.limits.header_time = std::chrono::milliseconds(100);
  start(settings);
  RawClient client(tcp_address());
  EXPECT_TRUE(client.at_end());
  EXPECT_TRUE(connections_become(0));
}

TEST_F(Tls, a_flood_of_handshakes_holds_up_those_of_other_addresses_little) {
  make_certificate("first");
  start(settings_with("first"));
  std::promise<void> free;
  boost::asio::post(context_, [&free] { free.get_future().wait(); }); // all of it arrives at the
                                                                      // same time
  std::vector<RawClient> flood;
  constexpr int count = 300;
  for (int i = 0; i < count; ++i) {
    flood.emplace_back(tcp_address(), "127.0.0.2");
    flood.back().send(test::client_hello());
  }
  asio::io_context own;
  asio::ssl::context tls(asio::ssl::context::tls_client);
  asio::ssl::stream<asio::ip::tcp::socket> stream(own, tls);
  stream.next_layer().connect({asio::ip::address_v4::loopback(), tcp_port()});
  boost::asio::post(context_, [] {}); // not before the server reads what has arrived
  std::thread later([&free] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    free.set_value();
  });
  stream.handshake(asio::ssl::stream_base::client);
  const auto served = std::ranges::count_if(flood, [](RawClient& one) { return one.has_some(); });
  later.join();
  EXPECT_LT(served, count / 2);
}

TEST_F(Tls, streams_events_until_the_server_stops) {
  make_certificate("one");
  start(settings_with("one"));
  asio::io_context context;
  asio::ssl::context tls(asio::ssl::context::tls_client);
  asio::ssl::stream<asio::ip::tcp::socket> stream(context, tls);
  stream.next_layer().connect({asio::ip::address_v4::loopback(), tcp_port()});
  stream.handshake(asio::ssl::stream_base::client);
  asio::write(stream, asio::buffer(request_text("GET", "/api/v1/events")));
  EXPECT_TRUE(eventually([this] { return service.follower_count() == 1; }));
  on_loop([this] { service.publish("link", boost::json::object{{"text", "down"}}); });
  std::string answer;
  asio::read_until(stream, asio::dynamic_buffer(answer), "id: 1\nevent: link\n");
  on_loop([this] { server_->stop(); });
  boost::system::error_code error;
  asio::read(stream, asio::dynamic_buffer(answer), error);
  EXPECT_TRUE(error) << "the end";
}

TEST_F(Tls, a_new_certificate_is_used_for_new_connections) {
  make_certificate("one");
  make_certificate("two");
  const Settings settings = settings_with("one");
  start(settings);
  EXPECT_THROW(ask_securely("two", closing), boost::system::system_error);
  for (const char* kind : {".pem", ".key"}) {
    std::filesystem::copy_file(folder_.file(std::string("two") + kind),
                               folder_.file(std::string("one") + kind),
                               std::filesystem::copy_options::overwrite_existing);
  }
  on_loop([this] { server_->reload_certificate(); });
  EXPECT_THAT(ask_securely("two", closing), StartsWith("HTTP/1.1 200"));
  std::ofstream(settings.tls_certificate) << "not a certificate";
  EXPECT_THROW(on_loop([this] {
                 server_->reload_certificate();
                 return 0;
               }),
               ListenError);
  EXPECT_THAT(ask_securely("two", closing), StartsWith("HTTP/1.1 200"));
}

TEST_F(Tls, certificates_that_cannot_be_used_are_reported) {
  make_certificate("one");
  make_certificate("two");
  const auto refused = [&](const Settings& settings) -> std::string {
    try {
      const Server server(context_, settings, service);
    } catch (const ListenError& e) {
      return e.what();
    }
    return "";
  };
  Settings settings = settings_with("one");
  settings.tls_key.clear();
  EXPECT_THAT(refused(settings), HasSubstr("certificate and a key"));
  settings.tls_key = folder_.file("two.key");
  EXPECT_THAT(refused(settings), HasSubstr("must belong together"));
  settings.tls_certificate = folder_.file("none.pem");
  EXPECT_THAT(refused(settings), HasSubstr("none.pem"));
}

} // namespace
} // namespace tributary::rest
