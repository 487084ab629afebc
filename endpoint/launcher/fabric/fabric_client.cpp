#include "endpoint/launcher/fabric/fabric_client.hpp"

#include "endpoint/launcher/fabric/interfaces.hpp"
#include "endpoint/manager_client/manager_error.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace tributary::launch::fabric {

namespace json = boost::json;
using manager_client::Answer;
using manager_client::ManagerClient;
using manager_client::ManagerError;

namespace {

/// How long to wait for a manager that restarts.
constexpr std::chrono::seconds restart_limit{10};
/// How long the manager keeps a new job when its launcher is silent.
constexpr std::uint32_t lease_seconds = 60;
/// With more nodes than this the allocation request carries interfaces only: its size is limited.
constexpr std::size_t most_with_inventory = 256;

/// How long calls ask a manager that is away, in this scope and after it.
class RetryLimit {
public:
  RetryLimit(ManagerClient& client, std::chrono::milliseconds now, std::chrono::milliseconds after)
      : client_(client), after_(after) {
    client_.set_retry_limit(now);
  }
  ~RetryLimit() { client_.set_retry_limit(after_); }
  RetryLimit(const RetryLimit&) = delete;
  RetryLimit& operator=(const RetryLimit&) = delete;

private:
  ManagerClient& client_;
  std::chrono::milliseconds after_;
};

messages::Value environment(std::string name, std::string text) {
  messages::Value value;
  value.set_name(std::move(name));
  value.set_use(messages::Value::ENVIRONMENT);
  value.set_text(std::move(text));
  return value;
}

std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2) {
    unsigned char byte = 0;
    std::from_chars(hex.data() + at, hex.data() + at + 2, byte, 16);
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

/// One value of the blob; nullopt for a use or a type that a later manager may have.
std::optional<messages::Value> value_in(const json::object& one) {
  messages::Value value;
  value.set_name(std::string(one.at("name").as_string()));
  const json::string& use = one.at("use").as_string();
  if (use == "job") {
    value.set_use(messages::Value::JOB);
  } else if (use == "local_resource") {
    value.set_use(messages::Value::LOCAL_RESOURCE);
  } else if (use == "environment") {
    value.set_use(messages::Value::ENVIRONMENT);
  } else {
    return std::nullopt;
  }
  if (const json::value* const text = one.if_contains("text")) {
    value.set_text(std::string(text->as_string()));
  } else if (const json::value* const number = one.if_contains("number")) {
    value.set_number(number->to_number<std::uint32_t>());
  } else if (const json::value* const hex = one.if_contains("hex")) {
    value.set_data(bytes_of(hex->as_string()));
  } else if (const json::value* const reals = one.if_contains("reals")) {
    value.mutable_reals(); // an empty list is a value, too
    for (const json::value& real : reals->as_array()) {
      value.mutable_reals()->add_values(real.to_number<double>());
    }
  } else if (const json::value* const numbers = one.if_contains("numbers")) {
    value.mutable_numbers();
    for (const json::value& each : numbers->as_array()) {
      value.mutable_numbers()->add_values(each.to_number<std::uint32_t>());
    }
  } else {
    return std::nullopt;
  }
  return value;
}

json::object inventory_of(const messages::Hello& hello, bool whole) {
  json::object inventory{{"interfaces", interfaces_of(hello)}};
  if (whole) {
    const messages::Machine& machine = hello.machine();
    inventory["host"] = hello.host();
    inventory["packages"] = machine.packages();
    inventory["cores"] = machine.cores();
    inventory["processors"] = machine.processors();
    inventory["memory_nodes"] = machine.memory_nodes();
    inventory["memory_bytes"] = machine.memory_bytes();
    inventory["processor"] = machine.processor();
    inventory["devices"] = json::array(machine.devices().begin(), machine.devices().end());
  }
  return inventory;
}

messages::Node node_in(const json::object& one) {
  messages::Node node;
  for (const json::value& each : one.at("values").as_array()) {
    auto value = value_in(each.as_object());
    if (!value) {
      continue;
    }
    if (value->name() == "fm.interface") {
      node.set_interface(value->text());
    } else if (value->name() == "fm.address") {
      node.set_fabric_address(value->text());
    }
    *node.add_values() = *std::move(value);
  }
  for (const json::value& rank : one.at("ranks").as_array()) {
    const json::value* const end_point = rank.as_object().if_contains("end_point");
    node.add_end_points(end_point == nullptr ? std::string() : std::string(end_point->as_string()));
  }
  return node;
}

/// Without the values that only this end knows. Throws ManagerError for any other answer.
Allocation allocation_in(const json::value& answer) {
  try {
    const json::object& body = answer.as_object();
    Allocation allocation;
    allocation.job = body.at("job").as_string();
    allocation.token = body.at("token").as_string();
    allocation.events_after = body.at("events_after").to_number<std::uint64_t>();
    for (const json::value& each : body.at("values").as_array()) {
      if (auto value = value_in(each.as_object())) {
        allocation.values.push_back(*std::move(value));
      }
    }
    for (const json::value& each : body.at("nodes").as_array()) {
      allocation.nodes.push_back(node_in(each.as_object()));
    }
    for (const json::value& note : body.at("notes").as_array()) {
      allocation.notes.emplace_back(note.as_string());
    }
    return allocation;
  } catch (const std::exception& wrong) { // Boost.JSON's are "not a string" and the like
    throw ManagerError(
        ManagerError::Kind::garbled,
        fmt::format("the fabric manager's answer to a request for an allocation is "
                    "not one that tributary-run can parse ({}); install the same version "
                    "as the manager's",
                    wrong.what()));
  }
}

} // namespace

FabricClient::FabricClient(FabricSettings settings)
    : settings_(std::move(settings)), manager_(settings_.manager) {}

void FabricClient::cancel() { manager_.cancel(); }

Allocation FabricClient::allocate(const std::vector<NodeFacts>& nodes,
                                  std::chrono::milliseconds ask_for) {
  const bool is_new = settings_.job.empty();
  json::object request{{"job", is_new ? settings_.new_job : settings_.job},
                       {"exists", !is_new},
                       {"interface", settings_.interface}};
  if (is_new) {
    request["mcast_limit"] = settings_.multicast_limit;
    request["lease_seconds"] = lease_seconds;
  }
  json::array list;
  for (const NodeFacts& facts : nodes) {
    list.push_back({{"name", facts.name},
                    {"ranks", json::array(facts.ranks.begin(), facts.ranks.end())},
                    {"inventory", inventory_of(facts.hello, nodes.size() <= most_with_inventory)}});
  }
  request["nodes"] = std::move(list);
  const Answer answer = [&] {
    const RetryLimit limit(manager_, ask_for, {});
    return manager_.post("/api/v1/allocations", request);
  }();
  manager_client::throw_unless_done(answer,
                                    fmt::format("asking for the allocation of job {}",
                                                std::string_view(request.at("job").as_string())));
  made_ = is_new;
  Allocation allocation = allocation_in(answer.body);
  // Added at this end: how the manager is reached.
  allocation.values.push_back(environment("TRIBUTARY_FABRIC_MANAGER_URL",
                                          manager_client::text_of(settings_.manager.addresses)));
  if (!settings_.manager.certificate_authority.empty()) {
    allocation.values.push_back(environment("TRIBUTARY_FABRIC_MANAGER_CACERT",
                                            settings_.manager.certificate_authority == "off"
                                                ? "no"
                                                : settings_.manager.certificate_authority));
  }
  // An administrator who names a job acts for it from here on.
  manager_client::ClientSettings own = settings_.manager;
  own.token = allocation.token;
  own.retry_limit = restart_limit;
  as_job_.emplace(own);
  return allocation;
}

void FabricClient::report(const std::string& node, const messages::Hello& hello) {
  if (as_job_) {
    manager_client::throw_unless_done(
        as_job_->put("/api/v1/nodes/" + manager_client::encoded(node), inventory_of(hello, true)),
        fmt::format("reporting what {} has", node));
  }
}

void FabricClient::renew() {
  if (!made_) {
    return;
  }
  const RetryLimit once(*as_job_, {}, restart_limit); // the caller asks again
  const Answer answer = as_job_->put(
      fmt::format("/api/v1/allocations/{}/lease", manager_client::encoded(settings_.new_job)));
  manager_client::throw_unless_done(answer, "renewing the lease of its allocation");
}

std::optional<std::chrono::seconds> FabricClient::renewed_every() const {
  // Three renewals may be lost.
  return made_ ? std::optional(std::chrono::seconds(lease_seconds / 4)) : std::nullopt;
}

Reply FabricClient::request(const Request& request) {
  if (!as_job_) {
    throw std::invalid_argument("the job has no allocation");
  }
  if (!request.path.starts_with('/') || request.path.find_first_of(" \r\n") != std::string::npos) {
    throw std::invalid_argument(
        fmt::format("'{}' is not a path of the manager's API", request.path));
  }
  const json::value body = request.body.empty() ? json::value() : json::parse(request.body);
  Answer answer;
  if (request.method == "GET") {
    answer = as_job_->get(request.path);
  } else if (request.method == "POST") {
    answer = as_job_->post(request.path, body);
  } else if (request.method == "PUT") {
    answer = as_job_->put(request.path, body);
  } else if (request.method == "PATCH") {
    answer = as_job_->patch(request.path, body);
  } else if (request.method == "DELETE") {
    answer = as_job_->del(request.path);
  } else {
    throw std::invalid_argument(fmt::format(
        "'{}' is not a method; there are GET, POST, PUT, PATCH and DELETE", request.method));
  }
  return {answer.status, json::serialize(answer.body)};
}

void FabricClient::release() {
  if (!std::exchange(made_, false)) {
    return;
  }
  const Answer answer = manager_.del(
      fmt::format("/fabric/collectives/jobs/{}", manager_client::encoded(settings_.new_job)));
  manager_client::throw_unless_done(answer, fmt::format("deleting job {}", settings_.new_job));
}

} // namespace tributary::launch::fabric
