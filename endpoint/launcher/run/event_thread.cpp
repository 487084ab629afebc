#include "endpoint/launcher/run/event_thread.hpp"

#include "lib/net/signals_blocked.hpp"

#include <boost/asio/post.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <exception>
#include <utility>

namespace tributary::launch::run {

namespace {

using manager_client::ManagerError;

constexpr std::chrono::milliseconds pause_between{200};
/// Polling interval without a stream.
constexpr std::chrono::seconds asked_every{5};
constexpr unsigned too_many = 429;
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
                         std::string job, std::uint64_t after, OnEvent on_event, Said late,
                         Said failed)
    : io_(io), settings_(std::move(settings)), job_(std::move(job)), after_(after),
      on_event_(std::move(on_event)), late_(std::move(late)), failed_(std::move(failed)) {
  // The end of the job waits for pending calls.
  settings_.connect_limit = std::chrono::seconds(1);
  settings_.answer_limit = std::chrono::seconds(2);
  const net::SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

EventThread::~EventThread() {
  {
    const std::scoped_lock held(lock_);
    stopping_ = true;
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
  subscription_changed_ = true;
  if (stream_ != nullptr) {
    stream_->cancel(); // the next stream continues after the last event received
  }
}

bool EventThread::pause(std::chrono::milliseconds time) {
  std::unique_lock held(lock_);
  changed_.wait_for(held, time, [this] { return stopping_; });
  return !stopping_;
}

void EventThread::run() {
  bool again = true;
  while (again) {
    try {
      follow();
    } catch (const ManagerError& error) {
      if (error.kind() == ManagerError::Kind::refused && error.status() == too_many) {
        ask_instead(error.what());
        again = pause(asked_every);
      } else if (error.kind() == ManagerError::Kind::refused && error.is_final()) {
        boost::asio::post(io_, [this, why = std::string(error.what())] { failed_(why); });
        again = false;
      } else {
        again = error.kind() == ManagerError::Kind::cancelled ? pause({}) : pause(pause_between);
      }
    }
  }
}

void EventThread::ask_instead(const std::string& why) {
  if (!std::exchange(has_said_late_, true)) {
    boost::asio::post(io_, [this, why] { late_(why); });
  }
  try {
    ask();
  } catch (const std::exception&) {
    // No answer, or one that cannot be parsed. It is asked again, and keeps the events until then.
  }
}

void EventThread::ask() {
  manager_client::ManagerClient manager(settings_);
  const manager_client::Answer answer =
      manager.get(fmt::format("/api/v1/events{}&follow=false&after={}", query(), after_));
  manager_client::throw_unless_done(answer, "asking for its events");
  const boost::json::object& body = answer.body.as_object();
  for (const boost::json::value& one : body.at("events").as_array()) {
    const manager_client::Event event{one.at("number").to_number<std::uint64_t>(), {}, one};
    boost::asio::post(io_, [this, own = event_of(event)] { on_event_(own); });
  }
  after_ = body.at("last").to_number<std::uint64_t>();
}

std::string EventThread::query() {
  const std::scoped_lock held(lock_);
  subscription_changed_ = false;
  return "?job=" + manager_client::encoded(job_) +
         (environment_.empty() ? "" : "&environment=" + environment_);
}

void EventThread::follow() {
  manager_client::EventStream stream(settings_, after_, query());
  struct Open {
    EventThread& self;
    ~Open() {
      const std::scoped_lock held(self.lock_);
      self.after_ = self.stream_->seen();
      self.stream_ = nullptr;
    }
  };
  {
    const std::scoped_lock held(lock_);
    stream_ = &stream;
    if (stopping_ || subscription_changed_) {
      stream.cancel(); // the settings changed while it connected
    }
  }
  const Open open{*this};
  while (true) {
    if (const auto event = stream.next(longest_wait)) {
      boost::asio::post(io_, [this, own = event_of(*event)] { on_event_(own); });
    }
  }
}

} // namespace tributary::launch::run
