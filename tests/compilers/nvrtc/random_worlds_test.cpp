#include "nvrtc_fixture.hpp"

#include "support/scale.hpp"
#include "support/seed.hpp"

#include <fmt/format.h>
#include <random>
#include <unistd.h>

namespace hearth::test {

namespace {

// A random tree of headers, with links, shadowing, several ways to ask for a header and several things to ask; options,
// a variable and a working directory. After every random change, what the cache gives is what NVRTC itself gives.
class RandomWorlds : public NvrtcTest {
protected:
    static constexpr int k_directories = 3;
    static constexpr int k_names = 6;

    void TearDown() override
    {
        ::unsetenv("NVRTC_APPEND_FLAGS");
        std::filesystem::current_path("/");
    }

    std::size_t any(std::size_t count) { return m_random() % count; }
    std::string any_directory() { return fmt::format("d{}", any(k_directories)); }
    std::string any_file() { return fmt::format("{}/h{}.h", any_directory(), any(k_names)); }

    // A header defines its own value from those of headers with higher numbers.
    std::string text(int name)
    {
        std::string body = any(2) == 0 ? "#pragma once\n" : fmt::format("#ifndef G{0}\n#define G{0}\n", name);
        const bool guarded = body.front() == '#' && body[1] == 'i';
        std::string sum = std::to_string(any(100));
        for (int other = name + 1; other < k_names; ++other) {
            if (any(3) == 0)
                continue;
            body += ask_for(other);
            sum += fmt::format(" + V{}", other);
        }
        if (any(6) == 0)
            sum += " + sizeof(__FILE__)";
        body += fmt::format("#undef V{0}\n#define V{0} ({1})\n", name, sum);
        return body + (guarded ? "#endif\n" : "");
    }

    std::string ask_for(int other)
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
            return fmt::format("#include \"../{}/{}\"\n", any_directory(), header);
        case 7:
            return fmt::format("#if __has_include_next(<{0}>)\n#include_next <{0}>\n#endif\n{1}", header, fallback);
        default:
            return fmt::format("#inc\\\nlude /* a */ \"{}\" // b\n", header);
        }
    }

    // False: what it changed is nothing that a compile asks.
    bool change()
    {
        const std::string file = any_file();
        const std::string path = m_scratch / file;
        const int name = file[4] - '0';
        switch (any(12)) {
        case 0:
            std::filesystem::remove(path);
            return true;
        case 1:
            write("d0/unrelated.h", std::to_string(m_random()));
            return false;
        case 2: {  // a link in its place
            std::filesystem::remove(path);
            std::error_code ignored;
            std::filesystem::create_symlink(m_scratch / any_file(), path, ignored);
            return true;
        }
        case 3: {  // the same bytes in another file
            std::error_code ignored;
            std::filesystem::copy_file(m_scratch / any_file(), path, std::filesystem::copy_options::overwrite_existing,
                                       ignored);
            return true;
        }
        case 4: {
            std::error_code ignored;
            std::filesystem::rename(m_scratch / any_file(), path, ignored);
            return true;
        }
        case 5:
            ::setenv("NVRTC_APPEND_FLAGS", any(2) == 0 ? "-DSWITCH" : "-DOTHER", 1);
            return true;
        case 6:
            ::unsetenv("NVRTC_APPEND_FLAGS");
            return true;
        case 7:
            std::filesystem::current_path(any(2) == 0 ? std::string("/") : m_scratch / any_directory());
            return true;
        case 8:
            std::swap(m_order[any(k_directories)], m_order[any(k_directories)]);
            return true;
        case 9:
            m_defined = any(2) == 0;
            return true;
        case 10:  // the time stamps alone
            // Links may lead in a circle.
            if (std::error_code ignored; std::filesystem::is_regular_file(path, ignored))
                std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now());
            return false;
        default:
            std::filesystem::remove(path);  // not through a link
            write(file, text(name));
            return true;
        }
    }

    nvrtc::Program program()
    {
        nvrtc::Program made{.source = "#include <h0.h>\n#include \"h1.h\"\n__global__ void k(int* x) { *x = V0 + V1; }",
                            .name = m_scratch / "main.cu",
                            .target = "compute_90"};
        for (const std::string& directory : m_order)
            made.options.push_back("-I" + (m_scratch / directory));
        if (m_defined)
            made.options.emplace_back("-DSWITCH");
        return made;
    }

    void begin()
    {
        std::filesystem::current_path("/");
        for (int directory = 0; directory < k_directories; ++directory) {
            std::filesystem::remove_all(m_scratch / fmt::format("d{}", directory));
            std::filesystem::create_directory(m_scratch / fmt::format("d{}", directory));
        }
        for (int name = 0; name < k_names; ++name)
            write(fmt::format("{}/h{}.h", any_directory(), name), text(name));
    }

    std::mt19937_64 m_random{seed()};
    std::vector<std::string> m_order{"d0", "d1", "d2"};
    bool m_defined = false;
};

TEST_F(RandomWorlds, are_answered_as_nvrtc_itself_answers)
{
    static constexpr std::size_t k_changes = 5;
    std::size_t hits = 0;
    std::size_t good = 0;
    const std::size_t worlds = scaled(100);
    for (std::size_t world = 0; world < worlds; ++world) {
        begin();
        for (std::size_t step = 0; step < k_changes; ++step) {
            const bool matters = step == 0 || change();
            const nvrtc::Program asked = program();
            std::string why;
            if (!matters) {
                const Explanation explanation = nvrtc::explain(*m_cache, asked).value();
                for (const Difference& difference : explanation.differences)
                    why += difference.field + "; ";
            }
            const nvrtc::Compiled compiled = compile(asked);
            const BareResult bare = m_bare->compile(asked);
            const std::string where = fmt::format("world {} step {}", world, step);
            ASSERT_EQ(compiled.status(), bare.status) << where;
            ASSERT_EQ(compiled.ptx(), bare.ptx) << where;
            ASSERT_EQ(compiled.log(), bare.log) << where;
            if (!matters) {
                ASSERT_EQ(compiled.outcome(), nvrtc::Outcome::hit)
                    << where << ": nothing that was asked has changed; " << why;
            }
            hits += compiled.outcome() == nvrtc::Outcome::hit ? 1U : 0U;
            good += compiled.failed() ? 0U : 1U;
        }
    }
    EXPECT_GT(hits, worlds / 2);
    EXPECT_GT(good, worlds / 2) << "hardly anything ever compiled";
}

}  // namespace

}  // namespace hearth::test
