// The manager's interface to its surroundings; the process implements it with the real ones, the
// virtual fabric with its own.
#pragma once

#include "controlplane/records/records.hpp"
#include "controlplane/transaction/subject.hpp"
#include "controlplane/turns/background_work.hpp"
#include "tributary/control.pb.h"
#include "tributary/types.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::turns {

class Environment {
public:
  virtual ~Environment() = default;

  [[nodiscard]] virtual TimeNs now() = 0;
  /// Processor time that the manager's thread has used: less than the elapsed time where it had to
  /// wait for a processor.
  [[nodiscard]] virtual std::uint64_t processor_ns() = 0;
  /// For events and people: "2026-01-31T12:34:56.789Z".
  [[nodiscard]] virtual std::string wall_time() = 0;
  /// Have `Manager::reconcile` called soon: after the current event, together with other events
  /// that are ready.
  virtual void request_reconcile() = 0;

  /// Starts writing the result of `changes`, which may be called on any thread, once, and owns its
  /// data; the manager hands over nothing more until `Manager::stored` is called, from within or
  /// later. Without changes it is a confirmation that this manager leads (store::Store::apply).
  virtual void store(std::function<std::vector<records::Change>()> changes) = 0;
  /// Runs it beside the manager, after all that were handed over before, and then calls
  /// `Manager::worked` with it, from within or later.
  virtual void work(std::unique_ptr<BackgroundWork> piece) = 0;
  virtual void send(transaction::SessionNumber session, const control::ManagerMessage& message) = 0;
  virtual void close(transaction::SessionNumber session, std::string_view why) = 0;
  /// The manager blocked the event loop for too long: a sentence for the log.
  virtual void stalled(const std::string& what) = 0;
};

} // namespace tributary::turns
