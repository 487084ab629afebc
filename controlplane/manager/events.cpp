#include "controlplane/manager/events.hpp"

#include "controlplane/group/words.hpp"
#include "controlplane/records/records.hpp"

#include <fmt/format.h>

#include <utility>

namespace tributary::manager {

void Events::tell(std::string kind, std::string text, boost::json::object body) {
  body["time"] = environment_.wall_time();
  body["text"] = std::move(text);
  log_.add(std::move(kind), std::move(body));
}

void Events::tell_jobs(std::string kind, std::string text, boost::json::object body,
                       std::string_view code, const JobNames& jobs) {
  body["time"] = environment_.wall_time();
  body["text"] = std::move(text);
  body["code"] = code;
  log_.add(std::move(kind), std::move(body), code, {jobs.begin(), jobs.end()});
}

void Events::tell_state(const group::Group& group, TimeNs now) {
  std::string text = fmt::format("group {}/{} {}", group.job, group.name, describe(group, now));
  std::string& told = told_[group.id];
  if (told == text) {
    return;
  }
  told = text;
  tell("group", std::move(text),
       {{"job", group.job},
        {"group", group.name},
        {"state", std::string(records::name_of(group.state))}});
}

void Events::keep_announced() {
  for (Announced& one : std::exchange(announced_, {})) {
    tell(std::move(one.kind), std::move(one.text), std::move(one.body));
  }
}

std::function<void()> Events::follow(std::uint64_t after, api::EventLog::Sink sink) {
  return log_.follow(after, environment_.wall_time(), std::move(sink));
}

} // namespace tributary::manager
