#include "endpoint/agent/messages.hpp"

#include "tributary/text.hpp"
#include "tributary/wire/fabric_address.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace tributary::host_agent {

namespace {

namespace json = boost::json;

constexpr std::size_t most_depth = 8;
constexpr std::uint32_t most_receive_buffer = 1U << 30;
constexpr std::uint16_t lowest_ethertype = 0x0600;
constexpr std::uint64_t most_lifetime_s = 10ULL * 366 * 86'400;

[[noreturn]] void wrong(const std::string& message) {
  throw AgentError(Reason::bad_request, message);
}

json::value parse(std::string_view text) {
  json::parse_options options;
  options.max_depth = most_depth;
  json::error_code error;
  const json::value value = json::parse(text, error, {}, options);
  if (error) {
    wrong(fmt::format("not JSON: {}", error.message()));
  }
  return value;
}

/// The fields of an object, each checked as it is read.
class Fields {
public:
  Fields(const json::value& value, std::string_view what) {
    object_ = value.if_object();
    if (object_ == nullptr) {
      wrong(fmt::format("{} is not a JSON object", what));
    }
  }

  [[nodiscard]] const json::value* find(std::string_view field) const {
    const json::value* value = object_->if_contains(field);
    return value == nullptr || value->is_null() ? nullptr : value;
  }
  [[nodiscard]] const json::value& required(std::string_view field) const {
    const json::value* value = find(field);
    if (value == nullptr) {
      wrong(fmt::format("\"{}\" is missing", field));
    }
    return *value;
  }

  [[nodiscard]] std::optional<std::string> text(std::string_view field, std::size_t longest) const {
    const json::value* value = find(field);
    if (value == nullptr) {
      return std::nullopt;
    }
    const json::string* string = value->if_string();
    if (string == nullptr || string->size() > longest || !is_printable(*string)) {
      wrong(fmt::format("\"{}\" must be a text of at most {} bytes without control characters",
                        field, longest));
    }
    return std::string(*string);
  }
  [[nodiscard]] std::string text_or_empty(std::string_view field, std::size_t longest) const {
    return text(field, longest).value_or(std::string());
  }
  [[nodiscard]] std::optional<std::string> name(std::string_view field) const {
    auto name = text(field, longest_name);
    if (name && (name->empty() || is_dot_segment(*name))) {
      wrong(fmt::format("\"{}\" must be a name of 1 to {} bytes", field, longest_name));
    }
    return name;
  }
  [[nodiscard]] std::string required_name(std::string_view field) const {
    static_cast<void>(required(field));
    return *name(field);
  }
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view field, std::uint64_t least,
                                                    std::uint64_t most) const {
    const json::value* value = find(field);
    if (value == nullptr) {
      return std::nullopt;
    }
    json::error_code error;
    const auto number = value->to_number<std::uint64_t>(error);
    if (error || value->is_double() || number < least || number > most) {
      wrong(fmt::format("\"{}\" must be a number from {} to {}", field, least, most));
    }
    return number;
  }
  template <typename T>
  [[nodiscard]] T required_number(std::string_view field, std::uint64_t least = 0,
                                  std::uint64_t most = std::numeric_limits<T>::max()) const {
    static_cast<void>(required(field));
    return static_cast<T>(*number(field, least, most));
  }
  [[nodiscard]] bool flag(std::string_view field) const {
    const json::value* value = find(field);
    if (value == nullptr) {
      return false;
    }
    if (!value->is_bool()) {
      wrong(fmt::format("\"{}\" must be true or false", field));
    }
    return value->get_bool();
  }
  [[nodiscard]] std::optional<Vni> vni(std::string_view field) const {
    const auto value = number(field, 1, std::numeric_limits<std::uint16_t>::max());
    return value ? std::optional(Vni{static_cast<std::uint16_t>(*value)}) : std::nullopt;
  }
  [[nodiscard]] Vni required_vni(std::string_view field) const {
    static_cast<void>(required(field));
    return *vni(field);
  }
  /// Empty, or an absolute path that goes through no "." or "..".
  [[nodiscard]] std::string cgroup(std::string_view field) const {
    std::string path = text_or_empty(field, longest_path);
    const std::string within = path + '/';
    if (!path.empty() &&
        (path.front() != '/' || path.back() == '/' || within.find("/../") != std::string::npos ||
         within.find("/./") != std::string::npos || within.find("//") != std::string::npos)) {
      wrong(fmt::format("\"{}\" must be a cgroup's path, such as \"/system.slice/job_5\"", field));
    }
    return path;
  }

private:
  const json::object* object_ = nullptr;
};

ManagerAccess manager_of(const Fields& fields) {
  const json::value* value = fields.find("manager");
  if (value == nullptr) {
    return {};
  }
  const Fields manager(*value, "\"manager\"");
  return {.url = manager.text_or_empty("url", longest_path),
          .token = manager.text_or_empty("token", longest_token),
          .certificate_authority = manager.text_or_empty("certificate_authority", longest_path)};
}

json::object json_of(const ManagerAccess& manager) {
  json::object out;
  const auto put = [&](std::string_view field, const std::string& text) {
    if (!text.empty()) {
      out[field] = text;
    }
  };
  put("url", manager.url);
  put("token", manager.token);
  put("certificate_authority", manager.certificate_authority);
  return out;
}

void put(json::object& out, const ManagerAccess& manager) {
  if (json::object fields = json_of(manager); !fields.empty()) {
    out["manager"] = std::move(fields);
  }
}

OpenRequest open_request(const Fields& fields) {
  OpenRequest request;
  request.job = fields.name("job");
  request.vni = fields.vni("vni");
  request.interface = fields.text_or_empty("interface", longest_name);
  if (const auto type = fields.number("ethertype", lowest_ethertype, 0xFFFF)) {
    request.ethertype = static_cast<std::uint16_t>(*type);
  }
  if (const auto bytes = fields.number("receive_buffer_bytes", 0, most_receive_buffer)) {
    request.receive_buffer_bytes = static_cast<std::uint32_t>(*bytes);
  }
  return request;
}

AddJobRequest add_request(const Fields& fields) {
  AddJobRequest request;
  request.job = fields.required_name("job");
  request.vni = fields.required_vni("vni");
  if (const auto uid = fields.number("uid", 0, std::numeric_limits<std::uint32_t>::max() - 1)) {
    request.uid = static_cast<std::uint32_t>(*uid);
  }
  request.cgroup = fields.cgroup("cgroup");
  if (const auto seconds = fields.number("lifetime_s", 1, most_lifetime_s)) {
    request.lifetime_ns = *seconds * ns_per_second;
  }
  request.is_attached = fields.flag("attached");
  request.manager = manager_of(fields);
  return request;
}

std::string line(const json::object& object) { return json::serialize(object) + '\n'; }

std::string text_of(const wire::MacAddress& a) {
  return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", a[0], a[1], a[2], a[3], a[4],
                     a[5]);
}

wire::MacAddress address_of(const std::string& text) {
  constexpr std::string_view digits = "0123456789abcdef";
  wire::MacAddress address{};
  bool right = text.size() == 3 * address.size() - 1;
  for (std::size_t i = 0; right && i < address.size(); ++i) {
    const std::size_t high = digits.find(text[3 * i]);
    const std::size_t low = digits.find(text[3 * i + 1]);
    right = high != std::string_view::npos && low != std::string_view::npos &&
            (i + 1 == address.size() || text[3 * i + 2] == ':');
    address[i] = static_cast<std::uint8_t>((high << 4U | low) & 0xFFU);
  }
  if (!right) {
    wrong("\"address\" must be a MAC address, such as \"02:00:00:00:00:01\"");
  }
  return address;
}

json::object stored(const Job& job) {
  json::object out{{"job", job.id},          {"vni", job.vni.value}, {"uid", job.uid},
                   {"told_by", job.told_by}, {"own", job.is_own},    {"attached", job.is_attached},
                   {"mark", job.mark.value}, {"cgroup", job.cgroup}};
  if (job.until != never) {
    out["until_ns"] = job.until.value;
  }
  put(out, job.manager);
  return out;
}

Job job_of(const json::value& value) {
  const Fields fields(value, "a job");
  Job job;
  job.id = fields.required_name("job");
  job.vni = fields.required_vni("vni");
  job.uid = fields.required_number<std::uint32_t>("uid");
  job.told_by = fields.required_number<std::uint32_t>("told_by");
  job.is_own = fields.flag("own");
  job.is_attached = fields.flag("attached");
  job.mark = Mark{fields.required_number<std::uint32_t>("mark")};
  job.cgroup = fields.cgroup("cgroup");
  job.until = TimeNs{fields.number("until_ns", 0, never.value).value_or(never.value)};
  job.manager = manager_of(fields);
  return job;
}

/// 0 where it is missing: an agent that gave out none.
std::uint16_t end_point_of(const Fields& fields, std::string_view field) {
  return static_cast<std::uint16_t>(fields.number(field, 0, end_points_per_host - 1U).value_or(0));
}

Socket socket_of(const json::value& value) {
  const Fields fields(value, "a socket");
  return {.inode = fields.required_number<std::uint64_t>("inode"),
          .uid = fields.required_number<std::uint32_t>("uid"),
          .mark = Mark{fields.required_number<std::uint32_t>("mark")},
          .vni = fields.required_vni("vni"),
          .end_point = end_point_of(fields, "end_point")};
}

template <typename T, typename Read>
std::vector<T> list_of(const Fields& fields, std::string_view field, const Read& read) {
  const json::array* list = fields.required(field).if_array();
  if (list == nullptr) {
    wrong(fmt::format("\"{}\" must be a list", field));
  }
  std::vector<T> all;
  for (const json::value& each : *list) {
    all.push_back(read(each));
  }
  return all;
}

} // namespace

Request parse_request(std::string_view text) {
  const json::value value = parse(text);
  const Fields fields(value, "the request");
  const std::string what = fields.required_name("request");
  if (what == "open") {
    return open_request(fields);
  }
  if (what == "add_job") {
    return add_request(fields);
  }
  if (what == "end_job") {
    return EndJobRequest{.job = fields.required_name("job")};
  }
  if (what == "show") {
    return ShowRequest{};
  }
  if (what == "node") {
    return NodeRequest{};
  }
  wrong(
      fmt::format("unknown request \"{}\"; there are open, add_job, end_job, node and show", what));
}

std::string line_of(const OpenRequest& request) {
  json::object out{{"request", "open"}};
  if (request.job) {
    out["job"] = *request.job;
  }
  if (request.vni) {
    out["vni"] = request.vni->value;
  }
  if (!request.interface.empty()) {
    out["interface"] = request.interface;
  }
  if (request.ethertype) {
    out["ethertype"] = *request.ethertype;
  }
  if (request.receive_buffer_bytes) {
    out["receive_buffer_bytes"] = *request.receive_buffer_bytes;
  }
  return line(out);
}

std::string line_of(const AddJobRequest& request) {
  json::object out{{"request", "add_job"}, {"job", request.job}, {"vni", request.vni.value}};
  if (request.uid) {
    out["uid"] = *request.uid;
  }
  if (!request.cgroup.empty()) {
    out["cgroup"] = request.cgroup;
  }
  if (request.lifetime_ns) {
    out["lifetime_s"] = *request.lifetime_ns / ns_per_second;
  }
  if (request.is_attached) {
    out["attached"] = true;
  }
  put(out, request.manager);
  return line(out);
}

std::string line_of(const EndJobRequest& request) {
  return line({{"request", "end_job"}, {"job", request.job}});
}

std::string line_of(const ShowRequest&) { return line({{"request", "show"}}); }

std::string line_of(const NodeRequest&) { return line({{"request", "node"}}); }

std::string acceptance(const json::object& result) {
  return line({{"ok", true}, {"result", result}});
}

std::string refusal(const AgentError& error) {
  return line(
      {{"ok", false}, {"reason", std::string(name_of(error.reason()))}, {"error", error.what()}});
}

json::object json_of(const Opened& opened) {
  json::object out{{"job", opened.job},
                   {"vni", opened.vni.value},
                   {"mark", opened.mark.value},
                   {"nid", opened.nid.value},
                   {"end_point", opened.end_point},
                   {"host", opened.host},
                   {"interface", opened.interface},
                   {"ethertype", opened.ethertype},
                   {"address", text_of(opened.address)},
                   {"mtu", opened.mtu}};
  put(out, opened.manager);
  return out;
}

json::value result_of(std::string_view text) {
  const json::value value = parse(text);
  const Fields fields(value, "the answer");
  if (fields.required("ok").is_bool() && fields.required("ok").get_bool()) {
    return fields.required("result");
  }
  const std::string reason = fields.text_or_empty("reason", longest_name);
  const std::string error =
      fields.text("error", longest_line).value_or("the host agent refused, and did not say why");
  for (std::size_t i = 0; i < reason_count; ++i) {
    if (name_of(static_cast<Reason>(i)) == reason) {
      throw AgentError(static_cast<Reason>(i), error);
    }
  }
  throw AgentError(Reason::unavailable, error);
}

Opened opened_of(const json::value& result) {
  const Fields fields(result, "the result");
  Opened opened;
  opened.job = fields.required_name("job");
  opened.vni = fields.required_vni("vni");
  opened.mark = Mark{fields.required_number<std::uint32_t>("mark")};
  opened.nid = Nid{fields.required_number<std::uint32_t>("nid", 0, max_nid)};
  if (!wire::is_valid_nid(opened.nid)) {
    wrong("\"nid\" is not one that a frame can carry");
  }
  opened.end_point = end_point_of(fields, "end_point");
  opened.host = fields.required_name("host");
  opened.interface = fields.required_name("interface");
  opened.ethertype = fields.required_number<std::uint16_t>("ethertype", lowest_ethertype);
  opened.address = address_of(fields.required_name("address"));
  opened.mtu = fields.required_number<std::uint32_t>("mtu");
  opened.manager = manager_of(fields);
  return opened;
}

json::object json_of(const Job& job, std::size_t sockets, TimeNs now) {
  json::object out{{"job", job.id},       {"vni", job.vni.value},
                   {"uid", job.uid},      {"told_by", job.told_by},
                   {"own", job.is_own},   {"attached", job.is_attached},
                   {"sockets", sockets},  {"mark", fmt::format("{:#010x}", job.mark.value)},
                   {"cgroup", job.cgroup}};
  if (job.until == never) {
    out["ends_in_s"] = nullptr;
  } else {
    out["ends_in_s"] = elapsed_ns(job.until, now) / ns_per_second;
  }
  return out;
}

std::string text_of(const Record& record) {
  json::array jobs;
  for (const Job& job : record.jobs) {
    jobs.push_back(stored(job));
  }
  json::array sockets;
  for (const Socket& socket : record.sockets) {
    sockets.push_back({{"inode", socket.inode},
                       {"uid", socket.uid},
                       {"mark", socket.mark.value},
                       {"vni", socket.vni.value},
                       {"end_point", socket.end_point}});
  }
  return line({{"highest_mark", record.highest_mark},
               {"last_end_point", record.last_end_point},
               {"jobs", jobs},
               {"sockets", sockets}});
}

Record record_of(std::string_view text) {
  const json::value value = parse(text);
  const Fields fields(value, "the record");
  Record record;
  record.highest_mark = fields.required_number<std::uint32_t>("highest_mark");
  record.last_end_point = end_point_of(fields, "last_end_point");
  record.jobs = list_of<Job>(fields, "jobs", job_of);
  record.sockets = list_of<Socket>(fields, "sockets", socket_of);
  return record;
}

} // namespace tributary::host_agent
