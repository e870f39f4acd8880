#include "process/dropin.hpp"

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

std::string serve_children()
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
    std::string audit = folder + "/" + k_audit_library;
    if (const char* others = std::getenv("LD_AUDIT"); others != nullptr && *others != '\0') {
        // If `hearth run` runs `hearth run`, one of them is enough.
        const std::string_view list = others;
        if (list == audit || list.starts_with(audit + ":"))
            return {};
        audit += ":" + std::string(list);
    }
    ::setenv("LD_AUDIT", audit.c_str(), 1);
    return {};
}

}  // namespace hearth::cli
