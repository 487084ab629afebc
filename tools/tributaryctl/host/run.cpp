#include "tools/tributaryctl/host/run.hpp"

#include "endpoint/agent/messages.hpp"
#include "endpoint/host_client/host_client.hpp"
#include "lib/terminal/command_line.hpp"
#include "tools/tributaryctl/exit_codes.hpp"
#include "tools/tributaryctl/fabric/cells.hpp"
#include "tools/tributaryctl/host/held_job.hpp"
#include "tools/tributaryctl/terminal.hpp"
#include "tributary/text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>

#include <pwd.h>

namespace tributary::cli {
namespace {

namespace json = boost::json;
using host_client::HostClient;
using terminal::UsageError;
using HostVerb = HostCommand::Verb;

std::uint32_t user_id(const std::string& name) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error == std::errc() && end == name.data() + name.size()) {
    return number;
  }
  const struct passwd* const found = ::getpwnam(name.c_str());
  if (found == nullptr) {
    throw UsageError(fmt::format("this machine has no user \"{}\"", name));
  }
  return found->pw_uid;
}

std::string user_name(const std::string& number) {
  std::uint32_t uid = 0;
  std::from_chars(number.data(), number.data() + number.size(), uid);
  const struct passwd* const found = ::getpwuid(uid);
  return found == nullptr ? number : std::string(found->pw_name);
}

host_agent::AddJobRequest request_of(const HostCommand& command) {
  host_agent::AddJobRequest request{
      .job = command.job,
      .vni = Vni{command.vni},
      .cgroup = command.cgroup,
      .is_attached = command.verb == HostVerb::run_job,
      .manager = {.url = command.url, .certificate_authority = command.certificate_authority}};
  if (!command.user.empty()) {
    request.uid = user_id(command.user);
  }
  if (command.lifetime) {
    request.lifetime_ns = static_cast<std::uint64_t>(command.lifetime->count()) * ns_per_second;
  }
  if (!command.token_file.empty()) {
    request.manager.token = terminal::token_in(command.token_file);
  }
  return request;
}

std::string shown(const HostCommand& command, bool as_json) {
  const json::value answer =
      HostClient(command.socket).ask(host_agent::line_of(host_agent::ShowRequest{}));
  return as_json ? json::serialize(answer) + "\n" : fitted(host_view(Entry(answer), own_display()));
}

} // namespace

std::string host_view(const Entry& answer, const terminal::Display& display) {
  std::string out = fmt::format("Interface {}, NID {}, announced as {}\n", answer.text("interface"),
                                answer.text("nid"), answer.text("host"));
  if (const std::string error = answer.text("error"); !error.empty()) {
    out += fmt::format("No sockets are handed out: {}\n", error);
  }
  Table jobs({{"JOB"},
              {"VNI", right},
              {"USER"},
              {"SOCKETS", right},
              {"ENDS IN", right},
              {"DECLARED BY"},
              {"CGROUP", left}});
  for (const Entry& job : answer.entries("jobs")) {
    const std::string ends = job.text("ends_in_s");
    jobs.add({{job.text("job")},
              {job.text("vni")},
              {user_name(job.text("uid"))},
              {job.text("sockets")},
              {ends.empty() ? "" : ends + " s"},
              {job.flag("own") ? "its user" : user_name(job.text("told_by"))},
              {job.text("cgroup")}});
  }
  out += jobs.empty() ? "No jobs.\n" : "\n" + jobs.text(display);
  Table frames({{"FRAMES"}, {"COUNT", right}, {"BYTES", right}});
  answer.for_each_member("guard", [&](std::string_view name, const Entry& count) {
    frames.add({{std::string(name)}, {count.text("packets")}, {count.text("bytes")}});
  });
  return frames.empty() ? out : out + "\n" + frames.text(display);
}

int run_host(const HostCommand& command, bool as_json) {
  try {
    if (command.verb == HostVerb::show) {
      if (command.watch) {
        watch(*command.watch, !as_json, [&] { return shown(command, as_json); });
      } else {
        fmt::print("{}", shown(command, as_json));
      }
      return exit_success;
    }
    if (command.verb == HostVerb::run_job) {
      ::setenv("TRIBUTARY_JOB_ID", command.job.c_str(), 1); // the user may have several on the node
      return run_with_job(command.socket, host_agent::line_of(request_of(command)), command.words);
    }
    const bool adds = command.verb == HostVerb::add_job;
    const std::string line =
        adds ? host_agent::line_of(request_of(command))
             : host_agent::line_of(host_agent::EndJobRequest{.job = command.job});
    const json::value answer = HostClient(command.socket).ask(line);
    fmt::print("{}",
               as_json ? json::serialize(answer) + "\n"
               : adds  ? fmt::format("job {} is on this node with VNI {}\n",
                                     Entry(answer).text("job"), Entry(answer).text("vni"))
                       : fmt::format("job {} has ended on this node\n", Entry(answer).text("job")));
    return exit_success;
  } catch (const UsageError& error) {
    fmt::print(stderr, "tributaryctl: {}\n", error.what());
    return exit_usage;
  }
}

} // namespace tributary::cli
