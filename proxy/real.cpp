#include "real.hpp"

#include "audit/elf_file.hpp"
#include "hearth/libraries.hpp"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

extern "C" {
// The audit library writes here which file the program was about to load; empty without the audit library. A library
// that exports this name is a drop-in.
__attribute__((visibility("default"))) char hearth_real_library[4096] = {};
}

namespace hearth::proxy {

namespace {

using OwnedPath = std::unique_ptr<char, decltype(&std::free)>;

OwnedPath real_path_of(const char* path)
{
    return {::realpath(path, nullptr), &std::free};
}

const char* configured()
{
    const char* const path = std::getenv(k_real_variable);
    return path != nullptr ? path : "";
}

// Done when the library is loaded, because the program may change its directory later.
__attribute__((constructor)) void settle_configured()
{
    if (hearth_real_library[0] != '\0' || *configured() == '\0')
        return;
    const OwnedPath path = real_path_of(configured());
    if (path && std::strlen(path.get()) < sizeof hearth_real_library)
        std::memcpy(hearth_real_library, path.get(), std::strlen(path.get()) + 1);
}

// Whether it is ours, a copy of ours, or another Hearth's: drop-ins would call each other in a circle.
bool is_dropin(const std::string& path)
{
    audit::ElfFile file;
    return file.open(path.c_str()) && file.exports("hearth_real_library");
}

std::string find_real()
{
    const char* const told = hearth_real_library[0] != '\0' ? hearth_real_library : configured();
    if (*told != '\0') {
        const OwnedPath path = real_path_of(told);
        if (!path)
            return {};
        if (!is_dropin(path.get()))
            return path.get();
    }
    // Without the audit library (LD_LIBRARY_PATH or LD_PRELOAD) the first library that is not a drop-in is taken.
    for (const std::string& path : files_matching(library_directories(), std::string(k_soname) + "*"))
        if (!is_dropin(path))
            return path;
    return {};
}

struct Loaded {
    void* handle = nullptr;
};

struct Table {
    std::unique_ptr<audit::ElfFile> file;  // null: it cannot be read
};

std::atomic<const std::string*> g_real_path{nullptr};
std::atomic<const Loaded*> g_loaded{nullptr};
std::atomic<const Table*> g_table{nullptr};

}  // namespace

const std::string& real_path()
{
    return made_once(g_real_path, find_real);
}

bool real_has(const char* name)
{
    const Table& table = made_once(g_table, [] {
        auto file = std::make_unique<audit::ElfFile>();
        return Table{!real_path().empty() && file->open(real_path().c_str()) ? std::move(file) : nullptr};
    });
    return table.file == nullptr || table.file->exports(name);
}

void* real_function(const char* name)
{
    const Loaded& library = made_once(g_loaded, [] {
        Loaded made;
        // Two slashes tell the audit library that the real one is meant.
        if (!real_path().empty())
            made.handle = ::dlopen(("/" + real_path()).c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        return made;
    });
    return library.handle != nullptr ? ::dlsym(library.handle, name) : nullptr;
}

}  // namespace hearth::proxy
