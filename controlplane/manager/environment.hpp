// What the manager needs of the world around it; the process gives it the real one, the virtual
// fabric its own.
#pragma once

#include "controlplane/install/target.hpp"
#include "controlplane/records/records.hpp"
#include "tributary/control.pb.h"
#include "tributary/types.hpp"

#include <span>
#include <string>
#include <string_view>

namespace tributary::manager {

class Environment {
public:
  virtual ~Environment() = default;

  [[nodiscard]] virtual TimeNs now() = 0;
  /// For events and people: "2026-01-31T12:34:56.789Z".
  [[nodiscard]] virtual std::string wall_time() = 0;
  /// Have `Manager::reconcile` called soon: after what is being handled, together with whatever
  /// else is ready to be.
  virtual void request_reconcile() = 0;

  /// On disk when it returns. Throws store::StoreError.
  virtual void store(std::span<const records::Change> changes) = 0;
  virtual void send(install::SessionNumber session, const control::ManagerMessage& message) = 0;
  virtual void close(install::SessionNumber session, std::string_view why) = 0;
};

} // namespace tributary::manager
