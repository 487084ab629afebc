#include "endpoint/manager_client/environment.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>

namespace tributary::manager_client {

namespace {

constexpr const char* their_url = "FI_CXI_COLL_FABRIC_MGR_URL";
constexpr const char* their_job = "FI_CXI_COLL_JOB_ID";
constexpr const char* their_step = "FI_CXI_COLL_JOB_STEP_ID";

/// The first non-empty variable, and its name.
struct Found {
  std::string value;
  std::string_view name; ///< "" for a value that is not from the environment
};
Found find(const char* given, const char* ours, const char* theirs) {
  if (given != nullptr) {
    return {given, ""};
  }
  for (const char* name : {ours, theirs}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') {
      return {value, name};
    }
  }
  return {};
}

std::string or_else(std::string value, const std::string& otherwise) {
  return value.empty() ? otherwise : value;
}

} // namespace

ClientSettings settings_from(const Given& given, const Otherwise& otherwise) {
  ClientSettings settings;
  Found url = find(given.url, "TRIBUTARY_FABRIC_MANAGER_URL", their_url);
  if (url.value.empty()) {
    url.value = or_else(otherwise.url, std::string(default_url));
  }
  try {
    settings.addresses = parse_addresses(url.value);
  } catch (const std::invalid_argument& error) {
    if (url.name.empty()) {
      throw;
    }
    throw std::invalid_argument(
        fmt::format("the environment's {} is wrong: {}", url.name, error.what()));
  }
  if (url.name == their_url) {
    for (Address& address : settings.addresses) {
      address.path.resize(std::min(address.path.size(), address.path.find("/fabric/")));
    }
  }
  settings.token =
      or_else(find(given.token, "TRIBUTARY_FABRIC_MANAGER_TOKEN", "FI_CXI_COLL_MCAST_TOKEN").value,
              otherwise.token);
  const std::string authority =
      or_else(find(given.certificate_authority, "TRIBUTARY_FABRIC_MANAGER_CACERT",
                   "FI_CXI_COLL_FABRIC_MGR_CACERT")
                  .value,
              otherwise.certificate_authority);
  settings.certificate_authority = authority == "no" ? "off" : authority == "yes" ? "" : authority;
  return settings;
}

bool environment_names_manager() {
  return !find(nullptr, "TRIBUTARY_FABRIC_MANAGER_URL", their_url).value.empty();
}

std::string job_from(const char* given) { return find(given, "TRIBUTARY_JOB_ID", their_job).value; }

std::string step_of(const std::string& job) {
  const char* const theirs = std::getenv(their_job);
  const char* const step = std::getenv(their_step);
  return theirs != nullptr && step != nullptr && job == theirs ? step : "";
}

} // namespace tributary::manager_client
