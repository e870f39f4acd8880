// Gives a program Hearth's libnvrtc when it asks for NVIDIA's, whether it is linked with it or opens it by name or
// path.
//
// The dynamic loader loads this library apart from everything else (LD_AUDIT, see rtld-audit(7)) and asks it about
// every library it is about to open. All other libraries are left as they are. This library is linked with libc alone,
// and a program can notice nothing of it but that one answer.
//
// Names that begin with two slashes are Hearth's own way to the real library (base/shared_library.cpp).

#include "audit/elf_file.hpp"
#include "audit/known_libraries.hpp"

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <initializer_list>
#include <link.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hearth::audit {

namespace {

constexpr std::size_t k_path = 4096;
static_assert(k_path >= PATH_MAX, "realpath() writes as much");
constexpr const char* k_place_of_real = "hearth_real_library";  // real.cpp

// The loader holds its lock while it asks us: one thread at a time is here.
struct Stand {
    const Known* known;
    char path[k_path];  // of ours
    dev_t device;       // of the real library that ours stands in for; 0: none yet
    ino_t inode;
};

Stand g_stands[k_known_count];
// The real library that is about to be opened. Ours gets its path once it is opened, since programs also ask whether a
// library is there without opening it.
struct {
    Stand* stand;
    char asked[k_path];  // as the loader asked for it
    char path[k_path];   // its real path: the program may change its directory
    dev_t device;
    ino_t inode;
} g_pending;
bool g_on = false;
// For `hearth doctor --program`: reports every compiler's library that would be used as it is, and replaces none.
bool g_explaining = false;

// Whether a variable says one of these words, in letters of either case, as src/config reads it, which cannot be used
// here.
bool says(const char* variable, std::initializer_list<const char*> words)
{
    const char* const text = std::getenv(variable);
    for (const char* word : words)
        if (text != nullptr && ::strcasecmp(text, word) == 0)
            return true;
    return false;
}

bool is_quiet()
{
    return std::getenv("HEARTH_QUIET") != nullptr && !says("HEARTH_QUIET", {"", "0", "false", "no", "off"});
}

// Whatever happens, the program runs. If it runs without Hearth, one line says so.
void say(const char* library, const char* why)
{
    static bool said = false;
    if (!g_explaining && (said || is_quiet()))
        return;
    said = true;
    char line[k_path + 256];
    const int size = std::snprintf(line, sizeof line, "hearth: %s is used as it is: %s.\n", library, why);
    if (size > 0 &&
        ::write(STDERR_FILENO, line,
                static_cast<std::size_t>(size) < sizeof line ? static_cast<std::size_t>(size) : sizeof line) < 0)
        return;
}

void prepare()
{
    g_explaining = std::getenv("HEARTH_EXPLAIN") != nullptr;
    if (says("HEARTH_DISABLE", {"1", "true", "yes", "on"}))
        return;
    // Our drop-ins are beside this library.
    Dl_info own{};
    if (::dladdr(reinterpret_cast<void*>(&prepare), &own) == 0 || own.dli_fname == nullptr)
        return;
    const char* slash = std::strrchr(own.dli_fname, '/');
    if (slash == nullptr)
        return;
    for (std::size_t i = 0; i < k_known_count; ++i) {
        Stand& stand = g_stands[i];
        stand.known = &k_known[i];
        const int size = std::snprintf(stand.path, sizeof stand.path, "%.*s/%s",
                                       static_cast<int>(slash - own.dli_fname), own.dli_fname, stand.known->soname);
        if (size <= 0 || static_cast<std::size_t>(size) >= sizeof stand.path || ::access(stand.path, R_OK) != 0)
            stand.known = nullptr;
        else
            g_on = true;
    }
}

// Whether the name is of this family: "libnvrtc.so", "libnvrtc.so.13", "libnvrtc-1a2b3c4d.so.12". libnvrtc-builtins,
// the library of built-in headers, is not.
bool is_of_family(const char* name, const char* family)
{
    const std::size_t length = std::strlen(family);
    if (std::strncmp(name, family, length) != 0)
        return false;
    name += length;
    if (*name == '-') {
        ++name;
        const std::size_t digits = std::strspn(name, "0123456789abcdef");
        if (digits != 8)
            return false;
        name += digits;
    }
    return std::strncmp(name, ".so", 3) == 0 && std::strspn(name + 3, ".0123456789") == std::strlen(name + 3);
}

// Our drop-in for that file, or null if the file is to be left alone.
Stand* stand_for(const char* path)
{
    const char* slash = std::strrchr(path, '/');
    const char* name = slash != nullptr ? slash + 1 : path;
    bool any = false;
    for (const Known& known : k_known)
        any |= is_of_family(name, known.family);
    if (!any)
        return nullptr;
    struct stat facts {};
    if (::stat(path, &facts) != 0 || !S_ISREG(facts.st_mode))
        return nullptr;  // not there: the loader goes on looking
    ElfFile file;
    if (!file.open(path))
        return nullptr;
    for (Stand& stand : g_stands) {
        if (stand.known == nullptr || !file.has_soname(stand.known->soname))
            continue;
        if (file.exports(k_place_of_real))
            return nullptr;  // a drop-in already
        if (const char* unknown = file.first_unknown(stand.known->functions, stand.known->prefixes)) {
            char why[256];
            std::snprintf(why, sizeof why, "it has %s, which this Hearth does not know", unknown);
            say(path, why);
            return nullptr;
        }
        if (stand.inode != 0 && (stand.device != facts.st_dev || stand.inode != facts.st_ino)) {
            say(path, "this process already uses another one of the same major version");
            return nullptr;
        }
        g_pending.stand = nullptr;
        const int size = std::snprintf(g_pending.asked, sizeof g_pending.asked, "%s", path);
        if (size < 0 || static_cast<std::size_t>(size) >= sizeof g_pending.asked ||
            ::realpath(path, g_pending.path) == nullptr)
            return nullptr;
        g_pending.stand = &stand;
        g_pending.device = facts.st_dev;
        g_pending.inode = facts.st_ino;
        return &stand;
    }
    return nullptr;
}

// Where our library keeps the path of the real one, in the process that has just mapped it.
char* real_path_in(const link_map* map)
{
    const ElfW(Sym)* symbols = nullptr;
    const char* names = nullptr;
    const std::uint32_t* hash = nullptr;
    const auto at = [&](ElfW(Addr) address) {
        // The loader may or may not have added the base yet.
        return address < map->l_addr ? address + map->l_addr : address;
    };
    // NOLINTBEGIN(performance-no-int-to-ptr): the loader keeps addresses as numbers
    for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag == DT_SYMTAB)
            symbols = reinterpret_cast<const ElfW(Sym)*>(at(entry->d_un.d_ptr));
        else if (entry->d_tag == DT_STRTAB)
            names = reinterpret_cast<const char*>(at(entry->d_un.d_ptr));
        else if (entry->d_tag == DT_HASH)
            hash = reinterpret_cast<const std::uint32_t*>(at(entry->d_un.d_ptr));
    }
    if (symbols == nullptr || names == nullptr || hash == nullptr)
        return nullptr;
    for (std::uint32_t i = 0; i < hash[1]; ++i)
        if (symbols[i].st_shndx != SHN_UNDEF && std::strcmp(names + symbols[i].st_name, k_place_of_real) == 0)
            return symbols[i].st_size >= k_path ? reinterpret_cast<char*>(map->l_addr + symbols[i].st_value) : nullptr;
    // NOLINTEND(performance-no-int-to-ptr)
    return nullptr;
}

}  // namespace

}  // namespace hearth::audit

extern "C" {

__attribute__((visibility("default"))) unsigned la_version(unsigned version)
{
    hearth::audit::prepare();
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

__attribute__((visibility("default"))) char* la_objsearch(const char* name, std::uintptr_t* /*cookie*/,
                                                          unsigned /*flag*/)
{
    using namespace hearth::audit;
    char* const unchanged = const_cast<char*>(name);
    // Only paths: for a bare name the loader later asks us about every path that it tries.
    if (!g_on || std::strchr(name, '/') == nullptr || (name[0] == '/' && name[1] == '/'))
        return unchanged;
    Stand* const stand = stand_for(name);
    return stand != nullptr && !g_explaining ? stand->path : unchanged;
}

__attribute__((visibility("default"))) unsigned la_objopen(link_map* map, Lmid_t /*space*/, std::uintptr_t* /*cookie*/)
{
    using namespace hearth::audit;
    // The library that was asked for may have been loaded already, or never be opened: then this is another one. The
    // loader names ours by its own path, or by the one it looked for.
    if (g_pending.stand == nullptr || map->l_name == nullptr ||
        (std::strcmp(map->l_name, g_pending.stand->path) != 0 && std::strcmp(map->l_name, g_pending.asked) != 0))
        return 0;
    char* const place = g_explaining ? nullptr : real_path_in(map);
    if (place != nullptr)
        std::memcpy(place, g_pending.path, sizeof g_pending.path);
    if (place != nullptr || g_explaining) {
        g_pending.stand->device = g_pending.device;
        g_pending.stand->inode = g_pending.inode;
        g_pending.stand = nullptr;
    }
    return 0;
}
}
