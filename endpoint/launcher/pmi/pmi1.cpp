#include "endpoint/launcher/pmi/pmi1.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace tributary::launch::pmi {

namespace {

constexpr std::size_t longest_key = 64;
constexpr std::size_t longest_value = 1024;

/// The value of " name=", up to the next blank; `value` is the last of its line and extends to its
/// end.
std::optional<std::string_view> field(std::string_view line, std::string_view name) {
  for (std::size_t at = 0; (at = line.find(name, at)) != std::string_view::npos; ++at) {
    const std::size_t equals = at + name.size();
    if ((at != 0 && line[at - 1] != ' ') || equals >= line.size() || line[equals] != '=') {
      continue;
    }
    const std::string_view rest = line.substr(equals + 1);
    return name == "value" ? rest : rest.substr(0, rest.find(' '));
  }
  return std::nullopt;
}

} // namespace

std::string process_mapping(const std::vector<std::uint32_t>& ranks_by_node) {
  std::string mapping = "(vector";
  for (std::size_t first = 0; first < ranks_by_node.size();) {
    std::size_t last = first + 1;
    while (last < ranks_by_node.size() && ranks_by_node[last] == ranks_by_node[first]) {
      ++last;
    }
    mapping += fmt::format(",({},{},{})", first, last - first, ranks_by_node[first]);
    first = last;
  }
  return mapping + ")";
}

Pmi1::Pmi1(Pmi1Settings settings, const std::vector<std::uint32_t>& local)
    : settings_(std::move(settings)) {
  for (const std::uint32_t rank : local) {
    sessions_[rank];
  }
  if (settings_.mapping.size() <= longest_value) {
    values_["PMI_process_mapping"] = settings_.mapping;
  }
}

Pmi1::Outcome Pmi1::received(std::uint32_t rank, std::string_view bytes) {
  Outcome outcome;
  const auto found = sessions_.find(rank);
  if (found == sessions_.end()) {
    outcome.error = "it has ended";
    return outcome;
  }
  Session& session = found->second;
  session.begun += bytes;
  std::size_t end = 0;
  while (outcome.error.empty() && !session.in_barrier &&
         (end = session.begun.find('\n')) != std::string::npos) {
    const std::string text = session.begun.substr(0, end);
    session.begun.erase(0, end + 1);
    line(session, text, outcome);
  }
  if (session.begun.size() > longest_line) {
    outcome.error = fmt::format("it sent a line of more than {} bytes", longest_line);
  }
  return outcome;
}

void Pmi1::line(Session& session, std::string_view text, Outcome& outcome) {
  const auto reply = [&](std::string_view answer) {
    outcome.reply += answer;
    outcome.reply += '\n';
  };
  if (session.multi_line) {
    if (text == "endcmd") {
      session.multi_line = false;
      reply("cmd=spawn_result rc=-1 msg=processes_cannot_be_spawned");
    }
    return;
  }
  if (text.starts_with("mcmd=spawn")) {
    session.multi_line = true;
    return;
  }
  if (!text.starts_with("cmd=")) {
    outcome.error = fmt::format("'{}' is not a request of PMI-1", text.substr(0, 60));
    return;
  }
  const std::string_view command = text.substr(4, text.find(' ') - 4);
  if (command == "init") {
    session.initialised = true;
    outcome.connected = true;
    reply(field(text, "pmi_version") == "1"
              ? "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"
              : "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1");
    return;
  }
  if (!session.initialised) {
    outcome.error = fmt::format("it sent cmd={} before cmd=init", command);
  } else if (command == "get_maxes") {
    reply(fmt::format("cmd=maxes kvsname_max=256 keylen_max={} vallen_max={} rc=0", longest_key,
                      longest_value));
  } else if (command == "get_appnum") {
    reply("cmd=appnum appnum=0 rc=0");
  } else if (command == "get_my_kvsname") {
    reply(fmt::format("cmd=my_kvsname kvsname={} rc=0", settings_.job));
  } else if (command == "get_universe_size") {
    reply(fmt::format("cmd=universe_size size={} rc=0", settings_.ranks));
  } else if (command == "put") {
    const auto key = field(text, "key");
    const auto value = field(text, "value");
    if (!key || !value || key->empty() || key->size() > longest_key ||
        value->size() > longest_value) {
      reply("cmd=put_result rc=-1 msg=no_key_or_value_or_too_long");
      return;
    }
    values_.insert_or_assign(std::string(*key), std::string(*value));
    puts_ += fmt::format("{} {}\n", *key, *value);
    reply("cmd=put_result rc=0 msg=success");
  } else if (command == "get") {
    const auto key = field(text, "key");
    const auto found = key ? values_.find(*key) : values_.end();
    reply(found == values_.end()
              ? "cmd=get_result rc=-1 msg=key_not_found value=unknown"
              : fmt::format("cmd=get_result rc=0 msg=success value={}", found->second));
  } else if (command == "barrier_in") {
    session.in_barrier = true;
    outcome.barrier = all_in_barrier();
  } else if (command == "finalize") {
    outcome.finalized = true;
    reply("cmd=finalize_ack rc=0");
  } else if (command == "abort") {
    outcome.aborted = true;
    const std::string_view code = field(text, "exitcode").value_or("1");
    std::from_chars(code.data(), code.data() + code.size(), outcome.exit_code);
  } else {
    // The answer to publish_name is publish_result, and so on.
    const std::string_view name =
        command.ends_with("_name") ? command.substr(0, command.size() - 5) : command;
    reply(fmt::format("cmd={}_result rc=-1 msg=not_supported", name));
  }
}

bool Pmi1::all_in_barrier() const {
  return !sessions_.empty() && std::all_of(sessions_.begin(), sessions_.end(),
                                           [](const auto& each) { return each.second.in_barrier; });
}

bool Pmi1::forget(std::uint32_t rank) { return sessions_.erase(rank) != 0 && all_in_barrier(); }

std::string Pmi1::take_puts() { return std::exchange(puts_, {}); }

std::vector<std::pair<std::uint32_t, std::string>> Pmi1::release(std::string_view puts,
                                                                 bool complete) {
  while (!puts.empty()) {
    const std::size_t end = std::min(puts.find('\n'), puts.size());
    const std::string_view put = puts.substr(0, end);
    puts.remove_prefix(std::min(end + 1, puts.size()));
    const std::size_t blank = put.find(' ');
    if (blank != std::string_view::npos) {
      values_.insert_or_assign(std::string(put.substr(0, blank)),
                               std::string(put.substr(blank + 1)));
    }
  }
  std::vector<std::pair<std::uint32_t, std::string>> answers;
  for (auto& [rank, session] : sessions_) {
    if (session.in_barrier) {
      session.in_barrier = false;
      answers.emplace_back(rank, complete ? "cmd=barrier_out rc=0\n"
                                          : "cmd=barrier_out rc=-1 msg=a_rank_has_ended\n");
    }
  }
  return answers;
}

} // namespace tributary::launch::pmi
