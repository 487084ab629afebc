#include "endpoint/launcher/run/ofi_transport.hpp"

#include "endpoint/launcher/start/starter.hpp"

#include <system_error>

namespace tributary::launch::run {

job::Variables ofi_variables(const std::optional<std::filesystem::path>& folder) {
  job::Variables all = {
      {"FI_PROVIDER", "tributary"},
      // Open MPI: matching by libfabric, and nothing else.
      {"OMPI_MCA_pml", "cm"},
      {"OMPI_MCA_mtl", "ofi"},
      {"OMPI_MCA_mtl_ofi_provider_include", "tributary"},
      {"MPIR_CVAR_OFI_USE_PROVIDER", "tributary"},
  };
  if (folder) {
    all.emplace_back("FI_PROVIDER_PATH", folder->string());
  }
  return all;
}

std::optional<std::filesystem::path> provider_folder() {
  namespace fs = std::filesystem;
  const fs::path here = fs::path(start::own_program()).parent_path();
  for (const fs::path& folder : {here / "../ofi", here / TRIBUTARY_LIBRARY_FOLDER / "libfabric"}) {
    std::error_code error;
    const fs::path found = fs::weakly_canonical(folder, error);
    if (!error && fs::is_regular_file(found / "libtributary-fi.so", error)) {
      return found;
    }
  }
  return std::nullopt;
}

} // namespace tributary::launch::run
