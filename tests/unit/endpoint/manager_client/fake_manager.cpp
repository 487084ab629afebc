#include "fake_manager.hpp"

#include "lib/net/unix_address.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace tributary::manager_client::test {

namespace asio = boost::asio;
namespace http = boost::beast::http;

Certificates::Certificates(const tributary::test::ScratchDirectory& directory)
    : authority(directory.file("authority.pem")), other_authority(directory.file("other.pem")),
      certificate(directory.file("server.pem")), key(directory.file("server.key")) {
  const auto run = [](const std::string& arguments) {
    if (std::system(("openssl " + arguments + " 2>/dev/null").c_str()) != 0) {
      throw std::runtime_error("failed: openssl " + arguments);
    }
  };
  const std::string new_key = " -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 ";
  run("req -x509" + new_key + "-subj /CN=authority -keyout " + directory.file("authority.key") +
      " -out " + authority);
  run("req -x509" + new_key + "-subj /CN=other -keyout " + directory.file("other.key") + " -out " +
      other_authority);
  run("req -x509" + new_key + "-subj /CN=localhost -addext subjectAltName=DNS:localhost -CA " +
      authority + " -CAkey " + directory.file("authority.key") + " -keyout " + key + " -out " +
      certificate);
}

FakeManager::FakeManager(Handler handler, On on, const Certificates* certificates)
    : on_(on), handler_(std::move(handler)) {
  if (on == On::tls) {
    tls_.use_certificate_chain_file(certificates->certificate);
    tls_.use_private_key_file(certificates->key, asio::ssl::context::pem);
  }
  start();
}

FakeManager::~FakeManager() { stop(); }

std::string FakeManager::url() const {
  return on_ == On::unix_socket ? "unix:" + directory_.file("socket")
         : on_ == On::tcp       ? "http://127.0.0.1:" + std::to_string(port_)
                                : "https://localhost:" + std::to_string(port_);
}

ClientSettings FakeManager::settings() const {
  ClientSettings settings;
  settings.addresses = {parse_address(url())};
  return settings;
}

std::vector<FakeRequest> FakeManager::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void FakeManager::set_handler(Handler handler) {
  const std::lock_guard lock(mutex_);
  handler_ = std::move(handler);
}

void FakeManager::start() {
  const auto check = [](int result) {
    if (result < 0) {
      throw std::runtime_error(std::string("fake manager: ") + std::strerror(errno));
    }
    return result;
  };
  net::FileDescriptor socket(
      check(::socket(on_ == On::unix_socket ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  const int fd = socket.get();
  if (on_ == On::unix_socket) {
    const std::string path = directory_.file("socket");
    ::unlink(path.c_str());
    const auto address = net::UnixAddress::of_file(path);
    check(::bind(fd, address->get(), address->size()));
  } else {
    const int yes = 1;
    check(::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port_);
    check(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address));
    socklen_t length = sizeof address;
    check(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length));
    port_ = ntohs(address.sin_port);
  }
  check(::listen(fd, 64));
  {
    const std::lock_guard lock(mutex_);
    running_ = true;
    listener_ = std::move(socket);
  }
  acceptor_ = std::thread([this] { accept(); });
}

void FakeManager::stop() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    if (!running_) {
      return;
    }
    running_ = false;
    ::shutdown(listener_.get(), SHUT_RDWR);
    for (const int fd : open_) {
      ::shutdown(fd, SHUT_RDWR);
    }
  }
  stopped_.notify_all();
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    threads.swap(threads_);
    listener_.close();
    if (on_ == On::unix_socket) {
      ::unlink(directory_.file("socket").c_str());
    }
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

void FakeManager::hold(std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex_);
  stopped_.wait_for(lock, longest, [&] { return !running_; });
}

void FakeManager::accept() {
  int listener = -1;
  {
    const std::lock_guard lock(mutex_);
    listener = listener_.get();
  }
  for (;;) {
    net::FileDescriptor accepted(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    const std::lock_guard lock(mutex_);
    if (!running_) {
      return;
    }
    if (!accepted) {
      continue;
    }
    const int fd = accepted.release();
    ++connections_;
    open_.insert(fd);
    threads_.emplace_back([this, fd] {
      asio::io_context io;
      const asio::generic::stream_protocol protocol(on_ == On::unix_socket ? AF_UNIX : AF_INET, 0);
      serve(Socket(io, protocol, fd));
    });
  }
}

void FakeManager::serve(Socket socket) {
  const int fd = socket.native_handle();
  try {
    if (on_ == On::tls) {
      asio::ssl::stream<Socket&> stream(socket, tls_);
      stream.handshake(asio::ssl::stream_base::server);
      converse(stream);
    } else {
      converse(socket);
    }
  } catch (const std::exception&) {
    // The client has closed, or does not trust us.
  }
  const std::lock_guard lock(mutex_);
  open_.erase(fd);
  socket.close();
}

template <typename Stream> void FakeManager::converse(Stream& stream) {
  boost::beast::flat_buffer buffer;
  for (;;) {
    http::request<http::string_body> request;
    http::read(stream, buffer, request);
    FakeRequest seen{.method = std::string(request.method_string()),
                     .target = std::string(request.target()),
                     .body = request.body(),
                     .fields = {}};
    for (const auto& field : request) {
      std::string name(field.name_string());
      std::transform(name.begin(), name.end(), name.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      seen.fields[name] = std::string(field.value());
    }
    Handler handler;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(seen);
      handler = handler_;
    }
    FakeResponse response;
    {
      const std::lock_guard turn(turn_);
      response = handler(seen);
    }
    if (response.hang_up) {
      return;
    }
    if (!response.stream.empty()) {
      const std::string header = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
      asio::write(stream, asio::buffer(header));
      for (const std::string& piece : response.stream) {
        asio::write(stream, asio::buffer(piece));
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      return;
    }
    http::response<http::string_body> answer(static_cast<http::status>(response.status), 11);
    answer.set(http::field::content_type, "application/json");
    for (const auto& [name, value] : response.fields) {
      answer.set(name, value);
    }
    answer.body() = response.body;
    answer.keep_alive(request.keep_alive());
    answer.prepare_payload();
    http::write(stream, answer);
    if (!answer.keep_alive()) {
      return;
    }
  }
}

} // namespace tributary::manager_client::test
