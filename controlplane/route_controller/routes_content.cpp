#include "controlplane/route_controller/routes_content.hpp"

namespace tributary::route_controller {

bool RoutesContent::same_as(const transaction::Content& other) const {
  return digest_ == routes_of(other).digest_;
}

const RoutesContent& routes_of(const transaction::Content& content) {
  return dynamic_cast<const RoutesContent&>(content);
}

} // namespace tributary::route_controller
