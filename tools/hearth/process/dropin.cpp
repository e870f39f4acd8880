#include "process/dropin.hpp"

#include "base/launch_variable.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include <unistd.h>

namespace hearth::cli {

namespace {

namespace fs = std::filesystem;

// Where they are in a build folder, and where when installed.
std::vector<fs::path> usual_places()
{
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    if (error)
        return {};
    const fs::path beside = program.parent_path();
    return {beside / "dropin", beside.parent_path() / HEARTH_LIBDIR / "hearth"};
}

}  // namespace

std::string dropin_folder()
{
    std::vector<fs::path> places;
    if (const char* configured = std::getenv("HEARTH_DROPIN"); configured != nullptr && *configured != '\0')
        places.emplace_back(configured);
    else
        places = usual_places();
    for (const fs::path& place : places)
        if (::access((place / k_audit_library).c_str(), R_OK) == 0)
            return fs::absolute(place).lexically_normal().string();
    return {};
}

void put_first(const char* name, const std::string& entry)
{
    const char* const value = std::getenv(name);
    const std::string_view others = value != nullptr ? value : "";
    if (others.empty())
        ::setenv(name, entry.c_str(), 1);
    else if (others != entry && !others.starts_with(entry + ":"))
        ::setenv(name, fmt::format("{}:{}", entry, others).c_str(), 1);
}

std::string serve_children(bool processes)
{
    const std::string folder = dropin_folder();
    if (folder.empty())
        return fmt::format(
            "The drop-in libraries ({} and others) are not beside this command. Install all of Hearth, or "
            "say where they are with HEARTH_DROPIN.",
            k_audit_library);
    // The loader takes a list of paths, in which these two characters cannot be escaped.
    if (folder.find_first_of(": ") != std::string::npos)
        return fmt::format(
            "The drop-in libraries are in \"{}\", and the dynamic loader takes no path with a colon or a "
            "blank. Install Hearth elsewhere.",
            folder);
    put_first("LD_AUDIT", folder + "/" + k_audit_library);
    if (!processes)
        return {};
    put_first("LD_PRELOAD", folder + "/libhearth_launcher.so");
    // A program built with AddressSanitizer refuses to run if another library comes before its own, lest that hide
    // functions from it. Ours has none that it wants.
    put_first("ASAN_OPTIONS", "verify_asan_link_order=0");
    std::error_code error;
    ::setenv(base::k_launch_variable, fs::read_symlink("/proc/self/exe", error).c_str(), 1);
    return {};
}

}  // namespace hearth::cli
