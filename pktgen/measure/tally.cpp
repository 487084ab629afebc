#include "pktgen/measure/tally.hpp"

#include <algorithm>

namespace tributary::pktgen::measure {
namespace {

template <typename Named> auto find_named(Named& all, std::string_view name) {
  return std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
}

} // namespace

void Tally::merge(const Tally& other) {
  sent += other.sent;
  received += other.received;
  for (const Figure& theirs : other.figures) {
    const auto ours = find_named(figures, theirs.name);
    if (ours == figures.end()) {
      figures.push_back(theirs);
    } else {
      ours->value += theirs.value;
    }
  }
  for (const LatencySeries& theirs : other.latencies) {
    const auto ours = find_named(latencies, theirs.name);
    if (ours == latencies.end()) {
      latencies.push_back(theirs);
    } else {
      ours->histogram.merge(theirs.histogram);
    }
  }
  for (const std::string& remark : other.remarks) {
    if (remarks.size() < most_remarks) {
      remarks.push_back(remark);
    }
  }
}

std::uint64_t Tally::figure(std::string_view name) const {
  const auto found = find_named(figures, name);
  return found == figures.end() ? 0 : found->value;
}

const statistics::Histogram* Tally::latency(std::string_view name) const {
  const auto found = find_named(latencies, name);
  return found == latencies.end() ? nullptr : &found->histogram;
}

std::uint64_t Tally::sum(Figure::Meaning meaning) const {
  std::uint64_t total = 0;
  for (const Figure& figure : figures) {
    total += figure.meaning == meaning ? figure.value : 0;
  }
  return total;
}

} // namespace tributary::pktgen::measure
