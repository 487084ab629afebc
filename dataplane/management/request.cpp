#include "dataplane/management/request.hpp"

#include "dataplane/management/hex.hpp"
#include "dataplane/management/impairment_json.hpp"
#include "dataplane/management/report_json.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

namespace tributary::management {
namespace {

namespace json = boost::json;

/// The members of a request, each to be read once; unread ones are refused.
class Members {
public:
  explicit Members(const json::object& object) : object_(object) {}

  std::string text(std::string_view name) {
    const json::value* v = find(name);
    if (v == nullptr) {
      return {};
    }
    if (!v->is_string()) {
      throw RequestError(fmt::format("\"{}\" must be text", name));
    }
    return std::string(v->as_string());
  }
  std::string required_text(std::string_view name) {
    std::string value = text(name);
    if (value.empty()) {
      throw RequestError(fmt::format("\"{}\" is missing", name));
    }
    return value;
  }
  std::optional<std::uint64_t> number(std::string_view name, std::uint64_t max) {
    const json::value* v = find(name);
    if (v == nullptr) {
      return std::nullopt;
    }
    json::error_code error;
    const auto value = v->to_number<std::uint64_t>(error);
    if (error || value > max) {
      throw RequestError(fmt::format("\"{}\" must be an integer from 0 to {}", name, max));
    }
    return value;
  }
  bool flag(std::string_view name) {
    const json::value* v = find(name);
    if (v != nullptr && !v->is_bool()) {
      throw RequestError(fmt::format("\"{}\" must be true or false", name));
    }
    return v != nullptr && v->get_bool();
  }
  bool is_text(std::string_view name, std::string_view value) {
    const json::value* v = find(name);
    return v != nullptr && v->is_string() && std::string_view(v->get_string()) == value;
  }
  std::optional<std::vector<std::uint64_t>> numbers(std::string_view name, std::size_t most) {
    const json::value* v = find(name);
    if (v == nullptr) {
      return std::nullopt;
    }
    const json::array* const array = v->if_array();
    std::vector<std::uint64_t> all;
    bool good = array != nullptr && array->size() <= most;
    for (std::size_t i = 0; good && i < array->size(); ++i) {
      json::error_code error;
      all.push_back((*array)[i].to_number<std::uint64_t>(error));
      good = !error;
    }
    if (!good) {
      throw RequestError(
          fmt::format("\"{}\" must be a list of at most {} integers from 0 on", name, most));
    }
    return all;
  }
  /// The index of the member's value among `choices`.
  std::size_t choice(std::string_view name, std::span<const std::string_view> choices) {
    const std::string value = required_text(name);
    const auto it = std::find(choices.begin(), choices.end(), value);
    if (it == choices.end()) {
      throw RequestError(
          fmt::format("\"{}\" is \"{}\"; known are {}", name, value, fmt::join(choices, ", ")));
    }
    return static_cast<std::size_t>(it - choices.begin());
  }
  const json::object& required_object(std::string_view name) {
    const json::value* v = find(name);
    if (v == nullptr || !v->is_object()) {
      throw RequestError(fmt::format("\"{}\" is {}", name,
                                     v == nullptr ? "missing" : "not an object with members"));
    }
    return v->get_object();
  }
  [[nodiscard]] bool has(std::string_view name) { return find(name) != nullptr; }

  void refuse_others() const {
    for (const auto& member : object_) {
      const std::string_view key(member.key().data(), member.key().size());
      if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) {
        throw RequestError(fmt::format("\"{}\" does not apply to this command", key));
      }
    }
  }

private:
  const json::value* find(std::string_view name) {
    asked_.push_back(name);
    return object_.if_contains(json::string_view(name.data(), name.size()));
  }

  const json::object& object_;
  std::vector<std::string_view> asked_;
};

constexpr std::array<std::string_view, 7> commands = {"show",   "trace",   "capture", "explain",
                                                      "impair", "version", "reload"};
constexpr std::array<std::string_view, 3> impair_actions = {"show", "set", "clear"};
constexpr std::array<std::string_view, 8> show_kinds = {
    "ports", "queues", "trees", "engines", "counters", "workers", "manager", "neighbours"};
constexpr std::array<std::string_view, 4> trace_actions = {"on", "off", "all", "dump"};
constexpr std::array<std::string_view, 2> directions = {"received", "sent"};

Request show_request(Members& members) {
  ShowRequest request;
  request.what = static_cast<ShowRequest::What>(members.choice("what", show_kinds));
  request.switch_name = members.text("switch");
  if (request.what == ShowRequest::What::queues) {
    request.port = members.text("port");
  }
  return request;
}

std::optional<TreeNumber> tree_of(Members& members) {
  const auto tree = members.number("tree", max_trees - 1);
  return tree ? std::optional(TreeNumber{static_cast<std::uint16_t>(*tree)}) : std::nullopt;
}

Request trace_request(Members& members) {
  constexpr std::size_t most_workers = 256;
  TraceRequest request;
  request.action = static_cast<TraceRequest::Do>(members.choice("action", trace_actions));
  if (request.action == TraceRequest::Do::dump) {
    request.switch_name = members.text("switch");
    request.port = members.text("port");
    request.tree = tree_of(members);
    request.drops = members.flag("drops");
    if (members.is_text("from", "end")) {
      request.from_end = true;
    } else {
      request.from = members.numbers("from", most_workers);
    }
  }
  return request;
}

Request capture_request(Members& members) {
  CaptureRequest request;
  request.selection.switch_name = members.text("switch");
  request.selection.port = members.text("port");
  if (!request.selection.port.empty() && request.selection.switch_name.empty()) {
    throw RequestError("\"port\" needs \"switch\": port names are unique in one switch only");
  }
  request.selection.tree = tree_of(members);
  if (members.has("kind")) {
    request.selection.kind =
        static_cast<wire::FrameKind>(members.choice("kind", wire::frame_kinds));
  }
  if (const auto vni = members.number("vni", std::numeric_limits<std::uint16_t>::max())) {
    request.selection.vni = Vni{static_cast<std::uint16_t>(*vni)};
  }
  if (const auto cookie = members.number("cookie", std::numeric_limits<std::uint32_t>::max())) {
    request.selection.cookie = Cookie{static_cast<std::uint32_t>(*cookie)};
  }
  request.selection.drops = members.flag("drops");
  if (members.has("direction")) {
    request.selection.received = members.choice("direction", directions) == 0;
  }
  request.count = members.number("count", ~std::uint64_t{0});
  return request;
}

Request explain_request(Members& members) {
  ExplainRequest request;
  request.switch_name = members.required_text("switch");
  request.port = members.required_text("port");
  std::string problem;
  request.frame = parse_hex(members.required_text("frame"), problem);
  if (!problem.empty()) {
    throw RequestError(fmt::format("\"frame\" is not a frame in hex: {}", problem));
  }
  if (request.frame.size() > max_explained_bytes) {
    throw RequestError(fmt::format("\"frame\" has {} bytes; at most {} are taken",
                                   request.frame.size(), max_explained_bytes));
  }
  return request;
}

Request impair_request(Members& members) {
  ImpairRequest request;
  request.action = static_cast<ImpairRequest::Do>(members.choice("action", impair_actions));
  request.selection.switch_name = members.text("switch");
  request.selection.port = members.text("port");
  if (members.has("direction")) {
    request.selection.direction = static_cast<impairment::Direction>(
        members.choice("direction", impairment::direction_names));
  }
  if (request.action == ImpairRequest::Do::set) {
    if (request.selection.port.empty()) {
      throw RequestError("\"port\" is missing: name the port to impair");
    }
    request.settings = settings_as_toml(members.required_object("settings"));
  }
  return request;
}

json::value result_of(const ShowRequest& r, Inspector& inspector) {
  switch (r.what) {
  case ShowRequest::What::ports: return to_json(inspector.ports(r.switch_name));
  case ShowRequest::What::queues: return to_json(inspector.queues(r.switch_name, r.port));
  case ShowRequest::What::trees: return to_json(inspector.trees(r.switch_name));
  case ShowRequest::What::engines: return to_json(inspector.engines(r.switch_name));
  case ShowRequest::What::workers: return to_json(inspector.workers());
  case ShowRequest::What::manager: return to_json(inspector.managers(r.switch_name));
  case ShowRequest::What::neighbours: return to_json(inspector.neighbours(r.switch_name));
  case ShowRequest::What::counters: break;
  }
  return flat_counters(inspector.ports(r.switch_name), inspector.queues(r.switch_name, {}),
                       inspector.trees(r.switch_name), inspector.engines(r.switch_name),
                       inspector.workers(), inspector.impairments({r.switch_name, {}, {}}));
}
json::value result_of(const ImpairRequest& r, Inspector& inspector) {
  switch (r.action) {
  case ImpairRequest::Do::set: return to_json(inspector.impair(r.selection, r.settings));
  case ImpairRequest::Do::clear: return to_json(inspector.clear_impairments(r.selection));
  case ImpairRequest::Do::show: break;
  }
  return to_json(inspector.impairments(r.selection));
}
bool wants(const TraceRequest& r, const TraceReport& event) {
  return (r.switch_name.empty() || event.switch_name == r.switch_name) &&
         (r.port.empty() || event.port == r.port) &&
         (!r.tree || (event.reduction && event.reduction->tree == *r.tree)) &&
         (!r.drops || event.action == core::Action::drop);
}
json::value dumped(const TraceRequest& r, Inspector& inspector) {
  std::vector<TraceReport> events = inspector.trace();
  if (!r.from && !r.from_end) {
    std::erase_if(events, [&](const TraceReport& event) { return !wants(r, event); });
    return to_json(events);
  }
  const std::vector<std::uint64_t> from = r.from.value_or(std::vector<std::uint64_t>{});
  std::vector<std::uint64_t> next = from;
  std::vector<bool> looked_at(next.size());
  std::vector<TraceReport> fresh;
  std::uint64_t lost = 0;
  for (TraceReport& event : events) {
    const std::size_t w = event.worker;
    if (w >= next.size()) {
      next.resize(w + 1);
      looked_at.resize(w + 1);
    }
    const std::uint64_t wanted = r.from_end ? event.number + 1 : w < from.size() ? from[w] : 0;
    if (!looked_at[w]) {
      // The worker's oldest event: wanted events before it are gone.
      looked_at[w] = true;
      lost += wanted < event.oldest && wanted < event.number ? event.number - wanted : 0;
    }
    next[w] = std::max(next[w], event.number + 1);
    if (event.number >= wanted && wants(r, event)) {
      fresh.push_back(std::move(event));
    }
  }
  return json::object{{"events", to_json(fresh)}, {"next", json::value_from(next)}, {"lost", lost}};
}
json::value result_of(const TraceRequest& r, Inspector& inspector) {
  if (r.action == TraceRequest::Do::dump) {
    return dumped(r, inspector);
  }
  inspector.set_tracing(r.action == TraceRequest::Do::off   ? core::Tracing::off
                        : r.action == TraceRequest::Do::all ? core::Tracing::everything
                                                            : core::Tracing::notable);
  const core::Tracing now = inspector.tracing();
  return json::object{{"tracing", now != core::Tracing::off},
                      {"all", now == core::Tracing::everything}};
}
json::value result_of(const CaptureRequest&, Inspector&) {
  throw RequestError("a capture takes the connection and is not answered here");
}
json::value result_of(const ExplainRequest& r, Inspector& inspector) {
  return to_json(inspector.explain(r.switch_name, r.port, r.frame));
}
json::value result_of(const VersionRequest&, Inspector& inspector) {
  return to_json(inspector.version());
}
json::value result_of(const ReloadRequest&, Inspector& inspector) {
  return to_json(inspector.reload());
}

} // namespace

Request parse_request(std::string_view line) {
  json::error_code error;
  const json::value value = json::parse(json::string_view(line.data(), line.size()), error);
  if (error) {
    throw RequestError(fmt::format("the request is not JSON: {}", error.message()));
  }
  if (!value.is_object()) {
    throw RequestError("the request is not a JSON object");
  }
  Members members(value.get_object());
  Request request;
  switch (members.choice("command", commands)) {
  case 0: request = show_request(members); break;
  case 1: request = trace_request(members); break;
  case 2: request = capture_request(members); break;
  case 3: request = explain_request(members); break;
  case 4: request = impair_request(members); break;
  case 5: request = VersionRequest{}; break;
  default: request = ReloadRequest{}; break;
  }
  members.refuse_others();
  return request;
}

std::string acceptance(const json::value& result) {
  return json::serialize(json::object{{"ok", true}, {"result", result}}) + '\n';
}

std::string refusal(std::string_view error) {
  return json::serialize(json::object{{"ok", false},
                                      {"error", json::string_view(error.data(), error.size())}}) +
         '\n';
}

std::string answer(const Request& request, Inspector& inspector) {
  try {
    return acceptance(std::visit([&](const auto& r) { return result_of(r, inspector); }, request));
  } catch (const std::exception& e) {
    return refusal(e.what());
  }
}

} // namespace tributary::management
