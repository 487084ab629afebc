#include "lib/link/end_point_number.hpp"

#include "lib/link/link_error.hpp"
#include "lib/net/unix_address.hpp"
#include "tributary/types.hpp"

#include <cerrno>

#include <fmt/format.h>
#include <sys/socket.h>

namespace tributary::link {

EndPointNumber::EndPointNumber(const std::string& interface)
    : reservation_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  constexpr const char* doing = "reserving an end point";
  if (!reservation_) {
    throw link_error(errno, interface, doing);
  }
  for (; value_ < first_given_end_point; ++value_) {
    const auto name =
        net::UnixAddress::abstract(fmt::format("tributary/end-point/{}/{}", interface, value_));
    if (::bind(reservation_.get(), name->get(), name->size()) == 0) {
      return;
    }
    if (errno != EADDRINUSE) {
      throw link_error(errno, interface, doing);
    }
  }
  throw LinkError(LinkError::Kind::system,
                  fmt::format("all {} end points of interface '{}' are reserved by programs; end "
                              "some (`ss -xl | grep tributary/end-point` lists them), or start "
                              "programs as a user with the host agent, which has {} more",
                              first_given_end_point, interface,
                              end_points_per_host - first_given_end_point));
}

} // namespace tributary::link
