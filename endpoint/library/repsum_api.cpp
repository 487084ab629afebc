// The functions of tributary.h about reproducible sums that the program makes itself.
#include "endpoint/library/boundary.hpp"
#include "endpoint/library/repsum_states.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <stdexcept>

namespace library = tributary::library;
using library::guarded;
using library::require;

namespace {

/// Throws std::invalid_argument for types other than floats and doubles.
std::size_t number_bytes(int type) {
  if (type != TRIBUTARY_DOUBLE && type != TRIBUTARY_FLOAT) {
    throw std::invalid_argument(fmt::format(
        "type {} does not become a reproducible sum; give TRIBUTARY_DOUBLE or TRIBUTARY_FLOAT",
        type));
  }
  return type == TRIBUTARY_FLOAT ? sizeof(float) : sizeof(double);
}

void require_buffers(const void* one, const void* other, std::size_t count) {
  require(count == 0 || (one != nullptr && other != nullptr),
          "a buffer is NULL though there are elements");
}

} // namespace

int tributary_repsum_make(const void* numbers, int type, size_t count,
                          tributary_repsum_state* states) {
  return guarded(library::error_without_host(), [&] {
    const std::size_t bytes = number_bytes(type);
    require_buffers(numbers, states, count);
    library::make_states(static_cast<const std::byte*>(numbers), bytes, count,
                         reinterpret_cast<std::byte*>(states));
    return static_cast<int>(TRIBUTARY_OK);
  });
}

int tributary_repsum_add(tributary_repsum_state* total, const tributary_repsum_state* part,
                         size_t count) {
  return guarded(library::error_without_host(), [&] {
    require_buffers(total, part, count);
    const std::size_t added = library::add_states(reinterpret_cast<std::byte*>(total),
                                                  reinterpret_cast<const std::byte*>(part), count);
    if (added < count) {
      return library::fail(library::error_without_host(), TRIBUTARY_ERR_FULL,
                           fmt::format("sum {} of {} would overflow and is unchanged, as are those "
                                       "behind it: a sum has room for 2^23 numbers; read it, and "
                                       "begin a new one",
                                       added, count));
    }
    return static_cast<int>(TRIBUTARY_OK);
  });
}

int tributary_repsum_read(const tributary_repsum_state* states, size_t count, void* numbers,
                          int type) {
  return guarded(library::error_without_host(), [&] {
    const std::size_t bytes = number_bytes(type);
    require_buffers(states, numbers, count);
    library::read_states(reinterpret_cast<const std::byte*>(states), count, bytes,
                         static_cast<std::byte*>(numbers));
    return static_cast<int>(TRIBUTARY_OK);
  });
}
