#include "launcher/fabric/fabric_client.hpp"

#include "endpoint/manager/manager_error.hpp"
#include "launcher/fabric/fabric_interface.hpp"
#include "launcher/fabric/route_times.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <utility>

namespace tributary::launch::fabric {

namespace json = boost::json;
using manager_client::Answer;
using manager_client::ManagerClient;
using manager_client::ManagerError;

namespace {

constexpr std::size_t cookie_bytes = 16;
/// A manager that restarts is waited for.
constexpr std::chrono::seconds restart_limit{10};

messages::Value named(std::string name, messages::Value::Use use) {
  messages::Value value;
  value.set_name(std::move(name));
  value.set_use(use);
  return value;
}

messages::Value text_value(std::string name, messages::Value::Use use, std::string text) {
  messages::Value value = named(std::move(name), use);
  value.set_text(std::move(text));
  return value;
}

messages::Value number_value(std::string name, std::uint32_t number) {
  messages::Value value = named(std::move(name), messages::Value::JOB);
  value.set_number(number);
  return value;
}

std::string random_cookie() {
  std::random_device device;
  std::string cookie;
  while (cookie.size() < cookie_bytes) {
    const unsigned int drawn = device();
    cookie.append(reinterpret_cast<const char*>(&drawn), sizeof(drawn));
  }
  return cookie;
}

/// Of a job's groups; null when it has none yet.
json::value vni_of(const json::object& job) {
  const json::value* const own = job.if_contains("vni");
  if (own != nullptr && own->is_number()) {
    return *own;
  }
  const json::value* const bounds = job.if_contains("vnis");
  return bounds != nullptr && bounds->is_array() && !bounds->as_array().empty()
             ? bounds->as_array().front()
             : json::value();
}

/// All pages of a list.
json::array list(ManagerClient& manager, const std::string& what) {
  json::array all;
  std::string path = "/api/v1/" + what;
  while (true) {
    const Answer answer = manager.get(path);
    manager_client::throw_unless_done(answer, fmt::format("listing the fabric's {}", what));
    const json::object& page = answer.body.as_object();
    for (const json::value& each : page.at(what).as_array()) {
      all.push_back(each);
    }
    const json::value* const next = page.if_contains("next");
    if (next == nullptr) {
      return all;
    }
    const std::string after =
        next->is_string() ? std::string(next->as_string()) : json::serialize(*next);
    path = fmt::format("/api/v1/{}?after={}", what, manager_client::encoded(after));
  }
}

} // namespace

FabricClient::FabricClient(FabricSettings settings)
    : settings_(std::move(settings)), manager_(settings_.manager) {}

void FabricClient::cancel() { manager_.cancel(); }

Allocation FabricClient::allocate(const std::vector<NodeFacts>& nodes) {
  // Of hosts the manager knows those that have spoken on their link, or are in a switch's file.
  std::map<std::uint32_t, std::string> switches; // by NID
  std::set<std::uint32_t> known;
  for (const json::value& host : list(manager_, "hosts")) {
    const auto nid = host.at("nid").to_number<std::uint32_t>();
    known.insert(nid);
    if (const json::value* at = host.as_object().if_contains("switch"); at && at->is_string()) {
      switches[nid] = at->as_string();
    }
  }
  Allocation allocation;
  std::vector<std::uint32_t> hosts;
  std::vector<Place> places;
  for (const NodeFacts& facts : nodes) {
    messages::Node node;
    const auto found = fabric_interface(facts.interfaces, settings_.interface, known);
    if (found) {
      node.set_interface(found->name);
      node.set_fabric_address(found->address);
      hosts.push_back(found->nid);
      const auto at = switches.find(found->nid);
      places.push_back({at == switches.end() ? "" : at->second});
    } else {
      allocation.notes.push_back(
          settings_.interface.empty()
              ? fmt::format("{} has no interface with a fabric address (02:00:00:0H:HH:HH); "
                            "--interface names one",
                            facts.name)
              : fmt::format("{} has no interface {} with a MAC address that names a host",
                            facts.name, settings_.interface));
      places.emplace_back();
    }
    allocation.nodes.push_back(std::move(node));
  }
  if (hosts.size() != nodes.size()) {
    hosts.clear(); // such a job is not limited to hosts
  }
  std::string job = settings_.job;
  std::string token = settings_.manager.token;
  if (job.empty()) {
    job = settings_.new_job;
    token = token_of_new_job(hosts);
  }
  manager_client::ClientSettings own = settings_.manager;
  own.token = token;
  own.retry_limit = restart_limit;
  as_job_.emplace(own);
  const Answer seen =
      as_job_->get(fmt::format("/fabric/collectives/jobs/{}", manager_client::encoded(job)));
  manager_client::throw_unless_done(seen, fmt::format("asking for job {}", job));
  const json::object& body = seen.body.as_object();

  using messages::Value;
  std::vector<Value>& values = allocation.values;
  values.push_back(text_value("fm.job", Value::JOB, job));
  if (const json::value vni = vni_of(body); vni.is_number()) {
    values.push_back(number_value("fm.vni", vni.to_number<std::uint32_t>()));
    values.push_back(text_value("TRIBUTARY_VNI", Value::ENVIRONMENT, json::serialize(vni)));
  }
  values.push_back(number_value("fm.mcast", body.at("mcastLimit").to_number<std::uint32_t>()));
  Value cookie = named("fm.cookie", Value::JOB);
  cookie.set_data(random_cookie());
  values.push_back(std::move(cookie));
  const json::array links = list(manager_, "links");
  if (const std::vector<double> times = relative_route_times(places, links); !times.empty()) {
    Value value = named("fm.routetime", Value::JOB);
    value.mutable_reals()->mutable_values()->Add(times.begin(), times.end());
    values.push_back(std::move(value));
  }
  values.push_back(text_value("TRIBUTARY_FABRIC_MANAGER_URL", Value::ENVIRONMENT,
                              settings_.manager.address.text()));
  values.push_back(text_value("TRIBUTARY_JOB_ID", Value::ENVIRONMENT, job));
  const std::string issued(body.at("sessionToken").as_string());
  values.push_back(text_value("TRIBUTARY_FABRIC_MANAGER_TOKEN", Value::ENVIRONMENT, issued));
  if (!settings_.manager.certificate_authority.empty()) {
    values.push_back(text_value("TRIBUTARY_FABRIC_MANAGER_CACERT", Value::ENVIRONMENT,
                                settings_.manager.certificate_authority == "off"
                                    ? "no"
                                    : settings_.manager.certificate_authority));
  }
  allocation.job = job;
  allocation.token = issued;
  // An administrator who names a job speaks for it from here on.
  if (issued != token) {
    own.token = issued;
    as_job_.emplace(own);
  }
  return allocation;
}

std::string FabricClient::token_of_new_job(const std::vector<std::uint32_t>& hosts) {
  json::object request{
      {"jobID", settings_.new_job}, {"mcastLimit", settings_.multicast_limit}, {"assignVni", true}};
  if (!hosts.empty()) {
    json::array macs;
    for (const std::uint32_t nid : hosts) {
      macs.emplace_back(
          fmt::format("{:x}:{:02x}:{:02x}", nid >> 16U & 0xFU, nid >> 8U & 0xFFU, nid & 0xFFU));
    }
    request["hosts"] = std::move(macs);
  }
  const Answer made = manager_.post("/fabric/collectives/jobs", request);
  manager_client::throw_unless_done(made, fmt::format("creating job {}", settings_.new_job));
  made_ = true;
  return std::string(made.body.at("sessionToken").as_string());
}

Reply FabricClient::request(const Request& request) {
  if (!as_job_) {
    throw std::invalid_argument("the job has no allocation");
  }
  if (!request.path.starts_with('/') || request.path.find_first_of(" \r\n") != std::string::npos) {
    throw std::invalid_argument(fmt::format("'{}' is no path of the manager's API", request.path));
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
        "'{}' is no method; there are GET, POST, PUT, PATCH and DELETE", request.method));
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
