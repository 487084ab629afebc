// A completion token for coroutines that expect errors: returns them as values.
#pragma once

#include <boost/asio/experimental/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace tributary::net {

/// `const auto [error, bytes] = co_await async_read(..., as_result);`
inline constexpr auto as_result = boost::asio::experimental::as_tuple(boost::asio::use_awaitable);

} // namespace tributary::net
