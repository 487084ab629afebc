// Address of the fabric manager and identity of the caller, from the caller's values and the
// environment.
//
//   what        ours                              as existing tools name it
//   addresses   TRIBUTARY_FABRIC_MANAGER_URL      FI_CXI_COLL_FABRIC_MGR_URL, of which the part in
//                                                 front of /fabric is taken
//   token       TRIBUTARY_FABRIC_MANAGER_TOKEN    FI_CXI_COLL_MCAST_TOKEN
//   authority   TRIBUTARY_FABRIC_MANAGER_CACERT   FI_CXI_COLL_FABRIC_MGR_CACERT
//   job         TRIBUTARY_JOB_ID                  FI_CXI_COLL_JOB_ID
//   its step                                      FI_CXI_COLL_JOB_STEP_ID
//
// What the caller gave wins over ours, ours over theirs, and theirs over what the node's host agent
// knows of the job. An authority is "yes" or "" for the
// system's, "no" for none at all, or a path. Without an address it is the manager's own Unix
// socket on this machine.
#pragma once

#include "endpoint/manager_client/manager_client.hpp"

#include <string>

namespace tributary::manager_client {

inline constexpr std::string_view default_url = "unix:/run/tributary/fabricd.sock";

/// Null: taken from the environment.
struct Given {
  const char* url = nullptr;
  const char* token = nullptr;
  const char* certificate_authority = nullptr;
};

/// What holds where neither the caller nor the environment has a value; "": none.
struct Otherwise {
  std::string url{};
  std::string token{};
  std::string certificate_authority{};
};

/// Throws std::invalid_argument when the address is invalid, and names its source.
[[nodiscard]] ClientSettings settings_from(const Given& given, const Otherwise& otherwise = {});

/// Whether the environment has the manager's address.
[[nodiscard]] bool environment_names_manager();

/// `given`, or the job of the environment, or "".
[[nodiscard]] std::string job_from(const char* given);

/// The step of the environment if it is one of `job`, or "". Only existing tools end steps, so a
/// job of ours has none.
[[nodiscard]] std::string step_of(const std::string& job);

} // namespace tributary::manager_client
