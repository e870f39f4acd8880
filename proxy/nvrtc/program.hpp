#pragma once

#include "hearth/nvrtc.hpp"
#include "nvrtc/real_library.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace hearth::proxy {

// The values of nvrtcResult that are returned here.
enum Status : int {
    k_success = 0,
    k_invalid_input = 3,
    k_invalid_program = 4,
    k_invalid_option = 5,
    k_compilation = 6,
    k_names_after_compilation = 8,
    k_names_before_compilation = 9,
    k_name_not_valid = 10,
    k_internal = 11,
    k_no_pch = 13,
};

// Something that a program asks for after a compile.
struct Output {
    enum class Kind : std::uint8_t { bytes, text };       // text has a zero at its end
    enum class Known : std::uint8_t { always, in_some };  // which versions of NVRTC have it
    const char* section;
    const char* size;  // the function that tells its size
    const char* get;
    Kind kind;
    Known known;
};

// What a program's nvrtcProgram points to: what it was given, and the results of its compiles. If only the real library
// can compile it, it gets a real program too. That is then asked first, and earlier results stay here.
// Thread safety: as NVRTC's own, one thread at a time.
class Program {
public:
    using FlowCallback = int(void*, void*);

    explicit Program(nvrtc::Program asked) : m_asked(std::move(asked)) {}
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    // The program behind a handle; null if the handle is not ours.
    static Program* of(void* handle);

    int add_name(const char* expression);
    int compile(int count, const char* const* options);
    int lowered_name(const char* expression, const char** name);

    int size_of(const Output& output, std::size_t* size);
    int get(const Output& output, char* out);

    int pch_status();
    int pch_heap_required(std::size_t* size);
    int set_flow_callback(FlowCallback* callback, void* payload);

private:
    static constexpr std::uint64_t k_alive = 0x68656172'7468'6e76;

    bool asks_real(const Output& output) const;
    std::string_view made(const Output& output) const;
    // A compile begins: the PTX and the log of the last one are gone, whatever the result.
    void begin(std::string log);
    int compile_through_cache();
    int compile_cached(Cache& store);
    int compile_real(const std::string& reason);
    int refuse(const std::string& why, double spent_ms);
    // Creates the same program in the real library; null if there is no real library.
    const RealLibrary* become_real();

    std::uint64_t m_alive = k_alive;
    nvrtc::Program m_asked;
    // By section. A section that a later compile does not give stays, as in NVRTC: after a compile for compute_80, or a
    // failed one, the CUBIN is still that of the last compile that gave one.
    std::map<std::string, Bytes, std::less<>> m_made;
    std::string m_log;
    bool m_is_refused = false;               // compiling is forbidden: the log is ours, even if the rest is not
    bool m_takes_names = true;               // until a compile gets past its options
    std::optional<nvrtc::Compiled> m_named;  // the last compile that succeeded, which knows the lowered names
    std::set<std::string> m_lowered;         // those that were asked for: callers keep pointers to them
    FlowCallback* m_callback = nullptr;
    void* m_payload = nullptr;
    RealProgram* m_real = nullptr;
};

}  // namespace hearth::proxy
