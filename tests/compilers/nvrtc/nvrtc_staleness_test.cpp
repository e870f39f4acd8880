#include "nvrtc_fixture.hpp"

#include "support/scale.hpp"
#include "support/seed.hpp"

#include <fmt/format.h>
#include <random>

namespace hearth::test {

namespace {

// Random edits to a random tree of headers; after each, what the cache gives is what a fresh compile gives.
class NvrtcStaleness : public NvrtcTest {
protected:
    static constexpr int k_directories = 3;
    static constexpr int k_names = 6;

    static std::string header(int directory, int name) { return fmt::format("d{}/h{}.h", directory, name); }

    // A header defines its own value from those of headers with higher numbers, which it asks for in several ways.
    std::string text(int name, std::mt19937_64& random) const
    {
        std::string body = "#pragma once\n";
        std::string sum = std::to_string(random() % 100);
        for (int other = name + 1; other < k_names; ++other) {
            switch (random() % 5) {
            case 0:
                body += fmt::format("#include <h{}.h>\n", other);
                sum += fmt::format(" + V{}", other);
                break;
            case 1:
                body += fmt::format("#include \"h{}.h\"\n", other);
                sum += fmt::format(" + V{}", other);
                break;
            case 2:
                body +=
                    fmt::format("#if __has_include(<h{0}.h>)\n#include <h{0}.h>\n#endif\n#ifndef V{0}\n#define V{0} "
                                "7\n#endif\n",
                                other);
                sum += fmt::format(" + V{}", other);
                break;
            default:
                break;
            }
        }
        return body + fmt::format("#undef V{0}\n#define V{0} ({1})\n", name, sum);
    }
};

TEST_F(NvrtcStaleness, after_random_edits_a_hit_is_what_a_fresh_compile_gives)
{
    std::mt19937_64 random(seed());
    for (int name = 0; name < k_names; ++name)
        write(header(static_cast<int>(random() % k_directories), name), text(name, random));
    nvrtc::Program program{.source = "#include <h0.h>\n#include <h1.h>\n__global__ void k(int* x) { *x = V0 + V1; }",
                           .name = m_scratch / "main.cu",
                           .target = "compute_90"};
    for (int directory = 0; directory < k_directories; ++directory)
        program.options.push_back("-I" + (m_scratch / fmt::format("d{}", directory)));
    int hits = 0;
    int failures = 0;
    const std::size_t edits = scaled(500);
    for (std::size_t edit = 0; edit < edits; ++edit) {
        const std::string file =
            header(static_cast<int>(random() % k_directories), static_cast<int>(random() % k_names));
        const int name = file[4] - '0';
        switch (random() % 4) {
        case 0:
            std::filesystem::remove(m_scratch / file);
            break;
        case 1:
            write("d0/unrelated.h", std::to_string(edit));
            break;
        default:
            write(file, text(name, random));
        }
        const nvrtc::Compiled compiled = compile(program);
        const BareResult bare = m_bare->compile(program);
        hits += compiled.outcome() == nvrtc::Outcome::hit;
        failures += compiled.failed();
        ASSERT_EQ(compiled.status(), bare.status) << "edit " << edit;
        ASSERT_EQ(compiled.ptx(), bare.ptx) << "edit " << edit;
        ASSERT_EQ(compiled.log(), bare.log) << "edit " << edit;
    }
    EXPECT_GT(hits, 0);
    EXPECT_LT(failures, static_cast<int>(edits)) << "nothing ever compiled";
}

}  // namespace

}  // namespace hearth::test
