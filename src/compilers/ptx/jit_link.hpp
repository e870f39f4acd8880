#pragma once

#include "compilers/ptx/linker.hpp"

namespace hearth::ptx {

// Links with the libnvJitLink at `path`.
Result<Artifact> link_with_nvjitlink(const std::string& path, const Job& job);

}  // namespace hearth::ptx
