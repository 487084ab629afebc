#include "controlplane/api/rdma_requests.hpp"

#include "controlplane/api/json_body.hpp"
#include "controlplane/api/request_error.hpp"
#include "controlplane/api/requests.hpp"
#include "tributary/wire/fabric_address.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

namespace tributary::api {
namespace {

namespace json = boost::json;

constexpr std::uint64_t highest_vni = std::numeric_limits<decltype(Vni::value)>::max();
constexpr std::uint64_t max_count = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t max_version = std::numeric_limits<std::int64_t>::max();

Vni vni_named(std::string_view text) {
  std::uint16_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || after != end) {
    throw RequestError(fmt::format("a VNI must be an integer from 0 to {}", highest_vni));
  }
  return Vni{value};
}

/// Visits the objects of a list that may be missing.
template <typename F>
void each_of(const Fields& fields, std::string_view name, std::size_t most, F&& take) {
  const json::array* const list = fields.list(name);
  if (list == nullptr) {
    return;
  }
  if (list->size() > most) {
    throw RequestError(
        fmt::format("\"{}\" must have at most {} entries, not {}", name, most, list->size()));
  }
  for (const json::value& value : *list) {
    const json::object* const object = value.if_object();
    if (object == nullptr) {
      throw RequestError(fmt::format("\"{}\" must have objects, not {}", name, shown(value)));
    }
    take(Fields(*object));
  }
}

Nid nid_of(const Fields& fields) {
  const Nid nid{static_cast<std::uint32_t>(fields.required_number("nid", 0, max_nid))};
  if (!wire::is_valid_nid(nid)) {
    throw RequestError(
        fmt::format("\"nid\" must be a host's, and {} is a multicast address", nid.value));
  }
  return nid;
}

retransmit::PeerId peer_of(const Fields& fields) {
  return {nid_of(fields),
          Vni{static_cast<std::uint16_t>(fields.required_number("vni", 0, highest_vni))}};
}

bool flag_of(const Fields& fields, std::string_view name) {
  const json::value& value = fields.required(name);
  if (!value.is_bool()) {
    throw RequestError(fmt::format("\"{}\" must be true or false, not {}", name, shown(value)));
  }
  return value.get_bool();
}

retransmit::Cause cause_of(const Fields& fields) {
  const std::string name = fields.required_name("cause");
  const auto cause = std::ranges::find_if(
      retransmit::causes, [&](auto known) { return retransmit::name_of(known) == name; });
  if (cause == retransmit::causes.end()) {
    std::string known;
    for (const auto one : retransmit::causes) {
      known += fmt::format("{}{}", known.empty() ? "" : ", ", retransmit::name_of(one));
    }
    throw RequestError(fmt::format("\"cause\" must be one of {}, not \"{}\"", known, name));
  }
  return *cause;
}

} // namespace

RdmaViewRequest rdma_view_request(RdmaView what, const Target& target) {
  RdmaViewRequest request{.what = what, .limit = limit_of(target)};
  if (const auto vni = target.parameter("vni")) {
    request.vni = vni_named(*vni);
  }
  return request;
}

RdmaPolicyPatch rdma_policy_patch(const json::object& body) {
  const Fields fields(body);
  RdmaPolicyPatch patch;
  if (const auto vni = fields.number("vni", 0, highest_vni)) {
    patch.vni = Vni{static_cast<std::uint16_t>(*vni)};
  }
  if (fields.has("set")) {
    for (const auto& member : fields.required_object("set")) {
      const json::value& value = member.value();
      const bool is_text = value.is_string();
      if (!is_text && !value.is_number() && !value.is_bool()) {
        throw RequestError(fmt::format("\"{}\" in \"set\" must be a number, a text such as "
                                       "\"2ms\", or true or false, not {}",
                                       std::string_view(member.key()), shown(value)));
      }
      patch.set.emplace_back(member.key(),
                             is_text ? std::string(value.get_string()) : json::serialize(value));
    }
  }
  if (fields.has("reset")) {
    const json::value& reset = fields.required("reset");
    if (reset.is_bool()) {
      patch.reset_all = reset.get_bool();
    } else {
      for (const json::value& name : fields.required_list("reset")) {
        if (!name.is_string()) {
          throw RequestError("\"reset\" must be true or a list of names of fields");
        }
        patch.reset.emplace_back(name.get_string());
      }
    }
  }
  if (patch.set.empty() && patch.reset.empty() && !patch.reset_all) {
    throw RequestError("nothing is to be changed: give \"set\" or \"reset\"");
  }
  return patch;
}

RdmaQuarantineRequest rdma_quarantine_request(bool quarantine, const std::string& vni,
                                              const std::string& host) {
  check_name("the host in the path", host);
  return {.quarantine = quarantine, .host = host, .vni = vni_named(vni)};
}

RdmaReport rdma_report(const json::object& body) {
  const Fields fields(body);
  RdmaReport report;
  report.nid = nid_of(fields);
  if (const json::array* const vnis = fields.list("vnis")) {
    if (vnis->size() > RdmaReport::most_vnis) {
      throw RequestError(fmt::format("\"vnis\" must have at most {} entries, not {}",
                                     RdmaReport::most_vnis, vnis->size()));
    }
    for (const json::value& vni : *vnis) {
      json::error_code error;
      const auto number = vni.to_number<std::uint16_t>(error);
      if (error) {
        throw RequestError(fmt::format("\"vnis\" must have integers from 0 to {}, not {}",
                                       highest_vni, shown(vni)));
      }
      report.vnis.emplace_back(number);
    }
  }
  report.policy_version = fields.number("policy_version", 0, max_version).value_or(0);
  report.quarantined_version = fields.number("quarantined_version", 0, max_version).value_or(0);
  each_of(fields, "exceptions", RdmaReport::most_exceptions, [&](const Fields& one) {
    report.exceptions.push_back(
        {.peer = peer_of(one),
         .cause = cause_of(one),
         .times = static_cast<std::uint32_t>(one.required_number("times", 1, max_count))});
  });
  each_of(fields, "probes", RdmaReport::most_probes, [&](const Fields& one) {
    report.probes.push_back({.peer = peer_of(one), .answered = flag_of(one, "answered")});
  });
  report.in_progress = fields.number("in_progress", 0, max_count).value_or(0);
  each_of(fields, "transfers", retransmit::Transfers::most_of_a_host, [&](const Fields& one) {
    const retransmit::PeerId peer = peer_of(one);
    report.transfers.push_back(
        {.peer = peer.nid,
         .vni = peer.vni,
         .message = static_cast<std::uint32_t>(one.required_number("message", 0, max_count)),
         .sends = flag_of(one, "sends"),
         .frames = static_cast<std::uint32_t>(one.required_number("frames", 0, max_count)),
         .placed = static_cast<std::uint32_t>(one.required_number("placed", 0, max_count)),
         .retries = static_cast<std::uint32_t>(one.required_number("retries", 0, max_count)),
         .busy = static_cast<std::uint32_t>(one.required_number("busy", 0, max_count))});
  });
  return report;
}

} // namespace tributary::api
