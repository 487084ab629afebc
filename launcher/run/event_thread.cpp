#include "launcher/run/event_thread.hpp"

#include "net/signals_blocked.hpp"

#include <boost/asio/post.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <utility>

namespace tributary::launch::run {

namespace {

using manager_client::ManagerError;

constexpr std::chrono::milliseconds pause_between{200};
/// The manager says every 15 s that it is there.
constexpr std::chrono::seconds longest_wait{60};

std::string text_in(const boost::json::object& body, const char* name) {
  const boost::json::value* const found = body.if_contains(name);
  return found != nullptr && found->is_string() ? std::string(found->as_string()) : std::string();
}

control::FabricEvent event_of(const manager_client::Event& event) {
  const boost::json::object& body = event.body.as_object();
  return {.number = event.number,
          .code = text_in(body, "code"),
          .of_environment = text_in(body, "scope") == "environment",
          .time = text_in(body, "time"),
          .text = text_in(body, "text"),
          .details = boost::json::serialize(body)};
}

} // namespace

EventThread::EventThread(boost::asio::io_context& io, manager_client::ClientSettings settings,
                         std::string job, std::uint64_t after, Heard heard,
                         std::function<void(std::string)> failed)
    : io_(io), settings_(std::move(settings)), job_(std::move(job)), after_(after),
      heard_(std::move(heard)), failed_(std::move(failed)) {
  // What waits is what the end of the job waits for.
  settings_.connect_limit = std::chrono::seconds(1);
  settings_.answer_limit = std::chrono::seconds(2);
  const net::SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

EventThread::~EventThread() {
  {
    const std::scoped_lock held(lock_);
    ending_ = true;
    if (stream_ != nullptr) {
      stream_->cancel();
    }
  }
  changed_.notify_one();
  thread_.join();
}

void EventThread::want(const std::set<std::string>& environment) {
  const std::scoped_lock held(lock_);
  environment_ = fmt::format("{}", fmt::join(environment, ","));
  wish_changed_ = true;
  if (stream_ != nullptr) {
    stream_->cancel(); // another one goes on behind what was heard
  }
}

bool EventThread::pause() {
  std::unique_lock held(lock_);
  changed_.wait_for(held, pause_between, [this] { return ending_; });
  return !ending_;
}

void EventThread::run() {
  bool again = true;
  while (again) {
    try {
      follow();
      again = false;
    } catch (const ManagerError& error) {
      constexpr unsigned too_many = 429;
      if (error.kind() == ManagerError::Kind::refused && error.status() < 500 &&
          error.status() != too_many) {
        boost::asio::post(io_, [this, why = std::string(error.what())] { failed_(why); });
        again = false;
      } else if (error.kind() != ManagerError::Kind::cancelled) {
        again = pause();
      } else {
        const std::scoped_lock held(lock_);
        again = !ending_;
      }
    }
  }
}

void EventThread::follow() {
  std::string query = "?job=" + manager_client::encoded(job_);
  {
    const std::scoped_lock held(lock_);
    wish_changed_ = false;
    query += environment_.empty() ? "" : "&environment=" + environment_;
  }
  manager_client::EventStream stream(settings_, after_, query);
  struct Open {
    EventThread& self;
    ~Open() {
      const std::scoped_lock held(self.lock_);
      self.stream_ = nullptr;
    }
  } const open{*this};
  {
    const std::scoped_lock held(lock_);
    stream_ = &stream;
    if (ending_ || wish_changed_) {
      stream.cancel(); // what changed while it connected
    }
  }
  while (true) {
    if (const auto event = stream.next(longest_wait)) {
      after_ = event->number;
      boost::asio::post(io_, [this, own = event_of(*event)] { heard_(own); });
    }
  }
}

} // namespace tributary::launch::run
