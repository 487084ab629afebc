// The manager's events of a job, followed on a thread of their own: it blocks, and tributary-run
// must not. Events are delivered on the event loop's thread. A manager that is away is asked again,
// and what it kept meanwhile is not missed. One that has no stream for the job is polled every few
// seconds, which takes a connection for a moment only.
#pragma once

#include "endpoint/launcher/control/event_relay.hpp"
#include "endpoint/manager_client/event_stream.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

namespace tributary::launch::run {

class EventThread {
public:
  using OnEvent = std::function<void(control::FabricEvent)>;
  using Said = std::function<void(std::string)>; ///< with the reason
  /// `late`: the manager has no stream for the job; called once. `failed`: it does not let the job
  /// follow its events.
  EventThread(boost::asio::io_context& io, manager_client::ClientSettings settings, std::string job,
              std::uint64_t after, OnEvent on_event, Said late, Said failed);
  ~EventThread();
  EventThread(const EventThread&) = delete;
  EventThread& operator=(const EventThread&) = delete;

  /// From now on delivers also events of the environment with these codes.
  void want(const std::set<std::string>& environment);

private:
  void run();
  void follow();
  /// Polls events, without a stream. Throws ManagerError.
  void ask();
  void ask_instead(const std::string& why);
  [[nodiscard]] std::string query();
  [[nodiscard]] bool pause(std::chrono::milliseconds time);

  boost::asio::io_context& io_;
  manager_client::ClientSettings settings_;
  std::string job_;
  std::uint64_t after_;        ///< used only by the thread
  bool has_said_late_ = false; ///< used only by the thread
  OnEvent on_event_;
  Said late_;
  Said failed_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::string environment_; ///< "link_down,congestion"
  bool subscription_changed_ = false;
  bool stopping_ = false;
  manager_client::EventStream* stream_ = nullptr; ///< the open stream
  std::thread thread_;                            // last: it uses all of the others
};

} // namespace tributary::launch::run
