#include "dataplane/egress/queue_settings.hpp"

namespace tributary::egress {
namespace {

std::string problem_with(const ClassSettings& settings) {
  if (settings.limit.frames == 0 || settings.limit.frames > most_queue_frames) {
    return "a queue holds 1 to " + std::to_string(most_queue_frames) + " frames, not " +
           std::to_string(settings.limit.frames);
  }
  if (settings.limit.bytes == 0) {
    return "a queue of 0 bytes holds nothing";
  }
  if (settings.service == Service::weighted && settings.weight == 0) {
    return "a class of weight 0 is never served; the least weight is 1";
  }
  if (settings.trims() &&
      (settings.trimmed_frames == 0 || settings.trimmed_frames > most_queue_frames)) {
    return "1 to " + std::to_string(most_queue_frames) + " trimmed frames may wait, not " +
           std::to_string(settings.trimmed_frames) + "; a class that trims none drops";
  }
  return {};
}

} // namespace

std::string problem_with(const PortSettings& settings) {
  for (std::size_t c = 0; c < traffic_classes; ++c) {
    if (std::string problem = problem_with(settings.classes[c]); !problem.empty()) {
      return "class " + std::to_string(c) + ": " + problem;
    }
  }
  if (settings.quantum_bytes < least_quantum_bytes) {
    return "a quantum of " + std::to_string(settings.quantum_bytes) + " bytes is too small; the " +
           "least one is " + std::to_string(least_quantum_bytes);
  }
  return {};
}

} // namespace tributary::egress
