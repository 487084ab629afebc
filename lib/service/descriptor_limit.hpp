// How many files and sockets this process may have open.
#pragma once

#include <cstddef>

namespace tributary::service {

/// Raises the soft limit to the hard one, which needs no privilege. Returns the limit in force; the
/// usual soft one, 1,024, is too low for a server of many clients, the hard one is not. Throws
/// std::runtime_error.
std::size_t raise_descriptor_limit();

} // namespace tributary::service
