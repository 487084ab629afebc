#include "tools/tributaryctl/fabric/run.hpp"

#include "endpoint/manager_client/environment.hpp"
#include "endpoint/manager_client/event_stream.hpp"
#include "endpoint/manager_client/manager_client.hpp"
#include "tools/tributaryctl/entry.hpp"
#include "tools/tributaryctl/exit_codes.hpp"
#include "tools/tributaryctl/fabric/drain.hpp"
#include "tools/tributaryctl/fabric/job_limits.hpp"
#include "tools/tributaryctl/fabric/manager_place.hpp"
#include "tools/tributaryctl/fabric/route.hpp"
#include "tools/tributaryctl/fabric/topology_graph.hpp"
#include "tools/tributaryctl/fabric/tree_drawing.hpp"
#include "tools/tributaryctl/fabric/views.hpp"
#include "tools/tributaryctl/terminal.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace tributary::cli {
namespace {

namespace json = boost::json;
using manager_client::Answer;
using manager_client::encoded;
using manager_client::ManagerClient;
using manager_client::ManagerError;
using Verb = FabricCommand::Verb;

/// How long a stream of events waits before it checks for an interruption.
constexpr std::chrono::milliseconds interruption_pause{250};
constexpr std::chrono::seconds reconnection_pause{1};

/// "j1/demo", or the name alone with the job from elsewhere.
std::string group_path(const std::string& job, const std::string& name) {
  if (job.empty()) {
    throw UsageError("the group needs its job: give --job JOB, or JOB/NAME");
  }
  return fmt::format("/api/v1/groups/{}/{}", encoded(job), encoded(name));
}

/// The filter parameters of a list, from "?" on.
std::string filters_of(const FabricCommand& command) {
  struct Filter {
    std::string_view option;
    std::string_view parameter;
    std::string value;
    std::vector<std::string_view> lists;
  };
  const Filter filters[] = {
      {"--switch", "switch", command.at_switch, {"hosts", "links", "trees", "memory"}},
      {"--job", "job", command.job.value_or(""), {"groups", "trees"}},
      {"--group", "group", command.group, {"trees"}}};
  std::string query;
  for (const Filter& filter : filters) {
    if (filter.value.empty()) {
      continue;
    }
    if (std::find(filter.lists.begin(), filter.lists.end(), command.what) == filter.lists.end()) {
      throw UsageError(fmt::format("{} filters only the lists of {}, not of {}", filter.option,
                                   fmt::join(filter.lists, ", "), command.what));
    }
    if (!command.id.empty()) {
      throw UsageError(
          fmt::format("{} filters a list; omit it, or \"{}\"", filter.option, command.id));
    }
    query +=
        fmt::format("{}{}={}", query.empty() ? '?' : '&', filter.parameter, encoded(filter.value));
  }
  if (!command.group.empty() && !command.job) {
    throw UsageError("say which job the group is of: --job JOB");
  }
  return query;
}

std::string path_of(const FabricCommand& command) {
  const std::string filters = filters_of(command);
  if (command.what == "events") {
    return "/api/v1/events?follow=false";
  }
  if (command.what == "paths") {
    if (command.id.empty() || command.to.empty()) {
      throw UsageError("a path needs two hosts, by name or NID: show paths h0 h17");
    }
    return fmt::format("/api/v1/paths?from={}&to={}", encoded(command.id), encoded(command.to));
  }
  if (!command.to.empty()) {
    throw UsageError(fmt::format("only paths have two ends; omit \"{}\"", command.to));
  }
  if (command.id.empty()) {
    return "/api/v1/" + command.what + filters;
  }
  if (command.what == "routes" || command.what == "faults" || command.what == "managers") {
    throw UsageError(fmt::format("show {} takes no name; omit \"{}\"", command.what, command.id));
  }
  if (command.what == "topology") {
    throw UsageError("there is only one topology: omit the name, or show switches");
  }
  if (command.what == "groups") {
    const std::size_t slash = command.id.find('/');
    return slash == std::string::npos
               ? group_path("", command.id)
               : group_path(command.id.substr(0, slash), command.id.substr(slash + 1));
  }
  return fmt::format("/api/v1/{}/{}", command.what, encoded(command.id));
}

json::value ask(ManagerClient& manager, const std::string& path, const std::string& doing) {
  Answer answer = manager.get(path);
  throw_unless_done(answer, doing);
  return std::move(answer.body);
}

/// All pages of a list, merged.
json::value ask_for_all(ManagerClient& manager, const std::string& path, const std::string& doing) {
  json::value all = ask(manager, path, doing);
  for (;;) {
    json::object* const object = all.if_object();
    const json::value* const next = object != nullptr ? object->if_contains("next") : nullptr;
    if (next == nullptr || !next->is_string()) {
      return all;
    }
    const std::string after(next->as_string());
    object->erase("next");
    const json::value page =
        ask(manager,
            fmt::format("{}{}after={}", path, path.find('?') == std::string::npos ? '?' : '&',
                        encoded(after)),
            doing);
    for (const auto& member : page.as_object()) {
      json::value& known = (*object)[member.key()];
      if (known.is_array() && member.value().is_array()) {
        const json::array& more = member.value().as_array();
        known.as_array().insert(known.as_array().end(), more.begin(), more.end());
      } else {
        known = member.value();
      }
    }
  }
}

int show(ManagerClient& manager, const FabricCommand& command, bool as_json) {
  const std::string path = path_of(command);
  const auto text = [&] {
    const json::value answer = ask_for_all(manager, path, "showing " + command.what);
    return as_json ? json::serialize(answer) + '\n'
                   : fitted(fabric_view(command.what, !command.id.empty(), answer, own_display()));
  };
  if (command.watch) {
    watch(*command.watch, !as_json, text);
  } else {
    fmt::print("{}", text());
  }
  return exit_success;
}

void print_event(const manager_client::Event& event, bool as_json) {
  json::object entry{{"number", event.number}, {"event", event.kind}};
  if (const auto* body = event.body.if_object()) {
    for (const auto& member : *body) {
      entry.emplace(member.key(), member.value());
    }
  }
  fmt::print("{}\n", as_json ? json::serialize(entry)
                             : event_line(Entry(json::value(entry)), own_display()));
  std::fflush(stdout);
}

int follow_events(const manager_client::ClientSettings& settings, std::uint64_t last,
                  bool as_json) {
  catch_interrupts();
  bool reached = false;
  while (!interrupted()) {
    try {
      manager_client::EventStream stream(settings, last);
      reached = true;
      while (!interrupted()) {
        if (const auto event = stream.next(interruption_pause)) {
          last = event->number;
          print_event(*event, as_json);
        }
      }
    } catch (const ManagerError& e) {
      if (!reached || e.kind() == ManagerError::Kind::refused) {
        throw;
      }
      fmt::print(stderr, "tributaryctl: {}; trying again\n", e.what());
      sleep_until_interrupted(reconnection_pause);
    }
  }
  return exit_success;
}

int write_topology(ManagerClient& manager, const FabricCommand& command, bool as_json) {
  const json::value answer = ask_for_all(manager, "/api/v1/topology", "asking for the topology");
  fmt::print("{}", as_json ? json::serialize(answer) + '\n'
                           : topology_text(graph_of(Entry(answer)), command.topology_format));
  return exit_success;
}

int draw_tree(ManagerClient& manager, const FabricCommand& command, bool as_json) {
  const json::value answer = ask(manager, fmt::format("/api/v1/trees/{}", command.tree),
                                 fmt::format("asking for tree {}", command.tree));
  if (as_json) {
    fmt::print("{}\n", json::serialize(answer));
    return exit_success;
  }
  const DrawnTree tree = drawn_tree(Entry(answer));
  fmt::print("{}", command.format == "svg"   ? tree_svg(tree)
                   : command.format == "dot" ? tree_dot(tree)
                                             : tree_text(tree));
  return exit_success;
}

int create_group(ManagerClient& manager, const FabricCommand& command, bool as_json) {
  json::object body{{"name", command.name}, {"size", command.size}, {"trees", command.trees}};
  if (const std::string job =
          manager_client::job_from(command.job ? command.job->c_str() : nullptr);
      !job.empty()) {
    body["job"] = job;
  }
  if (command.root_rank) {
    body["root_rank"] = *command.root_rank;
  }
  if (command.in_switch_results) {
    body["in_switch_results"] = *command.in_switch_results;
  }
  const Answer answer = manager.post("/api/v1/groups", body);
  throw_unless_done(answer, "creating group " + command.name);
  fmt::print("{}", as_json ? json::serialize(answer.body) + '\n'
                           : fitted(fabric_view("groups", true, answer.body, own_display())));
  return exit_success;
}

int destroy_group(ManagerClient& manager, const FabricCommand& command, bool as_json) {
  const std::size_t slash = command.name.find('/');
  const std::string job = manager_client::job_from(command.job ? command.job->c_str() : nullptr);
  const std::string path =
      job.empty() && slash != std::string::npos
          ? group_path(command.name.substr(0, slash), command.name.substr(slash + 1))
          : group_path(job, command.name);
  const Answer answer = manager.del(path);
  throw_unless_done(answer, "destroying group " + command.name);
  fmt::print("{}", as_json ? json::serialize(answer.body) + '\n'
                           : fmt::format("group {} is being destroyed\n", command.name));
  return exit_success;
}

int create_job(ManagerClient& manager, const FabricCommand& command, bool as_json) {
  json::object body{{"jobID", command.name}};
  if (command.limit) {
    body["mcastLimit"] = *command.limit;
  }
  try {
    if (!command.hosts.empty()) {
      body["hosts"] = json::value_from(macs_of(command.hosts, [&](const std::string& name) {
        const json::value host =
            ask(manager, "/api/v1/hosts/" + encoded(name), "asking for host " + name);
        return static_cast<std::uint32_t>(Entry(host).number("nid"));
      }));
    }
    if (!command.vnis.empty()) {
      body["vnis"] = json::value_from(vnis_of(command.vnis));
    }
  } catch (const std::invalid_argument& e) {
    throw UsageError(e.what());
  }
  const Answer answer = manager.post("/fabric/collectives/jobs", body);
  throw_unless_done(answer, "creating job " + command.name);
  if (const std::string note = Entry(answer.body).text("note"); !note.empty()) {
    fmt::print(stderr, "tributaryctl: {}\n", note);
  }
  fmt::print("{}\n",
             as_json ? json::serialize(answer.body) : Entry(answer.body).text("sessionToken"));
  return exit_success;
}

int destroy_job(ManagerClient& manager, const FabricCommand& command, bool as_json) {
  const Answer answer = manager.del("/fabric/collectives/jobs/" + encoded(command.name));
  throw_unless_done(answer, "destroying job " + command.name);
  fmt::print("{}", as_json ? json::serialize(answer.body) + '\n'
                           : fmt::format("job {} and all its groups end\n", command.name));
  return exit_success;
}

int rebalance(ManagerClient& manager, const FabricCommand& command, bool as_json) {
  const Answer answer =
      manager.post(fmt::format("/api/v1/rebalance?dry_run={}", command.dry_run), json::object{});
  throw_unless_done(answer, "moving trees");
  fmt::print("{}", as_json ? json::serialize(answer.body) + '\n'
                           : fitted(rebalance_view(answer.body, own_display())));
  return exit_success;
}

int adopt(ManagerClient& manager, const FabricCommand& command, bool as_json) {
  const Answer answer = manager.post("/api/v1/adoptions", json::object{{"fabric", command.name}});
  throw_unless_done(answer, "adopting fabric " + command.name);
  const Entry entry(answer.body);
  const bool own = entry.text("fabric") == entry.text("adopted");
  fmt::print("{}", as_json ? json::serialize(answer.body) + '\n'
                           : fmt::format("the manager leads fabric {} with epoch {}{}\n",
                                         entry.text("fabric"), entry.text("epoch"),
                                         own ? ""
                                             : fmt::format("; switches of fabric {} are taken over "
                                                           "as they connect",
                                                           entry.text("adopted"))));
  return exit_success;
}

int failover(ManagerClient& manager, const FabricCommand& command, bool as_json) {
  json::object body;
  if (!command.name.empty()) {
    body["to"] = command.name;
  }
  const Answer answer = manager.post("/api/v1/failovers", body);
  throw_unless_done(answer, "changing the leader");
  const Entry entry(answer.body);
  fmt::print("{}", as_json ? json::serialize(answer.body) + '\n'
                           : fmt::format("manager {} gives the lead up for {}\n",
                                         entry.text("from"), entry.text("to")));
  return exit_success;
}

int ask_manager(const FabricCommand& command, bool as_json) {
  const manager_client::ClientSettings settings = settings_of(command);
  ManagerClient manager(settings);
  switch (command.verb) {
  case Verb::show:
    if (command.what == "events" && command.follow) {
      return follow_events(settings, command.after, as_json);
    }
    return show(manager, command, as_json);
  case Verb::draw_tree: return draw_tree(manager, command, as_json);
  case Verb::write_topology: return write_topology(manager, command, as_json);
  case Verb::create_group: return create_group(manager, command, as_json);
  case Verb::destroy_group: return destroy_group(manager, command, as_json);
  case Verb::create_job: return create_job(manager, command, as_json);
  case Verb::destroy_job: return destroy_job(manager, command, as_json);
  case Verb::rebalance: return rebalance(manager, command, as_json);
  case Verb::drain:
  case Verb::undrain: return drain(manager, command, as_json);
  case Verb::adopt: return adopt(manager, command, as_json);
  case Verb::failover: return failover(manager, command, as_json);
  case Verb::route: break;
  }
  return exit_success;
}

} // namespace

int run_fabric(const FabricCommand& command, bool json) {
  try {
    return command.verb == Verb::route ? route_model(command, json) : ask_manager(command, json);
  } catch (const UsageError& e) {
    fmt::print(stderr, "tributaryctl: {}\n", e.what());
    return exit_usage;
  }
}

} // namespace tributary::cli
