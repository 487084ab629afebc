#include "tools/tributaryctl/fabric/manager_place.hpp"

#include "endpoint/manager_client/environment.hpp"

#include <stdexcept>

namespace tributary::cli {

manager_client::ClientSettings settings_of(const terminal::ManagerOptions& place) {
  const std::string token =
      place.token_file ? terminal::token_in(*place.token_file) : std::string();
  const auto given = [](const std::optional<std::string>& text) {
    return text ? text->c_str() : nullptr;
  };
  try {
    return manager_client::settings_from(
        {.url = given(place.manager),
         .token = place.token_file ? token.c_str() : nullptr,
         .certificate_authority = given(place.certificate_authority)});
  } catch (const std::invalid_argument& e) {
    throw UsageError(e.what());
  }
}

} // namespace tributary::cli
