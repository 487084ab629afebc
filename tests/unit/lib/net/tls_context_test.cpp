// Contexts are tried by shaking hands over a socket pair, and by their errors for bad files. A
// separate terminal tests that none asks for a passphrase.
#include "lib/net/tls_context.hpp"

#include "lib/net/as_result.hpp"
#include "lib/net/file_descriptor.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/error_of.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tributary::net {
namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using asio::local::stream_protocol;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class tls_context_test : public testing::Test {
protected:
  static void SetUpTestSuite() {
    directory = std::make_unique<test::ScratchDirectory>();
    const test::CertificateAuthority ca(*directory, "ca");
    ca.sign("manager", "IP:127.0.0.1,DNS:manager.example");
    ca.sign("leaf0", "DNS:leaf0.example");
    ca.lock("leaf0", "locked");
    test::CertificateAuthority(*directory, "other").sign("stranger", "DNS:manager.example");
  }
  static void TearDownTestSuite() { directory.reset(); }

  static TlsFiles files(const std::string& name, const std::string& ca = "ca") {
    return {directory->file(ca + ".pem"), directory->file(name + ".pem"),
            directory->file(name + ".key")};
  }
  static TlsSettings server(TlsVerify verify = TlsVerify::authority) {
    return {TlsRole::server, TlsVersion::tls_1_3, verify, files("manager")};
  }
  static TlsSettings client() {
    return {TlsRole::client, TlsVersion::tls_1_3, TlsVerify::authority, files("leaf0")};
  }

  struct Ends {
    std::string server; ///< the error; "" without one
    std::string client;
    std::vector<std::string> names; ///< that the server sees
  };
  /// After TLS 1.3's handshake a client does not know yet whether its certificate was taken, but a
  /// read reveals it.
  static asio::awaitable<void> shake(ssl::stream<stream_protocol::socket>& stream,
                                     ssl::stream_base::handshake_type type, std::string& problem) {
    const auto [error] = co_await stream.async_handshake(type, as_result);
    problem = error ? error.message() : "";
    boost::system::error_code ignored;
    if (type == ssl::stream_base::server) {
      stream.next_layer().close(ignored);
    }
  }
  static Ends meet(ssl::context& of_server, ssl::context& of_client, const std::string& host) {
    asio::io_context io;
    stream_protocol::socket here(io);
    stream_protocol::socket there(io);
    asio::local::connect_pair(here, there);
    ssl::stream<stream_protocol::socket> serving(std::move(here), of_server);
    ssl::stream<stream_protocol::socket> calling(std::move(there), of_client);
    if (!host.empty()) {
      expect_host(calling.native_handle(), host);
    }
    Ends ends;
    asio::co_spawn(io, shake(serving, ssl::stream_base::server, ends.server), asio::detached);
    asio::co_spawn(io, shake(calling, ssl::stream_base::client, ends.client), asio::detached);
    io.run();
    ends.names = certified_names(serving.native_handle());
    return ends;
  }
  static Ends meet(const TlsSettings& of_server, const TlsSettings& of_client,
                   const std::string& host = "manager.example") {
    ssl::context server_context = tls_context(of_server);
    ssl::context client_context = tls_context(of_client);
    return meet(server_context, client_context, host);
  }
  static std::string refusal_of(const TlsSettings& settings) {
    return test::message_of<TlsError>([&] {
      static_cast<void>(tls_context(settings));
      return 0;
    });
  }

  static inline std::unique_ptr<test::ScratchDirectory> directory;
};

// ---- trust ----

TEST_F(tls_context_test, ends_that_the_authority_has_signed_meet_and_know_each_others_names) {
  const Ends ends = meet(server(), client());
  EXPECT_EQ(ends.server, "");
  EXPECT_EQ(ends.client, "");
  EXPECT_THAT(ends.names, ElementsAre("leaf0", "leaf0.example"));
}

TEST_F(tls_context_test, a_server_demands_a_certificate_only_when_it_verifies) {
  TlsSettings nameless = client();
  nameless.files.certificate.clear();
  nameless.files.key.clear();
  EXPECT_THAT(meet(server(), nameless).server, HasSubstr("peer did not return a certificate"));
  const Ends ends = meet(server(TlsVerify::nothing), nameless);
  EXPECT_EQ(ends.server, "");
  EXPECT_THAT(ends.names, IsEmpty());
}

TEST_F(tls_context_test, a_server_may_leave_it_to_its_clients_whether_they_have_a_certificate) {
  const TlsSettings lenient = server(TlsVerify::authority_if_any);
  EXPECT_THAT(meet(lenient, client()).names, ElementsAre("leaf0", "leaf0.example"));
  TlsSettings nameless = client();
  nameless.files.certificate.clear();
  nameless.files.key.clear();
  const Ends ends = meet(lenient, nameless);
  EXPECT_EQ(ends.server, "");
  EXPECT_THAT(ends.names, IsEmpty());
  TlsSettings stranger = client();
  stranger.files = files("stranger");
  EXPECT_THAT(meet(lenient, stranger).server, HasSubstr("certificate verify failed"));
}

TEST_F(tls_context_test, a_certificate_of_another_authority_is_refused_by_either_end) {
  TlsSettings stranger = client();
  stranger.files = files("stranger");
  EXPECT_THAT(meet(server(), stranger).server, HasSubstr("certificate verify failed"));
  TlsSettings impostor = server();
  impostor.files = files("stranger");
  EXPECT_THAT(meet(impostor, client()).client, HasSubstr("certificate verify failed"));
}

TEST_F(tls_context_test, a_client_that_verifies_nothing_takes_any_server) {
  TlsSettings trusting = client();
  trusting.verify = TlsVerify::nothing;
  TlsSettings impostor = server(TlsVerify::nothing);
  impostor.files = files("stranger");
  EXPECT_EQ(meet(impostor, trusting, "manager.example").client, "");
}

TEST_F(tls_context_test, a_client_trusts_the_machines_authorities_when_configured_to) {
  TlsSettings of_machine = client();
  of_machine.verify = TlsVerify::system;
  EXPECT_THAT(meet(server(), of_machine).client, HasSubstr("certificate verify failed"));
  ::setenv("SSL_CERT_FILE", directory->file("ca.pem").c_str(), 1);
  EXPECT_EQ(meet(server(), of_machine).client, "");
  ::unsetenv("SSL_CERT_FILE");
}

TEST_F(tls_context_test, authorities_may_lie_in_a_directory) {
  const std::string authorities = directory->file("authorities");
  ASSERT_EQ(std::system(("mkdir -p " + authorities + " && cp " + directory->file("ca.pem") + " " +
                         authorities + " && openssl rehash " + authorities)
                            .c_str()),
            0);
  TlsSettings settings = client();
  settings.files.ca = authorities;
  EXPECT_EQ(meet(server(), settings).client, "");
}

TEST_F(tls_context_test, a_certificate_is_for_the_hosts_it_names_and_no_others) {
  for (const char* host : {"manager.example", "127.0.0.1"}) {
    EXPECT_EQ(meet(server(), client(), host).client, "") << host;
  }
  for (const char* host : {"other.example", "127.0.0.2", "::1"}) {
    EXPECT_THAT(meet(server(), client(), host).client, HasSubstr("certificate verify failed"))
        << host;
  }
}

// ---- versions ----

TEST_F(tls_context_test, older_versions_than_asked_for_are_refused) {
  const auto against = [](TlsVersion oldest, int newest_of_client) {
    ssl::context of_server =
        tls_context({TlsRole::server, oldest, TlsVerify::nothing, files("manager")});
    ssl::context of_client = tls_context(client());
    ::SSL_CTX_set_min_proto_version(of_client.native_handle(), TLS1_VERSION);
    ::SSL_CTX_set_max_proto_version(of_client.native_handle(), newest_of_client);
    ::SSL_CTX_set_security_level(of_client.native_handle(), 0);
    return meet(of_server, of_client, "").server;
  };
  EXPECT_EQ(against(TlsVersion::tls_1_3, TLS1_3_VERSION), "");
  EXPECT_THAT(against(TlsVersion::tls_1_3, TLS1_2_VERSION), HasSubstr("unsupported protocol"));
  EXPECT_EQ(against(TlsVersion::tls_1_2, TLS1_2_VERSION), "");
  EXPECT_THAT(against(TlsVersion::tls_1_2, TLS1_1_VERSION), HasSubstr("unsupported protocol"));
}

// ---- files ----

TEST_F(tls_context_test, a_file_that_cannot_be_used_is_named_with_what_to_do) {
  std::ofstream(directory->file("garbage")) << "no certificate";
  for (const std::string& bad : {directory->file("nothing"), directory->file("garbage")}) {
    TlsSettings settings = client();
    settings.files.ca = bad;
    EXPECT_THAT(refusal_of(settings), testing::AllOf(HasSubstr("the TLS CA " + bad + " cannot be"),
                                                     HasSubstr("or a directory of them")));
    settings = client();
    settings.files.certificate = bad;
    EXPECT_THAT(refusal_of(settings), testing::AllOf(HasSubstr("the TLS certificate " + bad),
                                                     HasSubstr("with the certificate and its")));
    settings = client();
    settings.files.key = bad;
    EXPECT_THAT(refusal_of(settings),
                testing::AllOf(HasSubstr("the TLS key " + bad), HasSubstr("without a passphrase")));
  }
  TlsSettings unlike = client();
  unlike.files.key = files("manager").key;
  EXPECT_THAT(refusal_of(unlike), HasSubstr("must belong together"));
}

TEST_F(tls_context_test, a_server_needs_a_certificate) {
  TlsSettings settings = server(TlsVerify::nothing);
  settings.files = {};
  EXPECT_THAT(refusal_of(settings), HasSubstr("the TLS certificate "));
}

TEST_F(tls_context_test, a_key_with_a_passphrase_is_refused_and_the_way_out_said) {
  TlsSettings settings = client();
  settings.files.key = directory->file("locked.key");
  EXPECT_THAT(refusal_of(settings),
              testing::AllOf(HasSubstr("it has a passphrase"),
                             HasSubstr("openssl pkey -in " + settings.files.key)));
}

// ---- a terminal without a user ----

/// The output of `work` on its terminal, and its result; -1 when it had to be ended because it
/// waited for input.
struct AtTerminal {
  std::string shown;
  int answer = -1;
};

AtTerminal at_a_terminal(const std::function<int()>& work) {
  FileDescriptor master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  EXPECT_EQ(::grantpt(master.get()), 0);
  EXPECT_EQ(::unlockpt(master.get()), 0);
  FileDescriptor terminal(::open(::ptsname(master.get()), O_RDWR | O_NOCTTY));
  EXPECT_TRUE(terminal);
  const pid_t child = ::fork();
  EXPECT_GE(child, 0);
  if (child == 0) {
    ::setsid();
    ::ioctl(terminal.get(), TIOCSCTTY, 0);
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      ::dup2(terminal.get(), standard);
    }
    master.close();
    ::_exit(work());
  }
  terminal.close(); // the child's is the last one: its end ends the readable data
  AtTerminal seen;
  std::array<char, 256> some{};
  for (ssize_t n = 0; (n = ::read(master.get(), some.data(), some.size())) > 0;) {
    seen.shown.append(some.data(), static_cast<std::size_t>(n));
    ::kill(child, SIGKILL); // whatever it shows, it would wait for an answer
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  seen.answer = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return seen;
}

TEST_F(tls_context_test, no_passphrase_is_asked_for) {
  for (const TlsRole role : {TlsRole::server, TlsRole::client}) {
    const AtTerminal seen = at_a_terminal([role] {
      TlsSettings settings = client();
      settings.role = role;
      settings.files.key = directory->file("locked.key");
      try {
        static_cast<void>(tls_context(settings));
      } catch (const TlsError&) {
        return 7;
      }
      return 0;
    });
    EXPECT_EQ(seen.shown, "");
    EXPECT_EQ(seen.answer, 7) << "it is refused";
  }
}

TEST_F(tls_context_test, a_context_made_otherwise_would_ask) {
  const AtTerminal seen = at_a_terminal([] {
    ssl::context context(ssl::context::tls_client);
    boost::system::error_code error;
    context.use_private_key_file(directory->file("locked.key"), ssl::context::pem, error);
    return 0;
  });
  EXPECT_THAT(seen.shown, HasSubstr("pass phrase")) << "or the test before this one sees nothing";
  EXPECT_EQ(seen.answer, -1);
}

} // namespace
} // namespace tributary::net
