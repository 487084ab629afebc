// An error in a request, for the person who wrote it: the message of a 400.
#pragma once

#include <stdexcept>

namespace tributary::api {

class RequestError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

} // namespace tributary::api
