// The client against a gateway that answers, does not, and is not there.
#include "controlplane/etcd/client.hpp"

#include "tests/support/certificates.hpp"
#include "tests/support/etcd_gateway.hpp"
#include "tests/support/scratch_directory.hpp"

#include <boost/asio/use_future.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::etcd {
namespace {

using test::EtcdGateway;
using test::EtcdModel;
using test::SharedEtcd;
using testing::HasSubstr;
using Kind = Failure::Kind;
using std::chrono::milliseconds;

const Keys prefix{"/p"};

class ClientTest : public testing::Test {
protected:
  template <typename T> T run(boost::asio::awaitable<T> work) {
    auto future = boost::asio::co_spawn(context, std::move(work), boost::asio::use_future);
    context.restart();
    while (future.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      context.run_one();
    }
    return future.get();
  }
  Reply look(Client& client, milliseconds limit = milliseconds(2000)) {
    return run(client.call(look_request(prefix), limit));
  }
  static ClientSettings at(std::initializer_list<std::string> urls) {
    ClientSettings settings;
    for (const std::string& url : urls) {
      settings.endpoints.push_back(parse_endpoint(url));
    }
    return settings;
  }

  boost::asio::io_context context{1};
  std::shared_ptr<SharedEtcd> etcd = std::make_shared<SharedEtcd>();
  EtcdGateway gateway{etcd};
};

TEST(parse_endpoint, takes_http_and_https_and_names_what_is_wrong) {
  EXPECT_EQ(parse_endpoint("https://etcd-a:2379").text(), "https://etcd-a:2379");
  EXPECT_EQ(parse_endpoint("http://127.0.0.1/").place.port, 2379);
  EXPECT_TRUE(parse_endpoint("https://[::1]:1").tls);
  for (const char* const text : {"etcd-a:2379", "", "http://", "ftp://a", "https://a:0"}) {
    EXPECT_THROW(static_cast<void>(parse_endpoint(text)), net::AddressError) << text;
  }
}

TEST_F(ClientTest, calls_again_and_again_on_one_connection) {
  Client client(context, at({gateway.url()}));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(std::holds_alternative<boost::json::object>(look(client)));
  }
  const Reply version = run(client.get("/version", milliseconds(2000)));
  EXPECT_EQ(std::get<boost::json::object>(version).at("etcdserver").as_string(), "3.5.16");
  EXPECT_EQ(gateway.requests(), 4U);
}

TEST_F(ClientTest, a_refused_connection_and_a_silent_endpoint_are_followed_by_the_next_one) {
  EtcdGateway silent(etcd);
  silent.cut_off(true);
  Client client(context, at({"http://127.0.0.1:1", silent.url(), gateway.url()}));
  const auto first = std::get<Failure>(look(client));
  EXPECT_EQ(first.kind, Kind::unknown);
  EXPECT_THAT(first.text, HasSubstr("127.0.0.1:1"));
  const auto begin = std::chrono::steady_clock::now();
  const auto second = std::get<Failure>(look(client, milliseconds(100)));
  EXPECT_THAT(second.text, HasSubstr("no answer in time"));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(100));
  EXPECT_TRUE(std::holds_alternative<boost::json::object>(look(client)));
}

TEST_F(ClientTest, logs_in_where_etcd_has_users_and_again_when_the_token_has_expired) {
  etcd->with([](EtcdModel& model) {
    model.user = "tributary";
    model.password = "secret";
  });
  Client stranger(context, at({gateway.url()}));
  EXPECT_EQ(std::get<Failure>(look(stranger)).kind, Kind::token);
  ClientSettings settings = at({gateway.url()});
  settings.user = "tributary";
  settings.password = "wrong";
  Client wrong(context, settings);
  EXPECT_EQ(std::get<Failure>(look(wrong)).kind, Kind::denied);
  settings.password = "secret";
  Client client(context, settings);
  EXPECT_TRUE(std::holds_alternative<boost::json::object>(look(client)));
  etcd->with([](EtcdModel& model) { model.change_token(); });
  EXPECT_EQ(std::get<Failure>(look(client)).kind, Kind::token);
  EXPECT_TRUE(std::holds_alternative<boost::json::object>(look(client)));
}

TEST_F(ClientTest, checks_etcds_certificate_and_presents_its_own) {
  const test::ScratchDirectory files;
  const test::CertificateAuthority authority(files, "ca");
  authority.sign("etcd", "IP:127.0.0.1");
  authority.sign("elsewhere", "DNS:elsewhere.example");
  authority.sign("manager", "DNS:manager");
  const std::string ca = authority.certificate();
  const auto with = [&](const std::string& name) {
    return net::TlsFiles{ca, files.file(name + ".pem"), files.file(name + ".key")};
  };
  const auto answer = [&](const EtcdGateway& from, const net::TlsFiles& own) {
    ClientSettings settings = at({from.url()});
    settings.tls = own;
    Client client(context, settings);
    return look(client);
  };
  EtcdGateway secure(etcd, "3.5.16", with("etcd"));
  EXPECT_TRUE(std::holds_alternative<boost::json::object>(answer(secure, with("manager"))));
  EXPECT_TRUE(std::holds_alternative<Failure>(answer(secure, {ca, {}, {}})))
      << "without a certificate of its own";
  const test::CertificateAuthority other(files, "other");
  net::TlsFiles distrusting = with("manager");
  distrusting.ca = other.certificate();
  const Failure untrusted = std::get<Failure>(answer(secure, distrusting));
  EXPECT_EQ(untrusted.kind, Kind::unknown);
  EXPECT_THAT(untrusted.text, HasSubstr("no TLS"));
  EtcdGateway elsewhere(etcd, "3.5.16", with("elsewhere"));
  EXPECT_THAT(std::get<Failure>(answer(elsewhere, with("manager"))).text, HasSubstr("no TLS"));
  ClientSettings unusable = at({secure.url()});
  unusable.tls = {files.file("missing.pem"), {}, {}};
  EXPECT_THROW(Client(context, unusable), net::TlsError);
}

TEST_F(ClientTest, streams_until_it_is_closed) {
  Client client(context, at({gateway.url()}));
  std::string seen;
  boost::asio::steady_timer change(context);
  change.expires_after(milliseconds(20));
  change.async_wait([&](const boost::system::error_code&) {
    etcd->with([](EtcdModel& model) {
      model.transact({}, {{EtcdModel::Operation::Kind::put, "/p/a", {}, "v"}}, {});
    });
  });
  const Failure end = run(client.stream(
      watch_request("/p/", "/p0", 1), milliseconds(2000), [&](std::string_view bytes) {
        seen += bytes;
        if (seen.find("kvs") != std::string::npos || seen.find("\"kv\"") != std::string::npos) {
          client.close();
        }
      }));
  EXPECT_EQ(end.kind, Kind::unknown);
  EXPECT_THAT(seen, HasSubstr("created"));
  EXPECT_THAT(seen, HasSubstr(protocol::to_base64("/p/a")));
}

} // namespace
} // namespace tributary::etcd
