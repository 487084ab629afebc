// The boundary of every function of the C API: no exception crosses it, and each failure leaves a
// code and a message.
#pragma once

#include "endpoint/library/host.hpp"
#include "endpoint/manager_client/manager_error.hpp"
#include "lib/link/link_error.hpp"
#include "tributary/tributary.h"

#include <new>
#include <stdexcept>
#include <string>

namespace tributary::library {

inline int code_of(const link::LinkError& error) {
  using Kind = link::LinkError::Kind;
  switch (error.kind()) {
  case Kind::no_interface: return TRIBUTARY_ERR_NO_INTERFACE;
  case Kind::interface_down: return TRIBUTARY_ERR_INTERFACE_DOWN;
  case Kind::not_permitted: return TRIBUTARY_ERR_NOT_PERMITTED;
  case Kind::system: return TRIBUTARY_ERR_SYSTEM;
  }
  return TRIBUTARY_ERR_SYSTEM;
}

inline int code_of(const manager_client::ManagerError& error) {
  using Kind = manager_client::ManagerError::Kind;
  switch (error.kind()) {
  case Kind::unreachable:
  case Kind::untrusted:
  case Kind::timed_out:
  case Kind::garbled: return TRIBUTARY_ERR_MANAGER_UNREACHABLE;
  case Kind::refused: return TRIBUTARY_ERR_MANAGER_REFUSED;
  case Kind::not_ready: return TRIBUTARY_ERR_NOT_READY;
  case Kind::cancelled: return TRIBUTARY_ERR_SYSTEM;
  }
  return TRIBUTARY_ERR_SYSTEM;
}

/// Stores the message and returns the code.
inline int fail(std::string& message, int code, const std::string& text) {
  message = text;
  return code;
}

/// The message of tributary_last_error(NULL): of this thread's last call that failed without a
/// host.
std::string& error_without_host();

/// Runs `f`, which returns a code, and stores the message of what it throws in `message`.
template <typename F> int guarded(std::string& message, F&& f) noexcept {
  try {
    return f();
  } catch (const link::LinkError& error) {
    return fail(message, code_of(error), error.what());
  } catch (const manager_client::ManagerError& error) {
    return fail(message, code_of(error), error.what());
  } catch (const TreeInUse& error) {
    return fail(message, TRIBUTARY_ERR_TREE_IN_USE, error.what());
  } catch (const std::invalid_argument& error) {
    return fail(message, TRIBUTARY_ERR_ARGUMENT, error.what());
  } catch (const std::bad_alloc&) {
    message.clear(); // the general text is sufficient, and needs no memory
    return TRIBUTARY_ERR_MEMORY;
  } catch (const std::exception& error) {
    return fail(message, TRIBUTARY_ERR_SYSTEM, error.what());
  }
}

/// A handle that should refer to the host is NULL.
inline int no_host(const char* what) noexcept {
  return guarded(error_without_host(),
                 [&]() -> int { throw std::invalid_argument(std::string(what) + " is NULL"); });
}

/// For arguments: throws with `what` unless `condition` holds.
inline void require(bool condition, const char* what) {
  if (!condition) {
    throw std::invalid_argument(what);
  }
}

} // namespace tributary::library
