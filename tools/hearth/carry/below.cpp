#include "carry/below.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace hearth::cli::carry {

std::optional<std::vector<std::string>> names_in(int folder)
{
    Descriptor copy(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(copy.get()),
                                                      [](DIR* open) { return ::closedir(open); });
    if (!listing)
        return std::nullopt;
    copy.release();
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* const entry = ::readdir(listing.get()))
        if (const std::string_view name = entry->d_name; name != "." && name != "..")
            names.emplace_back(name);
    if (errno != 0)
        return std::nullopt;
    std::sort(names.begin(), names.end());
    return names;
}

std::pair<Descriptor, std::string> open_parent(int top, const std::string& path)
{
    std::string_view rest = path;
    Descriptor folder(::openat(top, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    while (rest.find('/') != std::string_view::npos && folder.get() >= 0) {
        const std::string name(base::take_until('/', rest));
        folder = Descriptor(::openat(folder.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    }
    return {std::move(folder), std::string(rest)};
}

void remove_all(int folder, const std::string& name)
{
    if (::unlinkat(folder, name.c_str(), 0) == 0)
        return;
    const Descriptor inner(::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (inner.get() < 0)
        return;
    for (const std::string& one : names_in(inner.get()).value_or(std::vector<std::string>()))
        remove_all(inner.get(), one);
    ::unlinkat(folder, name.c_str(), AT_REMOVEDIR);
}

}  // namespace hearth::cli::carry
