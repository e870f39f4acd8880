// The parts of hearth.h that tell what went wrong, and by which library.

#include "c/handles.hpp"

#include <array>

namespace hearth::c {

namespace {

struct Row {
    hearth_status status;
    const char* name;
    Code code;
};

// The statuses of hearth.h by their values, which stay.
constexpr std::array k_rows{
    Row{HEARTH_OK, "ok", Code::compile_failed},
    Row{HEARTH_INVALID_ARGUMENT, "invalid_argument", Code::invalid_argument},
    Row{HEARTH_NOT_FOUND, "not_found", Code::not_found},
    Row{HEARTH_TOO_LARGE, "too_large", Code::too_large},
    Row{HEARTH_IO, "io", Code::io},
    Row{HEARTH_NO_SPACE, "no_space", Code::no_space},
    Row{HEARTH_CORRUPT, "corrupt", Code::corrupt},
    Row{HEARTH_OTHER_VERSION, "other_version", Code::other_version},
    Row{HEARTH_COMPILE_FAILED, "compile_failed", Code::compile_failed},
    Row{HEARTH_COMPILE_FORBIDDEN, "compile_forbidden", Code::compile_forbidden},
    Row{HEARTH_TIMEOUT, "timeout", Code::timeout},
    Row{HEARTH_UNAVAILABLE, "unavailable", Code::unavailable},
    Row{HEARTH_DENIED, "denied", Code::denied},
    Row{HEARTH_NO_MEMORY, "no_memory", Code::no_memory},
};

constexpr hearth_status status_of(Code code)
{
    for (const Row& row : k_rows)
        if (row.code == code && row.status != HEARTH_OK)
            return row.status;
    return HEARTH_IO;
}

const Row* row_of(hearth_status status)
{
    const auto index = static_cast<std::size_t>(status);
    return index < k_rows.size() ? &k_rows[index] : nullptr;
}

// One a thread is enough: a call that fails is asked about at once, or never.
struct LastError {
    const hearth_cache* cache = nullptr;
    std::string text;
};
thread_local LastError t_last;

}  // namespace

hearth_status fail(const hearth_cache* cache, const Error& error) noexcept
try {
    t_last.cache = cache;
    t_last.text = error.log.empty() ? error.message : error.message + "\n" + error.log;
    return status_of(error.code);
} catch (...) {
    return fail_without_memory(cache);
}

hearth_status fail(const hearth_cache* cache, Code code, const char* sentence) noexcept
try {
    return fail(cache, Error{code, sentence, {}});
} catch (...) {
    return fail_without_memory(cache);
}

hearth_status fail_without_memory(const hearth_cache* cache) noexcept
{
    t_last.cache = cache;
    t_last.text = "Out of memory.";  // so short that a string has room for it
    return HEARTH_NO_MEMORY;
}

Code code_of(hearth_status status) noexcept
{
    const Row* const row = row_of(status);
    return row != nullptr ? row->code : Code::unavailable;
}

}  // namespace hearth::c

const char* hearth_error(const hearth_cache* cache)
{
    return hearth::c::t_last.cache == cache ? hearth::c::t_last.text.c_str() : "";
}

const char* hearth_status_name(hearth_status status)
{
    const hearth::c::Row* const row = hearth::c::row_of(status);
    return row != nullptr ? row->name : "unknown";
}

const char* hearth_version(void)
{
    return HEARTH_VERSION;
}
