#include "controlplane/standby/standby.hpp"

#include "controlplane/api/status.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace tributary::standby {

std::string Standby::not_leading_because() {
  const std::optional<LeaderPlace> leader = who_leads_();
  return leader ? fmt::format("this manager, \"{}\", stands by; \"{}\" leads{}", name_,
                              leader->name, leader->url.empty() ? "" : ", at " + leader->url)
                : fmt::format("this manager, \"{}\", stands by; no manager leads now", name_);
}

std::string Standby::leader_url() {
  const std::optional<LeaderPlace> leader = who_leads_();
  return leader ? leader->url : std::string();
}

std::string Standby::leader_address() {
  const std::optional<LeaderPlace> leader = who_leads_();
  return leader ? leader->switches : std::string();
}

api::Answer Standby::misdirected() {
  return api::misdirected_answer(not_leading_because(), leader_url());
}

void Standby::serve(const api::Route& /*route*/, const api::Call& /*call*/, api::Reply reply) {
  reply(misdirected());
}

std::optional<api::Answer> Standby::refuse(const api::Route& /*route*/,
                                           const api::Caller& /*caller*/) {
  return misdirected();
}

std::optional<api::Answer> Standby::refuse_events(const api::Caller& /*caller*/) {
  return misdirected();
}

std::optional<api::Answer> Standby::refuse_job_events(const api::Caller& /*caller*/,
                                                      const std::string& /*job*/) {
  return misdirected();
}

std::unique_ptr<api::EventReader> Standby::read_events(const api::Caller& /*caller*/,
                                                       const api::EventsRequest& /*request*/,
                                                       std::function<void()> /*wake*/) {
  throw std::logic_error("a standby has no events, and refuses to be asked for them");
}

std::optional<api::MetricsPlace> Standby::metrics(api::MetricsPlace /*from*/, std::string& text) {
  text += "# TYPE tributary_leads gauge\n"
          "# HELP tributary_leads 1 while this manager may change the fabric.\n"
          "tributary_leads 0\n";
  return std::nullopt;
}

std::optional<std::string> Standby::connected(southbound::protocol::SessionNumber /*session*/,
                                              const control::SwitchHello& /*hello*/) {
  return not_leading_because();
}

} // namespace tributary::standby
