#include "controlplane/southbound/protocol/session.hpp"

#include "tributary/wire/hello.hpp"

#include <fmt/format.h>

#include <utility>

namespace tributary::southbound::protocol {
namespace {

std::uint64_t nanoseconds(std::chrono::milliseconds time) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
}

} // namespace

Sessions::Sessions(SessionSettings settings) : settings_(std::move(settings)) {}

Admission Sessions::open(SessionNumber session, const control::SwitchHello& hello, TimeNs now) {
  const auto reject = [](std::string reason) {
    return Admission{rejection(std::move(reason)), false, std::nullopt};
  };
  if (hello.protocol() != control_protocol) {
    return reject(fmt::format("the switch speaks version {} of the control channel, the manager "
                              "version {}; update the older one",
                              hello.protocol(), control_protocol));
  }
  if (hello.name().empty()) {
    return reject("the switch has no name; give it one in its file");
  }
  if (!wire::is_hello_name(hello.name())) { // its neighbours would not accept it
    return reject(fmt::format("a switch's name has 1 to {} letters, digits, '_', '-' and '.', and "
                              "is not \".\" or \"..\"; correct it in the switch's file",
                              wire::max_hello_name));
  }

  if (const auto other = by_guid_.find(hello.guid()); other != by_guid_.end()) {
    const Session& held = sessions_.at(other->second);
    if (held.name != hello.name()) {
      return reject(fmt::format("switch \"{}\" is connected with the same guid {:#018x}; give one "
                                "of them another",
                                held.name, hello.guid()));
    }
  }
  Admission admission;
  if (const auto other = by_name_.find(hello.name()); other != by_name_.end()) {
    const SessionNumber number = other->second;
    if (sessions_.at(number).boot != hello.boot()) {
      return reject(fmt::format("a switch \"{}\" is connected already; if it is the same one "
                                "before a restart, its channel ends within {}",
                                hello.name(), timeout_text()));
    }
    close(number);
    admission.superseded = number;
  }

  const TimeNs due = now + nanoseconds(settings_.keepalive);
  sessions_[session] = {hello.name(), hello.guid(), hello.boot(), false, 0, due};
  by_name_[hello.name()] = session;
  if (hello.guid() != 0) {
    by_guid_[hello.guid()] = session;
  }
  due_.emplace(due, session);

  control::Welcome& welcome = *admission.answer.mutable_welcome();
  welcome.set_manager(settings_.manager);
  welcome.set_keepalive_ms(static_cast<std::uint32_t>(settings_.keepalive.count()));
  welcome.set_statistics_ms(static_cast<std::uint32_t>(settings_.statistics.count()));
  admission.accepted = true;
  return admission;
}

void Sessions::heard(SessionNumber session) {
  const auto found = sessions_.find(session);
  if (found != sessions_.end()) {
    found->second.heard = true;
  }
}

void Sessions::close(SessionNumber session) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) {
    return;
  }
  by_name_.erase(found->second.name);
  by_guid_.erase(found->second.guid);
  due_.erase({found->second.due, session});
  sessions_.erase(found);
}

std::vector<Keepalive> Sessions::poll(TimeNs now) {
  const std::uint64_t interval = nanoseconds(settings_.keepalive);
  std::vector<Keepalive> result;
  while (!due_.empty() && due_.begin()->first <= now) {
    const SessionNumber number = due_.begin()->second;
    due_.erase(due_.begin());
    Session& session = sessions_.at(number);
    session.missed = std::exchange(session.heard, false) ? 0 : session.missed + 1;
    if (session.missed == keepalives_missed) {
      close(number);
      result.push_back({.session = number, .lost = true, .ping = {}});
      continue;
    }
    session.due = now + interval;
    due_.emplace(session.due, number);
    Keepalive keepalive{.session = number, .lost = false, .ping = {}};
    keepalive.ping.mutable_ping()->set_number(++pings_);
    result.push_back(std::move(keepalive));
  }
  return result;
}

TimeNs Sessions::next_deadline() const { return due_.empty() ? never : due_.begin()->first; }

std::string Sessions::timeout_text() const {
  const std::chrono::duration<double> silence = keepalives_missed * settings_.keepalive;
  return fmt::format("{:.1f} s", silence.count());
}

control::ManagerMessage rejection(std::string reason, std::string leader_address) {
  control::ManagerMessage message;
  message.mutable_rejected()->set_reason(std::move(reason));
  message.mutable_rejected()->set_leader_address(std::move(leader_address));
  return message;
}

} // namespace tributary::southbound::protocol
