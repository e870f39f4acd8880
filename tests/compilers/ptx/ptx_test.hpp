#pragma once

#include "compilers/ptx/linker.hpp"
#include "hearth/ptx.hpp"
#include "support/isolated_environment.hpp"
#include "support/open_cache.hpp"
#include "support/scratch_directory.hpp"

#include <gtest/gtest.h>
#include <string>

namespace hearth::test {

// A module with one kernel that stores a number.
inline std::string ptx_text(int number = 7)
{
    return R"(.version 7.0
.target sm_75
.address_size 64
.visible .entry store(.param .u64 out)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, )" +
           std::to_string(number) + R"(;
    st.global.u32 [%rd2], %r1;
    ret;
}
)";
}

inline ptx::Program program_of(std::string text)
{
    return {.text = std::move(text), .name = "store.ptx", .target = "sm_90"};
}

class PtxTest : public testing::Test {
protected:
    // Empty: that linker is there.
    std::string why_not_there(ptx::Linker linker) const
    {
        Cache cache = open();
        const Result<ptx::Plan> plan = ptx::make_plan(cache, program_of(ptx_text()), {.linker = linker});
        return plan ? "" : plan.error().message;
    }
    Cache open() const { return open_cache(m_scratch / "cache"); }

    IsolatedEnvironment m_environment;
    ScratchDirectory m_scratch;
};

// What every CUBIN begins with: it is an ELF file.
inline bool is_cubin(ByteView bytes)
{
    return as_text(bytes).starts_with("\x7f"
                                      "ELF");
}

}  // namespace hearth::test
