#include "support/header_worlds.hpp"

#include "support/scratch_directory.hpp"

#include <filesystem>
#include <fmt/format.h>

namespace hearth::test {

namespace fs = std::filesystem;

void HeaderWorlds::begin(Once once)
{
    m_once = once;
    for (int directory = 0; directory < k_directories; ++directory) {
        fs::remove_all(fmt::format("{}/d{}", m_root, directory));
        fs::create_directory(fmt::format("{}/d{}", m_root, directory));
    }
    for (int name = 0; name < k_names; ++name) {
        write(fmt::format("{}/h{}.h", any_directory(), name), text(name));
        if (any(2) == 0)
            write(fmt::format("{}/h{}.h", any_directory(), name), text(name));
    }
}

std::string HeaderWorlds::any_directory()
{
    return fmt::format("d{}", any(k_directories));
}

std::string HeaderWorlds::any_file()
{
    return fmt::format("{}/h{}.h", any_directory(), any(k_names));
}

std::string HeaderWorlds::text(int name)
{
    const bool guarded = m_once == Once::guards || (m_once == Once::either && any(2) == 0);
    std::string body = guarded ? fmt::format("#ifndef G{0}\n#define G{0}\n", name) : "#pragma once\n";
    if (m_once == Once::pragmas)
        body += fmt::format("// {}\n", m_written++);
    std::string sum = std::to_string(any(100));
    for (int other = name + 1; other < k_names; ++other) {
        if (any(3) == 0)
            continue;
        body += ask_for(other);
        sum += fmt::format(" + V{}", other);
    }
    // Its length, or the letter that its directory ends with.
    if (any(6) == 0)
        sum += any(2) == 0 ? " + sizeof(__FILE__)" : " + (sizeof(__FILE__) > 7 ? __FILE__[sizeof(__FILE__) - 7] : 0)";
    if (any(6) == 0)
        body += "#ifdef OTHER\n#warning \"other\"\n#endif\n";
    body += fmt::format("#undef V{0}\n#define V{0} ({1})\n", name, sum);
    return body + (guarded ? "#endif\n" : "");
}

std::string HeaderWorlds::ask_for(int other)
{
    const std::string header = fmt::format("h{}.h", other);
    const std::string fallback = fmt::format("#ifndef V{0}\n#define V{0} 7\n#endif\n", other);
    switch (any(9)) {
    case 0:
        return fmt::format("#include <{}>\n", header);
    case 1:
        return fmt::format("#include \"{}\"\n", header);
    case 2:
        return fmt::format("#if __has_include(<{0}>)\n#include <{0}>\n#endif\n{1}", header, fallback);
    case 3:
        return fmt::format("#define H{0} <{1}>\n#include H{0}\n#undef H{0}\n", other, header);
    case 4:
        return fmt::format("#ifdef __CUDA_ARCH__\n#include <{}>\n#endif\n{}", header, fallback);
    case 5:
        return fmt::format("#ifdef SWITCH\n#include <{}>\n#endif\n{}", header, fallback);
    case 6:
        return fmt::format("#if __has_include(\"../{0}/{1}\")\n#include \"../{0}/{1}\"\n#endif\n{2}", any_directory(),
                           header, fallback);
    case 7:
        return fmt::format("#if __has_include_next(<{0}>)\n#include_next <{0}>\n#endif\n{1}", header, fallback);
    default:
        return fmt::format("#inc\\\nlude /* a */ \"{}\" // b\n", header);
    }
}

bool HeaderWorlds::change()
{
    const std::string file = any_file();
    const std::string path = m_root + "/" + file;
    std::error_code ignored;
    switch (any(8)) {
    case 0:
        fs::remove(path);
        return true;
    case 1:
        write("d0/unrelated.h", std::to_string(m_random()));
        return false;
    case 2:  // a link in its place
        fs::remove(path);
        fs::create_symlink(m_root + "/" + any_file(), path, ignored);
        return true;
    case 3:  // the same bytes in another file
        if (m_once != Once::pragmas)
            fs::copy_file(m_root + "/" + any_file(), path, fs::copy_options::overwrite_existing, ignored);
        return true;
    case 4:
        fs::rename(m_root + "/" + any_file(), path, ignored);
        return true;
    case 5:  // the time stamps alone
        // Links may lead in a circle.
        if (fs::is_regular_file(path, ignored))
            fs::last_write_time(path, fs::file_time_type::clock::now());
        return false;
    default:
        fs::remove(path);  // not through a link
        write(file, text(file[4] - '0'));
        return true;
    }
}

void HeaderWorlds::write(const std::string& file, const std::string& content) const
{
    write_file(m_root + "/" + file, content);
}

}  // namespace hearth::test
