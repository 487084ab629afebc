#include "tools/tributaryctl/commands.hpp"

#include "lib/net/file_descriptor.hpp"
#include "lib/service/pcapng_stream.hpp"
#include "lib/service/switch_client.hpp"
#include "lib/terminal/output_file.hpp"
#include "tools/tributaryctl/entry.hpp"
#include "tools/tributaryctl/fabric/run.hpp"
#include "tools/tributaryctl/host/run.hpp"
#include "tools/tributaryctl/rdma/run.hpp"
#include "tools/tributaryctl/store/run.hpp"
#include "tools/tributaryctl/terminal.hpp"
#include "tools/tributaryctl/views.hpp"
#include "tributary/text.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <iterator>
#include <limits>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tributary::cli {
namespace {

namespace json = boost::json;
using service::SwitchClient;
using service::SwitchError;
using std::chrono::steady_clock;

constexpr std::string_view how_to_name_socket = "Name its socket with --socket or TRIBUTARY_SOCKET";

std::string view_of(const Command& command, const json::value& result,
                    const terminal::Display& display) {
  using Verb = Command::Verb;
  switch (command.verb) {
  case Verb::trace:
    if (command.what != "dump") {
      return fmt::format("tracing is {}\n", !result.at("tracing").as_bool() ? "off"
                                            : result.at("all").as_bool()    ? "on, for all frames"
                                                                            : "on");
    }
    return trace_view(result, display);
  case Verb::explain: return explanation_view(result, display);
  case Verb::impair:
    return command.impair.action == ImpairCommand::Action::clear && result.as_array().empty()
               ? "Nothing was impaired.\n"
               : impairments_view(result, display);
  case Verb::reload: return reload_view(result, display);
  case Verb::version: return version_view(result, display);
  case Verb::capture:
  case Verb::fabric:
  case Verb::rdma:
  case Verb::host:
  case Verb::store: return {};
  case Verb::show: break;
  }
  return command.what == "ports"        ? ports_view(result, display)
         : command.what == "links"      ? links_view(result, display)
         : command.what == "neighbours" ? neighbours_view(result, display)
         : command.what == "queues"     ? queues_view(result, display)
         : command.what == "trees"      ? trees_view(result, display)
         : command.what == "engines"    ? engines_view(result, display)
         : command.what == "workers"    ? workers_view(result, display)
         : command.what == "manager"    ? manager_view(result, display)
                                        : counters_view(result, display);
}

std::string shown(const Command& command, const json::value& result) {
  return command.json ? json::serialize(result) + '\n'
                      : fitted(view_of(command, result, own_display()));
}

void write_all(int descriptor, std::span<const std::byte> bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      throw SwitchError(fmt::format("cannot write to {} ({})", name, std::strerror(errno)));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

int capture(const Command& command) {
  std::signal(SIGPIPE, SIG_IGN);
  SwitchClient client(command.socket, how_to_name_socket);
  static_cast<void>(client.ask(request_of(command)));
  const bool to_stdout = command.output == "-";
  net::FileDescriptor output;
  if (!to_stdout) {
    output = net::FileDescriptor(
        ::open(command.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  }
  if (!to_stdout && !output) {
    throw SwitchError(fmt::format("cannot write to {} ({}); choose another file with -o",
                                  command.output, std::strerror(errno)));
  }
  catch_interrupts();
  std::optional<steady_clock::time_point> deadline;
  if (command.duration) {
    deadline = steady_clock::now() + *command.duration;
  }
  service::PcapngStream file;
  bool finishing = false;
  for (bool ended = false; !ended && !file.malformed();) {
    if (!finishing && (interrupted() || (deadline && steady_clock::now() >= *deadline))) {
      // The switch sends what it still has, the statistics, and closes.
      client.finish();
      finishing = true;
    }
    write_all(to_stdout ? STDOUT_FILENO : output.get(),
              file.add(client.receive(finishing ? std::nullopt : deadline, ended)),
              to_stdout ? "standard output" : command.output);
  }
  if (const int error = output.close(); error != 0) {
    throw SwitchError(fmt::format("cannot write to {} ({})", command.output, std::strerror(error)));
  }
  if (file.malformed()) {
    throw SwitchError("the switch sent something that is not pcapng");
  }
  if (command.json && !to_stdout) {
    fmt::print("{}\n", json::serialize(json::object{{"file", command.output},
                                                    {"frames", file.packets()},
                                                    {"missed", file.missed()}}));
  } else {
    fmt::print(stderr, "{} captured, {} missed\n", counted(file.packets(), "frame"), file.missed());
  }
  return exit_success;
}

/// Prints events as they arrive, until q, Ctrl-C or the count.
int follow_trace(const Command& command) {
  constexpr std::chrono::milliseconds pause(200);
  SwitchClient client(command.socket, how_to_name_socket);
  json::object request = request_of(command).as_object();
  request["from"] = "end";
  std::uint64_t left = command.count.value_or(std::numeric_limits<std::uint64_t>::max());
  watch(pause, false, [&] {
    const json::value answer = client.ask(request);
    request["from"] = answer.at("next");
    std::string out;
    if (const std::uint64_t lost = Entry(answer).number("lost"); lost != 0) {
      fmt::print(stderr, "tributaryctl: up to {} overwritten before they were read\n",
                 counted(lost, "event"));
    }
    for (const json::value& event : answer.at("events").as_array()) {
      if (left == 0) {
        break;
      }
      --left;
      out += command.json
                 ? json::serialize(event) + '\n'
                 : fitted(trace_line(event, std::chrono::system_clock::now(), own_display()));
    }
    if (left == 0) {
      stop_watching();
    }
    return out;
  });
  return exit_success;
}

} // namespace

json::value request_of(const Command& command, const std::string& frame) {
  using Verb = Command::Verb;
  json::object request;
  const auto add_text = [&](const char* name, const std::string& text) {
    if (!text.empty()) {
      request[name] = text;
    }
  };
  switch (command.verb) {
  case Verb::show:
    request["command"] = "show";
    request["what"] = command.what == "links" ? "ports" : command.what; // links are in the answer
                                                                        // about ports
    add_text("switch", command.switch_name);
    add_text("port", command.port);
    break;
  case Verb::trace:
    request["command"] = "trace";
    request["action"] = command.what;
    add_text("switch", command.switch_name);
    add_text("port", command.port);
    if (command.tree) {
      request["tree"] = *command.tree;
    }
    if (command.drops) {
      request["drops"] = true;
    }
    break;
  case Verb::capture:
    request["command"] = "capture";
    add_text("switch", command.switch_name);
    add_text("port", command.port);
    add_text("direction", command.direction);
    if (command.tree) {
      request["tree"] = *command.tree;
    }
    add_text("kind", command.kind);
    if (command.vni) {
      request["vni"] = *command.vni;
    }
    if (command.cookie) {
      request["cookie"] = *command.cookie;
    }
    if (command.drops) {
      request["drops"] = true;
    }
    if (command.count) {
      request["count"] = *command.count;
    }
    break;
  case Verb::explain:
    request["command"] = "explain";
    request["switch"] = command.switch_name;
    request["port"] = command.port;
    request["frame"] = frame;
    break;
  case Verb::impair: return request_of(command.impair);
  case Verb::reload: request["command"] = "reload"; break;
  case Verb::version: request["command"] = "version"; break;
  case Verb::fabric:
  case Verb::rdma:
  case Verb::host:
  case Verb::store: break; // ask the manager, the host agent or a store, not a switch
  }
  return request;
}

int run_command(const Command& command) {
  if (command.verb == Command::Verb::store) {
    ::umask(S_IRWXG | S_IRWXO); // an export holds the tokens of jobs
  }
  if (command.verb != Command::Verb::capture) {
    terminal::send_output_to(command.output);
  }
  if (command.verb == Command::Verb::fabric) {
    return run_fabric(command.fabric, command.json);
  }
  if (command.verb == Command::Verb::rdma) {
    return run_rdma(command.rdma, command.json);
  }
  if (command.verb == Command::Verb::host) {
    return run_host(command.host, command.json);
  }
  if (command.verb == Command::Verb::store) {
    return run_store(command.store, command.json);
  }
  if (command.verb == Command::Verb::capture) {
    return capture(command);
  }
  if (command.follow) {
    return follow_trace(command);
  }
  std::string frame = command.frame;
  if (command.verb == Command::Verb::explain && frame == "-") {
    frame.assign(std::istreambuf_iterator<char>(std::cin), {});
  }
  SwitchClient client(command.socket, how_to_name_socket);
  const auto show = [&] { return shown(command, client.ask(request_of(command, frame))); };
  if (command.watch) {
    watch(*command.watch, !command.json, show);
  } else {
    fmt::print("{}", show());
  }
  return exit_success;
}

} // namespace tributary::cli
