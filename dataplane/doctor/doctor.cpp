#include "dataplane/doctor/doctor.hpp"

#include "dataplane/doctor/checks.hpp"

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace tributary::doctor {

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
  case Verdict::good: return "ok";
  case Verdict::advice: return "advice";
  case Verdict::wrong: return "wrong";
  }
  return "unknown";
}

std::vector<Finding> examine(const config::Config& configuration, const MachineFiles& files,
                             config::MemoryOrder memory_order) {
  std::vector<Finding> findings;
  const Examination of{configuration, files, memory_order, findings};
  check_pci(of);
  check_hugepages(of);
  check_cores(of);
  check_interfaces(of);
  return findings;
}

bool anything_wrong(const std::vector<Finding>& findings) {
  return std::ranges::any_of(findings,
                             [](const Finding& f) { return f.verdict == Verdict::wrong; });
}

std::string text_of(const std::vector<Finding>& findings) {
  std::string text;
  std::size_t wrong = 0;
  std::size_t advice = 0;
  for (const Finding& f : findings) {
    wrong += f.verdict == Verdict::wrong ? 1 : 0;
    advice += f.verdict == Verdict::advice ? 1 : 0;
    const std::string about = f.subject.empty() ? "" : f.subject + ": ";
    text += fmt::format("{:<6}  {:<11}  {}{}\n",
                        f.verdict == Verdict::wrong ? "WRONG" : name_of(f.verdict), f.check, about,
                        f.text);
    if (!f.command.empty()) {
      text += fmt::format("{:<21}$ {}\n", "", f.command);
    }
  }
  return text + fmt::format("{} wrong, {} to improve, {} good\n", wrong, advice,
                            findings.size() - wrong - advice);
}

boost::json::object json_of(const std::vector<Finding>& findings) {
  boost::json::array all;
  for (const Finding& f : findings) {
    boost::json::object one{
        {"check", f.check}, {"verdict", std::string(name_of(f.verdict))}, {"text", f.text}};
    if (!f.subject.empty()) {
      one["subject"] = f.subject;
    }
    if (!f.command.empty()) {
      one["command"] = f.command;
    }
    all.push_back(std::move(one));
  }
  return {{"ok", !anything_wrong(findings)}, {"findings", std::move(all)}};
}

} // namespace tributary::doctor
