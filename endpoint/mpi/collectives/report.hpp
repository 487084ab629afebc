// Messages for people, on standard error; each line begins with "Tributary MPI: ".
#pragma once

#include <string>

namespace tributary::mpi::collectives {

void say(const std::string& text);

} // namespace tributary::mpi::collectives
