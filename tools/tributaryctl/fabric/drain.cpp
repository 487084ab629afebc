#include "tools/tributaryctl/fabric/drain.hpp"

#include "endpoint/manager_client/manager_error.hpp"
#include "tools/tributaryctl/exit_codes.hpp"
#include "tools/tributaryctl/fabric/route_views.hpp"
#include "tools/tributaryctl/terminal.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

namespace tributary::cli {
namespace {

namespace json = boost::json;
using manager_client::Answer;
using Verb = FabricCommand::Verb;

constexpr std::chrono::milliseconds poll_interval(200);

int print(const json::value& answer, bool as_json, int code) {
  fmt::print("{}\n", as_json ? json::serialize(answer) : drain_line(Entry(answer)));
  return code;
}

} // namespace

int drain(manager_client::ManagerClient& manager, const FabricCommand& command, bool as_json) {
  const std::string path =
      fmt::format("/api/v1/switches/{}/drain", manager_client::encoded(command.name));
  if (command.verb == Verb::undrain) {
    const Answer answer = manager.del(path);
    throw_unless_done(answer, "taking " + command.name + " into use again");
    return print(answer.body, as_json, exit_success);
  }
  Answer answer = manager.post(fmt::format("{}?force={}", path, command.force), json::object{});
  throw_unless_done(answer, "draining " + command.name);
  if (command.no_wait) {
    return print(answer.body, as_json, exit_success);
  }
  catch_interrupts();
  const auto until = std::chrono::steady_clock::now() + command.timeout;
  std::string printed;
  while (!Entry(answer.body).flag("safe")) {
    const bool is_interrupted = interrupted();
    if (is_interrupted || std::chrono::steady_clock::now() >= until) {
      fmt::print(stderr,
                 "tributaryctl: {} is not out of use {}; draining continues, see "
                 "\"tributaryctl fabric show routes\"\n",
                 command.name,
                 is_interrupted ? std::string("yet")
                                : "after " + terminal::duration_value(command.timeout));
      return print(answer.body, as_json, exit_failure);
    }
    if (const std::string line = drain_line(Entry(answer.body)); !as_json && line != printed) {
      fmt::print(stderr, "{}\n", line);
      printed = line;
    }
    sleep_until_interrupted(poll_interval);
    answer = manager.get(path);
    throw_unless_done(answer, "looking at " + command.name);
  }
  return print(answer.body, as_json, exit_success);
}

} // namespace tributary::cli
