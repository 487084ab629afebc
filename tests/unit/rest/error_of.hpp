#pragma once

#include "controlplane/rest/request_error.hpp"

#include <string>

namespace tributary::rest {

/// What `f` says of the request; empty when it takes it.
template <typename F> std::string error_of(F f) {
  try {
    static_cast<void>(f());
  } catch (const RequestError& e) {
    return e.what();
  }
  return "";
}

} // namespace tributary::rest
