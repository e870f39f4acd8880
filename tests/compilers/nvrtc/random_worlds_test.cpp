#include "nvrtc_fixture.hpp"

#include "support/header_worlds.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <fmt/format.h>

namespace hearth::test {

namespace {

// Random trees of headers, options, a variable and a working directory. After every random change, what the cache gives
// is what NVRTC itself gives.
class RandomWorlds : public NvrtcTest {
protected:
    // False: what it changed is nothing that a compile asks.
    bool change()
    {
        switch (m_headers.any(12)) {
        case 0:
            ::setenv("NVRTC_APPEND_FLAGS", m_headers.any(2) == 0 ? "-DSWITCH" : "-DOTHER", 1);
            return true;
        case 1:
            ::unsetenv("NVRTC_APPEND_FLAGS");
            return true;
        case 2:
            std::filesystem::current_path(m_headers.any(2) == 0 ? std::string("/")
                                                                : m_scratch / m_headers.any_directory());
            return true;
        case 3:
            std::swap(m_order[m_headers.any(m_order.size())], m_order[m_headers.any(m_order.size())]);
            return true;
        case 4:
            m_defined = m_headers.any(2) == 0;
            return true;
        default:
            return m_headers.change();
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

    HeaderWorlds m_headers{m_scratch.path(), seed()};
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
        std::filesystem::current_path("/");
        m_headers.begin();
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
