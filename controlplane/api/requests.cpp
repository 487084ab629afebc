#include "controlplane/api/requests.hpp"

#include "controlplane/api/json_body.hpp"
#include "controlplane/api/request_error.hpp"
#include "controlplane/api/slingshot.hpp"
#include "tributary/event_codes.hpp"
#include "tributary/leader.hpp"
#include "tributary/text.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <limits>

namespace tributary::api {
namespace {

namespace json = boost::json;

constexpr std::uint64_t max_event_number = std::numeric_limits<std::int64_t>::max();

std::string shown_text(std::string_view text) {
  return is_printable(text) ? shown(json::value(json::string(text.data(), text.size())))
                            : "something that is not text";
}

/// A decimal number from a path, query or header.
std::uint64_t number_of(std::string_view what, std::string_view text, std::uint64_t most) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || after != end || value > most) {
    throw RequestError(
        fmt::format("{} must be an integer from 0 to {}, not {}", what, most, shown_text(text)));
  }
  return value;
}

Nid nid_of(const std::string& what, const json::value& value) {
  const auto nid =
      value.is_string()
          ? parse_mac(std::string_view(value.get_string().data(), value.get_string().size()))
          : std::nullopt;
  if (!nid) {
    throw RequestError(fmt::format("{} must be the MAC address of a host, as in \"0:12:34\" or "
                                   "\"02:00:00:00:12:34\" (20 bits, not all of the upper nine "
                                   "set), not {}",
                                   what, shown(value)));
  }
  return *nid;
}

constexpr auto max_vni = std::numeric_limits<decltype(Vni::value)>::max();

Vni vni_of(const std::string& what, const json::value& value) {
  json::error_code error;
  const auto number = value.to_number<std::uint64_t>(error);
  if (error || number > max_vni) {
    throw RequestError(
        fmt::format("{} must be an integer from 0 to {}, not {}", what, max_vni, shown(value)));
  }
  return Vni{static_cast<std::uint16_t>(number)};
}

/// Nothing when the field is missing.
template <typename T>
std::optional<std::vector<T>> bounded_list(const Fields& fields, std::string_view name,
                                           std::size_t most,
                                           T (*read)(const std::string&, const json::value&)) {
  const json::array* const values = fields.list(name);
  if (values == nullptr) {
    return std::nullopt;
  }
  if (values->empty() || values->size() > most) {
    throw RequestError(fmt::format("\"{}\" must have 1 to {} entries, not {}; leave it out where "
                                   "the job may use any",
                                   name, most, values->size()));
  }
  std::vector<T> list;
  list.reserve(values->size());
  for (const json::value& value : *values) {
    list.push_back(read(fmt::format("\"{}\"[{}]", name, list.size()), value));
  }
  return list;
}

/// "slots" and "payload": the wide frames that a host, or a group, takes; `otherwise` for missing
/// fields. Payloads are reduced to what trees support: a host reports what its interface carries.
group::WideFrames wide_frames_of(const Fields& fields, const group::WideFrames& otherwise) {
  using group::WideFrames;
  const auto slots = fields.number("slots", WideFrames::least_slots, WideFrames::most_slots);
  if (slots && !std::has_single_bit(*slots)) {
    throw RequestError(fmt::format("\"slots\" must be 8, 16, 32, 64 or 128, not {}", *slots));
  }
  constexpr std::uint64_t longest_packet = 1U << 20U;
  const auto payload = fields.number("payload", WideFrames::narrow_payload, longest_packet);
  WideFrames frames = otherwise;
  frames.payload = payload ? records::payload_within(*payload) : otherwise.payload;
  frames.slots = slots ? static_cast<std::uint32_t>(*slots) : otherwise.slots;
  return frames;
}

/// All fields but the name, which is in the path or the body.
GroupRequest group_fields(const Fields& fields) {
  GroupRequest request;
  request.job = fields.name("job").value_or("");
  request.step = fields.name("jobStepID").value_or("");
  request.size = static_cast<std::uint32_t>(fields.required_number("size", 1, max_contributions));
  request.trees = static_cast<std::uint32_t>(fields.number("trees", 1, 2).value_or(1));
  if (const auto root = fields.number("root_rank", 0, request.size - 1)) {
    request.root_rank = static_cast<std::uint32_t>(*root);
  }
  request.in_switch_results = fields.flag_if_there("in_switch_results");
  return request;
}

} // namespace

JobRequest job_request(const json::object& body) {
  const Fields fields(body);
  JobRequest request;
  request.job = fields.required_name("jobID");
  if (const auto limit = fields.number("mcastLimit", 0, max_trees)) {
    request.multicast_limit = static_cast<std::uint32_t>(*limit);
  }
  request.hosts = bounded_list<Nid>(fields, "hosts", max_contributions, nid_of);
  request.vnis = bounded_list<Vni>(fields, "vnis", max_vni, vni_of);
  request.assign_vni = fields.flag("assignVni");
  return request;
}

JobName job_name(const std::string& job) {
  check_name("the job in the path", job);
  return {job};
}

GroupName group_name(const std::string& job, const std::string& name) {
  check_name("the job in the path", job);
  check_name("the group in the path", name);
  return {job, name};
}

NodesRequest node_named(const std::string& name) {
  check_name("the node in the path", name);
  return {.id = name};
}

JobPatch job_patch(const std::string& job, const json::object& body) {
  check_name("the job in the path", job);
  JobPatch patch;
  patch.job = job;
  const Fields fields(body);
  if (const auto limit = fields.number("mcastLimit", 0, max_trees)) {
    patch.multicast_limit = static_cast<std::uint32_t>(*limit);
  }
  const bool steps = fields.has("jobSteps") || !patch.multicast_limit;
  static const json::object no_steps;
  for (const auto& step : steps ? fields.required_object("jobSteps") : no_steps) {
    const std::string name(step.key().data(), step.key().size());
    check_name("the name of a step in \"jobSteps\"", name);
    if (!step.value().is_null()) {
      throw RequestError(fmt::format("step \"{}\" in \"jobSteps\" must be null, which ends it; "
                                     "nothing else can be changed",
                                     name));
    }
    patch.ended_steps.push_back(name);
  }
  return patch;
}

MulticastRequest multicast_request(const json::object& body) {
  const Fields fields(body);
  MulticastRequest request;
  const json::array& macs = fields.required_list("macs");
  if (macs.empty() || macs.size() > max_contributions) {
    throw RequestError(
        fmt::format("\"macs\" must have 1 to {} members, not {}", max_contributions, macs.size()));
  }
  request.macs.reserve(macs.size());
  for (const json::value& mac : macs) {
    request.macs.push_back(nid_of(fmt::format("\"macs\"[{}]", request.macs.size()), mac));
  }
  request.vni = Vni{static_cast<std::uint16_t>(fields.required_number("vni", 0, max_vni))};
  constexpr auto most_us = static_cast<std::uint64_t>(max_collective_timeout.count());
  request.timeout = std::chrono::microseconds(fields.number("timeout", 0, most_us).value_or(0));
  request.job = fields.required_name("jobID");
  request.step = fields.required_name("jobStepID");
  return request;
}

GroupRequest group_request(const json::object& body) {
  const Fields fields(body);
  GroupRequest request = group_fields(fields);
  request.name = fields.required_name("name");
  request.frames = wide_frames_of(fields, group::any_frames);
  return request;
}

JoinRequest join_request(const std::string& group, const Target& target, const json::object& body) {
  check_name("the group's name in the path", group);
  const Fields fields(body);
  JoinRequest request;
  request.group = group_fields(fields);
  request.group.name = group;
  request.rank =
      static_cast<std::uint32_t>(fields.required_number("rank", 0, request.group.size - 1));
  request.nid = nid_of("\"mac\"", fields.required("mac"));
  request.host = fields.name("host").value_or("");
  request.takes = wide_frames_of(fields, {});
  if (const auto wait = target.parameter("wait")) {
    constexpr auto most_ms = static_cast<std::uint64_t>(max_join_wait.count());
    request.wait = std::chrono::milliseconds(number_of("wait, in milliseconds,", *wait, most_ms));
  }
  return request;
}

MemberRequest member_request(const std::string& job, const std::string& group,
                             const std::string& rank) {
  check_name("the job's name in the path", job);
  check_name("the group's name in the path", group);
  return {
      job, group,
      static_cast<std::uint32_t>(number_of("the rank in the path", rank, max_contributions - 1))};
}

namespace {

bool flag_of(const Target& target, std::string_view name) {
  const std::string_view value = target.parameter(name).value_or("false");
  if (value != "true" && value != "false") {
    throw RequestError(fmt::format("{} must be true or false, not {}", name, shown_text(value)));
  }
  return value == "true";
}

} // namespace

bool dry_run_of(const Target& target) { return flag_of(target, "dry_run"); }

PathRequest path_request(const Target& target) {
  PathRequest request;
  for (auto [field, name] : {std::pair{&request.from, "from"}, std::pair{&request.to, "to"}}) {
    const auto value = target.parameter(name);
    if (!value) {
      throw RequestError(
          fmt::format("a path needs two hosts: ?from=HOST&to=HOST; {} is missing", name));
    }
    check_name(name, std::string(*value));
    *field = *value;
  }
  return request;
}

AdoptRequest adopt_request(const json::object& body) {
  const std::string text = Fields(body).required_name("fabric");
  const auto fabric = parse_fabric(text);
  if (!fabric) {
    throw RequestError(fmt::format("\"fabric\" must be the {} hexadecimal digits of a fabric, as "
                                   "\"tributaryctl fabric show managers\" shows them, not {}",
                                   fabric_digits, shown_text(text)));
  }
  return {.fabric = *fabric};
}

FailoverRequest failover_request(const json::object& body) {
  return {.to = Fields(body).name("to").value_or("")};
}

DrainRequest drain_request(DrainRequest::Verb verb, const std::string& at, const Target& target) {
  check_name("the switch in the path", at);
  return {.verb = verb, .at = at, .force = flag_of(target, "force")};
}

std::size_t limit_of(const Target& target) { return view_request(View::topology, target).limit; }

namespace {

/// "link_down,congestion"
std::vector<std::string> environment_codes(std::string_view text) {
  std::vector<std::string> codes;
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), name.size() + 1));
    const EventCode* const code = find_event_code(name);
    if (code == nullptr || !code->of_environment) {
      std::string known;
      for (const EventCode& each : event_codes) {
        known += each.of_environment ? fmt::format("{}{}", known.empty() ? "" : ", ", each.name)
                                     : std::string();
      }
      throw RequestError(fmt::format("{} is not an event of the environment; these are: {}",
                                     shown_text(name), known));
    }
    codes.emplace_back(code->name);
  }
  return codes;
}

} // namespace

EventsRequest events_request(const Target& target, std::string_view last_event_id) {
  EventsRequest request;
  if (!last_event_id.empty()) {
    request.after = number_of("Last-Event-ID", last_event_id, max_event_number);
  }
  if (const auto after = target.parameter("after")) {
    request.after = number_of("after", *after, max_event_number);
  }
  const std::string_view follow = target.parameter("follow").value_or("true");
  if (follow != "true" && follow != "false") {
    throw RequestError(fmt::format("follow must be true or false, not {}", shown_text(follow)));
  }
  request.follow = follow == "true";
  const auto environment = target.parameter("environment");
  if (const auto job = target.parameter("job")) {
    check_name("job", std::string(*job));
    request.job = JobEvents{.job = std::string(*job)};
    if (environment) {
      request.job->environment = environment_codes(*environment);
    }
  } else if (environment) {
    throw RequestError("environment selects further events of a job: ?job=JOB is missing");
  }
  return request;
}

NodesRequest nodes_request(const Target& target) {
  const ViewRequest page = view_request(View::hosts, target);
  return {.limit = page.limit, .after = page.after};
}

ViewRequest view_request(View what, const Target& target) {
  ViewRequest request{.what = what};
  const auto name = [&](std::string& field, const char* parameter) {
    if (const auto value = target.parameter(parameter)) {
      check_name(parameter, std::string(*value));
      field = *value;
    }
  };
  name(request.at_switch, "switch");
  name(request.job, "job");
  name(request.group, "group");
  name(request.after, "after");
  if (const auto limit = target.parameter("limit")) {
    request.limit = number_of("limit", *limit, ViewRequest::most);
    if (request.limit == 0) {
      throw RequestError(fmt::format("limit must be 1 to {}, not 0", ViewRequest::most));
    }
  }
  return request;
}

TreeNumber tree_number(const std::string& text) {
  return TreeNumber{
      static_cast<std::uint16_t>(number_of("the mcastID in the path", text, max_trees - 1))};
}

} // namespace tributary::api
