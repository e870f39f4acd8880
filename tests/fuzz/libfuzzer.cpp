// The fuzzer that HEARTH_FUZZER names, for libFuzzer to run.

#include "fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const char* const s_name = std::getenv("HEARTH_FUZZER");
    static const hearth::fuzz::Fuzzer* const s_fuzzer = hearth::fuzz::fuzzer_named(s_name != nullptr ? s_name : "");
    hearth::fuzz::require(s_fuzzer != nullptr, "HEARTH_FUZZER is the name of a fuzzer, such as entry");
    s_fuzzer->try_input({reinterpret_cast<const char*>(data), size});
    return 0;
}
