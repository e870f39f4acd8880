#include "sample_entries.hpp"

#include <fmt/format.h>
#include <random>

namespace hearth::bench {

Key numbered_key(std::uint64_t number)
{
    return Key::of("bench", number);
}

Artifact assembly_artifact(std::size_t bytes, std::uint64_t seed)
{
    static constexpr const char* k_instructions[] = {"ld.global.nc.f32",   "fma.rn.f32",        "st.shared.v4.f32",
                                                     "mad.lo.s32",         "setp.ge.s32",       "bar.sync",
                                                     "shfl.sync.bfly.b32", "cvta.to.global.u64"};
    std::mt19937_64 random(seed);
    std::string text;
    while (text.size() < bytes)
        text += fmt::format("\t{} \t%f{}, [%rd{}+{}];\n", k_instructions[random() % 8], random() % 256, random() % 32,
                            (random() % 64) * 16);
    text.resize(bytes);
    Artifact artifact;
    artifact.sections.push_back({"ptx", Bytes::copy_of(text)});
    artifact.metadata = {"saxpy<float>", "nvrtc 13.0.88", "sm_90", {"-std=c++20", "-arch=sm_90"}};
    artifact.cost = std::chrono::milliseconds(30 + random() % 2000);
    artifact.created = std::chrono::system_clock::now();
    return artifact;
}

}  // namespace hearth::bench
