#pragma once

#include <string>
#include <vector>

namespace hearth::cli {

struct FoundCompiler {
    std::string kind;               // "NVRTC", "nvJitLink", "libNVVM", "nvcc", "clang", "g++"
    std::string path;               // with links followed
    std::string why_not_watched{};  // of a library: why what it compiles cannot be kept
    std::string named_by{};         // the variable that names it; empty: it was found
};

struct FoundOpenCl {
    std::string file;     // the .icd
    std::string library;  // what it names
};

struct FoundGpu {
    std::string name;
    std::string where;  // PCI address, or the device node if nothing else is known
};

struct FoundDriver {
    std::string version;  // as the kernel module reports it; empty without one
    std::string library;  // libcuda.so.1; empty when it is not there
};

// All of these only look at files. No library is loaded and no program is run, so they are quick, and harmless on a
// machine whose driver is broken.
std::vector<FoundCompiler> find_compilers();
std::vector<FoundOpenCl> find_opencl();
std::vector<FoundGpu> find_gpus();
FoundDriver find_driver();

}  // namespace hearth::cli
