#include "controlplane/retransmit/policy_document.hpp"

#include "lib/rdma_policy/policy_fields.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <set>
#include <system_error>
#include <utility>

namespace tributary::retransmit {

using rdma_policy::PolicyField;

namespace {

std::string value_text(const PolicyField& field, std::uint64_t value) {
  return field.unit == PolicyField::Unit::nanoseconds ? fmt::format("{} ns", value)
                                                      : fmt::format("{}", value);
}

std::string bounds_error(const PolicyField& field, std::string_view value) {
  if (field.unit == PolicyField::Unit::flag) {
    return fmt::format("{} must be on or off, not \"{}\"", field.name, value);
  }
  return fmt::format("{} must be {} to {}, not \"{}\"", field.name, field.least,
                     value_text(field, field.most), value);
}

std::string unknown_field(std::string_view name) {
  std::string known;
  for (const PolicyField& field : rdma_policy::policy_fields) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", field.name);
  }
  return fmt::format("a policy has no field \"{}\"; it has {}", name, known);
}

/// Length in nanoseconds; 0: not a unit of time.
std::uint64_t unit_ns(std::string_view unit) {
  return unit.empty() || unit == "ns" ? 1
         : unit == "us"               ? 1'000
         : unit == "ms"               ? ns_per_ms
         : unit == "s"                ? ns_per_second
                                      : 0;
}

std::optional<std::uint64_t> value_of(const PolicyField& field, std::string_view text) {
  if (field.unit == PolicyField::Unit::flag && (text == "on" || text == "true")) {
    return 1;
  }
  if (field.unit == PolicyField::Unit::flag && (text == "off" || text == "false")) {
    return 0;
  }
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{}) {
    return std::nullopt;
  }
  const std::string_view unit(after, static_cast<std::size_t>(end - after));
  const std::uint64_t times = field.unit == PolicyField::Unit::nanoseconds ? unit_ns(unit)
                              : unit.empty()                               ? 1
                                                                           : 0;
  if (times == 0 || value > std::numeric_limits<std::uint64_t>::max() / times) {
    return std::nullopt;
  }
  return value * times;
}

bool is_within(const PolicyField& field, std::uint64_t value) {
  return value >= field.least && value <= field.most;
}

} // namespace

std::string name_of(Scope scope) {
  return scope ? fmt::format("VNI {}", scope->value) : "all VNIs";
}

std::optional<Setting> read_setting(std::string_view name, std::string_view value,
                                    std::string& error) {
  const PolicyField* const field = rdma_policy::policy_field(name);
  if (field == nullptr) {
    error = unknown_field(name);
    return std::nullopt;
  }
  const auto number = value_of(*field, value);
  if (!number || !is_within(*field, *number)) {
    error = bounds_error(*field, value);
    return std::nullopt;
  }
  return Setting{std::string(name), *number};
}

Policy PolicyDocument::resolved(const Scopes& configured, const Scopes& set, Scope scope) {
  Policy policy;
  const auto apply = [&policy](const Scopes& scopes, Scope of) {
    const auto found = scopes.find(of);
    if (found == scopes.end()) {
      return;
    }
    for (const auto& [name, value] : found->second) {
      rdma_policy::policy_field(name)->set(policy, value);
    }
  };
  apply(configured, std::nullopt);
  apply(set, std::nullopt);
  if (scope) {
    apply(configured, scope);
    apply(set, scope);
  }
  return policy;
}

std::string PolicyDocument::problem_of(const Scopes& configured, const Scopes& set) {
  std::set<Scope> scopes{std::nullopt};
  for (const Scopes* const some : {&configured, &set}) {
    for (const auto& [scope, settings] : *some) {
      scopes.insert(scope);
    }
  }
  if (scopes.size() > most_scopes + 1) {
    return fmt::format("more than {} VNIs would have settings of their own; set those that are the "
                       "same for all VNIs",
                       most_scopes);
  }
  for (const Scope scope : scopes) {
    const Policy policy = resolved(configured, set, scope);
    if (const std::string_view problem = rdma_policy::problem_of(policy); !problem.empty()) {
      return fmt::format(
          "of {}: {} (window {}; time-out {} ns, from {} to {} ns; reordering {} ns, "
          "at most {} ns)",
          name_of(scope), problem, policy.window, policy.initial_timeout_ns,
          policy.least_timeout_ns, policy.most_timeout_ns, policy.initial_reordering_ns,
          policy.most_reordering_ns);
    }
  }
  return {};
}

std::string PolicyDocument::configure(std::span<const std::string> lines) {
  Scopes wanted;
  for (const std::string_view line : lines) {
    const std::size_t equals = line.find('=');
    std::string_view name = line.substr(0, equals);
    Scope scope;
    if (const std::size_t slash = name.find('/'); slash != name.npos) {
      std::uint16_t vni = 0;
      const auto [after, error] = std::from_chars(name.data(), name.data() + slash, vni);
      if (error != std::errc{} || after != name.data() + slash) {
        return fmt::format("\"{}\": the part before the / must be a VNI, 0 to 65535", line);
      }
      scope = Vni{vni};
      name.remove_prefix(slash + 1);
    }
    if (equals == line.npos) {
      return fmt::format("\"{}\" must be FIELD=VALUE or VNI/FIELD=VALUE, as in \"window=512\"",
                         line);
    }
    std::string error;
    const auto setting = read_setting(name, line.substr(equals + 1), error);
    if (!setting) {
      return error;
    }
    wanted[scope][setting->field] = setting->value;
  }
  if (std::string problem = problem_of(wanted, set_); !problem.empty()) {
    return problem;
  }
  if (wanted != configured_) {
    configured_ = std::move(wanted);
    ++version_;
  }
  return {};
}

std::string PolicyDocument::set(Scope scope, std::span<const Setting> settings) {
  Scopes wanted = set_;
  for (const Setting& setting : settings) {
    const PolicyField* const field = rdma_policy::policy_field(setting.field);
    if (field == nullptr) {
      return unknown_field(setting.field);
    }
    if (!is_within(*field, setting.value)) {
      return bounds_error(*field, fmt::format("{}", setting.value));
    }
    wanted[scope][setting.field] = setting.value;
  }
  if (std::string problem = problem_of(configured_, wanted); !problem.empty()) {
    return problem;
  }
  if (wanted != set_) {
    set_ = std::move(wanted);
    ++version_;
  }
  return {};
}

std::string PolicyDocument::reset(Scope scope, std::span<const std::string> fields,
                                  std::vector<std::string>& erased) {
  erased.clear();
  Scopes wanted = set_;
  const auto found = wanted.find(scope);
  for (const std::string& name : fields) {
    if (rdma_policy::policy_field(name) == nullptr) {
      return unknown_field(name);
    }
    if (found != wanted.end() && found->second.erase(name) != 0) {
      erased.push_back(name);
    }
  }
  if (found != wanted.end()) {
    if (fields.empty()) {
      for (const auto& [name, value] : found->second) {
        erased.push_back(name);
      }
      found->second.clear();
    }
    if (found->second.empty()) {
      wanted.erase(found);
    }
  }
  if (std::string problem = problem_of(configured_, wanted); !problem.empty()) {
    erased.clear();
    return problem;
  }
  if (!erased.empty()) {
    set_ = std::move(wanted);
    ++version_;
  }
  return {};
}

std::vector<std::string> PolicyDocument::restore(const std::map<Scope, Settings>& stored) {
  std::vector<std::string> left_out;
  for (const auto& [scope, settings] : stored) {
    // Together, because one may be valid only with another.
    std::vector<Setting> all;
    for (const auto& [name, value] : settings) {
      all.push_back({name, value});
    }
    if (set(scope, all).empty()) {
      continue;
    }
    for (const Setting& setting : all) {
      if (const std::string problem = set(scope, {&setting, 1}); !problem.empty()) {
        left_out.push_back(fmt::format("RDMA policy of {}: {} = {}: {}", name_of(scope),
                                       setting.field, setting.value, problem));
      }
    }
  }
  return left_out;
}

std::vector<Vni> PolicyDocument::vnis() const {
  std::set<Vni> all;
  for (const Scopes* const some : {&configured_, &set_}) {
    for (const auto& [scope, settings] : *some) {
      if (scope) {
        all.insert(*scope);
      }
    }
  }
  return {all.begin(), all.end()};
}

} // namespace tributary::retransmit
