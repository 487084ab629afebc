#include "tools/tributaryctl/rdma/run.hpp"

#include "endpoint/manager_client/manager_client.hpp"
#include "tools/tributaryctl/entry.hpp"
#include "tools/tributaryctl/exit_codes.hpp"
#include "tools/tributaryctl/rdma/views.hpp"
#include "tools/tributaryctl/terminal.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace tributary::cli {
namespace {

namespace json = boost::json;
using manager_client::Answer;
using manager_client::ManagerClient;
using RdmaVerb = RdmaCommand::Verb;

std::string path_of(const RdmaCommand& command) {
  std::string path = fmt::format("/api/v1/rdma/{}?limit={}", command.what, command.lines);
  if (command.vni) {
    if (command.what != "policy") {
      throw UsageError("--vni applies to \"rdma show policy\" only");
    }
    path += fmt::format("&vni={}", *command.vni);
  }
  return path;
}

std::string shown(ManagerClient& manager, const RdmaCommand& command, bool as_json) {
  const Answer answer = manager.get(path_of(command));
  throw_unless_done(answer, "asking for " + command.what);
  return as_json ? json::serialize(answer.body) + "\n"
                 : fitted(rdma_view(command.what, Entry(answer.body), own_display()));
}

json::object change_of(const RdmaCommand& command) {
  json::object body;
  if (command.vni) {
    body["vni"] = *command.vni;
  }
  if (command.verb == RdmaVerb::reset_policy) {
    json::array names(command.fields.begin(), command.fields.end());
    body["reset"] = names.empty() ? json::value(true) : json::value(std::move(names));
    return body;
  }
  json::object set;
  for (const std::string& field : command.fields) {
    const std::size_t equals = field.find('=');
    if (equals == std::string::npos) {
      throw UsageError(fmt::format("\"{}\" must be FIELD=VALUE, as in window=512", field));
    }
    set[field.substr(0, equals)] = field.substr(equals + 1);
  }
  body["set"] = std::move(set);
  return body;
}

void change_policy(ManagerClient& manager, const RdmaCommand& command, bool as_json) {
  const Answer answer = manager.patch("/api/v1/rdma/policy", change_of(command));
  throw_unless_done(answer, "changing the policy");
  fmt::print("{}", as_json ? json::serialize(answer.body) + "\n"
                           : fmt::format("the retransmit policy has version {}\n",
                                         Entry(answer.body).text("version")));
}

void quarantine(ManagerClient& manager, const RdmaCommand& command, bool as_json) {
  const std::string path = fmt::format("/api/v1/rdma/quarantined/{}/{}", command.vni.value_or(0),
                                       manager_client::encoded(command.host));
  const bool quarantines = command.verb == RdmaVerb::quarantine;
  const Answer answer = quarantines ? manager.put(path) : manager.del(path);
  throw_unless_done(answer, (quarantines ? "quarantining " : "releasing ") + command.host);
  fmt::print("{}", as_json ? json::serialize(answer.body) + "\n"
                           : fmt::format("{} is {} in VNI {}\n", Entry(answer.body).text("host"),
                                         quarantines ? "quarantined" : "released", *command.vni));
}

} // namespace

int run_rdma(const RdmaCommand& command, bool as_json) {
  try {
    ManagerClient manager(settings_of(command.manager));
    switch (command.verb) {
    case RdmaVerb::show:
      if (command.watch) {
        watch(*command.watch, !as_json, [&] { return shown(manager, command, as_json); });
      } else {
        fmt::print("{}", shown(manager, command, as_json));
      }
      break;
    case RdmaVerb::set_policy:
    case RdmaVerb::reset_policy: change_policy(manager, command, as_json); break;
    case RdmaVerb::quarantine:
    case RdmaVerb::release: quarantine(manager, command, as_json); break;
    }
    return exit_success;
  } catch (const UsageError& e) {
    fmt::print(stderr, "tributaryctl: {}\n", e.what());
    return exit_usage;
  }
}

} // namespace tributary::cli
