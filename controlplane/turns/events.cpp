#include "controlplane/turns/events.hpp"

#include <fmt/format.h>

#include <utility>

namespace tributary::turns {

std::string_view name_of(Severity severity) {
  switch (severity) {
  case Severity::info: return "info";
  case Severity::warning: return "warning";
  case Severity::error: return "error";
  }
  return "";
}

void Events::report(std::string kind, std::string text, boost::json::object body,
                    Severity severity) {
  body["time"] = environment_.wall_time();
  body["severity"] = name_of(severity);
  body["text"] = std::move(text);
  log_.add(std::move(kind), std::move(body));
}

void Events::report_to_jobs(std::string kind, std::string text, boost::json::object body,
                            std::string_view code, const JobNames& jobs, Severity severity) {
  body["time"] = environment_.wall_time();
  body["severity"] = name_of(severity);
  body["text"] = std::move(text);
  body["code"] = code;
  log_.add(std::move(kind), std::move(body), code, {jobs.begin(), jobs.end()});
}

void Events::requests_stored() {
  for (Announced& one : std::exchange(announced_, {})) {
    report(std::move(one.kind), std::move(one.text), std::move(one.body));
  }
}

std::unique_ptr<api::EventReader> Events::read(api::EventInterest interest, std::uint64_t after,
                                               std::function<void()> wake) {
  return log_.read(std::move(interest), after, environment_.wall_time(), std::move(wake));
}

} // namespace tributary::turns
