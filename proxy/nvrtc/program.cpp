#include "nvrtc/program.hpp"

#include "base/error.hpp"
#include "process_cache.hpp"
#include "real.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <fmt/format.h>
#include <vector>

namespace hearth::proxy {

namespace {

// What NVRTC writes if there are fewer options than their number says.
constexpr const char* k_missing_option =
    "nvrtc: error: number of arguments supplied does not match number of arguments specified";

std::vector<const char*> pointers(const std::vector<std::string>& texts)
{
    std::vector<const char*> all;
    all.reserve(texts.size());
    for (const std::string& text : texts)
        all.push_back(text.c_str());
    return all;
}

// Precompiled headers that are asked for by name leave a state that other calls ask for, so the real library does all
// of it. Automatic ones (--pch) are only a means to compile faster; a program that is answered from the cache is told
// that none was needed.
bool leaves_a_state(std::string_view option)
{
    static constexpr std::array<std::string_view, 5> k_names{"create-pch", "use-pch", "pch-dir", "pch-verbose",
                                                             "pch-messages"};
    if (!option.starts_with('-'))
        return false;
    option.remove_prefix(option.starts_with("--") ? 2 : 1);
    option = option.substr(0, option.find_first_of("= \t"));
    return std::find(k_names.begin(), k_names.end(), option) != k_names.end();
}

double milliseconds_since(std::chrono::steady_clock::time_point start)
{
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Program* Program::of(void* handle)
{
    auto* const program = static_cast<Program*>(handle);
    return program != nullptr && program->m_alive == k_alive ? program : nullptr;
}

Program::~Program()
{
    m_alive = 0;
    if (m_real != nullptr)
        if (const RealLibrary* real = RealLibrary::loaded())
            real->destroy(&m_real);
}

const RealLibrary* Program::become_real()
{
    const RealLibrary* const real = RealLibrary::loaded();
    if (real == nullptr || m_real != nullptr)
        return real;
    std::vector<const char*> contents;
    std::vector<const char*> names;
    for (const nvrtc::Header& header : m_asked.headers) {
        contents.push_back(header.content.c_str());
        names.push_back(header.name.c_str());
    }
    if (real->create(&m_real, m_asked.source.c_str(), m_asked.name.empty() ? nullptr : m_asked.name.c_str(),
                     static_cast<int>(contents.size()), contents.data(), names.data()) != k_success) {
        m_real = nullptr;
        return nullptr;
    }
    for (const std::string& expression : m_asked.name_expressions)
        real->add_name(m_real, expression.c_str());
    if (m_callback != nullptr && real->set_flow_callback != nullptr)
        real->set_flow_callback(m_real, m_callback, m_payload);
    return real;
}

int Program::add_name(const char* expression)
{
    if (expression == nullptr)
        return k_invalid_input;
    if (!m_takes_names)
        return k_names_after_compilation;
    // A name that is given twice counts once.
    std::vector<std::string>& known = m_asked.name_expressions;
    if (std::find(known.begin(), known.end(), expression) != known.end())
        return k_success;
    known.emplace_back(expression);
    return m_real != nullptr ? become_real()->add_name(m_real, expression) : k_success;
}

void Program::begin(std::string log)
{
    m_made.erase("ptx");
    m_log = std::move(log);
    m_is_refused = false;
}

int Program::compile(int count, const char* const* options)
{
    if (count < 0)
        return k_invalid_input;
    std::vector<std::string> all;
    for (int i = 0; i < count; ++i) {
        if (options == nullptr || options[i] == nullptr) {
            begin(k_missing_option);
            return m_real != nullptr ? become_real()->compile(m_real, count, options) : k_invalid_option;
        }
        all.emplace_back(options[i]);
    }
    begin({});
    m_asked.options = std::move(all);
    if (m_callback != nullptr)
        return compile_real("its progress is watched by a callback");
    if (m_real != nullptr)
        return compile_real("it was compiled past the cache before");
    if (std::any_of(m_asked.options.begin(), m_asked.options.end(), leaves_a_state))
        return compile_real("precompiled headers");
    if (real_path().empty())
        return compile_real(fmt::format("no {} of NVIDIA's was found", k_soname));
    return compile_through_cache();
}

// Whatever goes wrong in the cache, the real library does it.
int Program::compile_through_cache()
try {
    Cache* const store = cache();
    if (store != nullptr && !store->has_tiers() && std::ranges::find(m_asked.options, "--pch") != m_asked.options.end())
        return compile_real("the cache is turned off");
    return store != nullptr ? compile_cached(*store) : compile_real("no cache could be opened");
} catch (...) {
    begin({});
    return compile_real("the cache failed: " + what_was_thrown());
}

int Program::compile_cached(Cache& store)
{
    const auto start = std::chrono::steady_clock::now();
    Result<nvrtc::Compiled> compiled = nvrtc::compile(store, m_asked, {.library = real_path()});
    if (compiled && compiled->outcome() != Outcome::hit)
        flush_at_exit();
    const double spent = milliseconds_since(start);
    if (!compiled) {
        if (compiled.error().code == Code::compile_forbidden)
            return refuse(compiled.error().message, spent);
        // A problem with the cache must not become the program's problem.
        return compile_real(compiled.error().message);
    }
    m_log = compiled->log();
    for (const Section& section : compiled->artifact().sections)
        m_made[section.name] = section.data;
    const int status = compiled->status();
    m_takes_names = m_takes_names && status == k_invalid_option;
    Event event = event_of(*compiled);
    event.what = "nvrtc";
    event.name = m_asked.name;
    event.spent_ms = spent;
    note(event);
    if (status == k_success)
        m_named = *std::move(compiled);
    return status;
}

int Program::compile_real(const std::string& reason)
{
    if (making_is_forbidden())
        return refuse("Only the compiler itself can answer this (" + reason +
                          "), and compiling is forbidden. Allow it with HEARTH_FORBID_COMPILE=0.",
                      0);
    const auto start = std::chrono::steady_clock::now();
    const RealLibrary* const real = become_real();
    if (real == nullptr) {
        m_log = "hearth: " + reason + ", and NVIDIA's library could not be used.\n";
        return k_internal;
    }
    const std::vector<const char*> options = pointers(m_asked.options);
    const int status = real->compile(m_real, static_cast<int>(options.size()), options.data());
    m_takes_names = m_takes_names && status == k_invalid_option;
    note({.what = "nvrtc",
          .name = m_asked.name,
          .outcome = "past_the_cache",
          .reason = reason,
          .spent_ms = milliseconds_since(start)});
    return status;
}

int Program::refuse(const std::string& why, double spent_ms)
{
    m_log = "hearth: " + why + "\n";
    m_is_refused = true;
    m_takes_names = false;
    note({.what = "nvrtc", .name = m_asked.name, .outcome = "forbidden", .spent_ms = spent_ms});
    return k_compilation;
}

// The log and the PTX belong to the last compile. If that was refused, they are ours.
bool Program::asks_real(const Output& output) const
{
    return m_real != nullptr && !(m_is_refused && output.kind == Output::Kind::text);
}

std::string_view Program::made(const Output& output) const
{
    if (std::string_view(output.section) == "log")
        return m_log;
    const auto found = m_made.find(output.section);
    return found != m_made.end() ? found->second.text() : std::string_view{};
}

int Program::size_of(const Output& output, std::size_t* size)
{
    if (asks_real(output)) {
        auto* const ask = reinterpret_cast<RealLibrary::Size*>(real_function(output.size));
        const int status = ask != nullptr ? ask(m_real, size) : k_internal;
        if (status != k_success || *size != 0)
            return status;
    }
    if (size == nullptr)
        return k_invalid_input;
    if (output.known == Output::Known::in_some && !real_has(output.size))
        return k_internal;
    *size = made(output).size() + (output.kind == Output::Kind::text ? 1 : 0);
    return k_success;
}

int Program::get(const Output& output, char* out)
{
    if (out == nullptr)
        return k_invalid_input;
    if (asks_real(output)) {
        std::size_t size = 0;
        auto* const ask_size = reinterpret_cast<RealLibrary::Size*>(real_function(output.size));
        auto* const ask = reinterpret_cast<RealLibrary::Get*>(real_function(output.get));
        if (ask_size == nullptr || ask == nullptr)
            return k_internal;
        if (const int status = ask_size(m_real, &size); status != k_success || size != 0)
            return ask(m_real, out);
    }
    if (output.known == Output::Known::in_some && !real_has(output.get))
        return k_internal;
    const std::string_view bytes = made(output);
    bytes.copy(out, bytes.size());
    if (output.kind == Output::Kind::text)
        out[bytes.size()] = '\0';
    return k_success;
}

int Program::lowered_name(const char* expression, const char** name)
{
    if (expression == nullptr || name == nullptr)
        return k_invalid_input;
    if (m_real != nullptr) {
        const int status = become_real()->lowered_name(m_real, expression, name);
        if (status != k_names_before_compilation)
            return status;
    }
    *name = nullptr;
    if (!m_named)
        return k_names_before_compilation;
    std::optional<std::string> lowered = m_named->lowered_name(expression);
    if (!lowered)
        return k_name_not_valid;
    *name = m_lowered.insert(*std::move(lowered)).first->c_str();
    return k_success;
}

int Program::pch_status()
{
    if (m_real == nullptr)
        return real_has("nvrtcGetPCHCreateStatus") ? k_no_pch : k_internal;
    const RealLibrary* const real = become_real();
    return real->pch_status != nullptr ? real->pch_status(m_real) : k_internal;
}

int Program::pch_heap_required(std::size_t* size)
{
    if (m_real != nullptr) {
        const RealLibrary* const real = become_real();
        return real->pch_heap_required != nullptr ? real->pch_heap_required(m_real, size) : k_internal;
    }
    if (size == nullptr)
        return k_invalid_input;
    if (!real_has("nvrtcGetPCHHeapSizeRequired"))
        return k_internal;
    *size = 0;
    return k_success;
}

// The callback can cancel a compile, which a cache cannot answer.
int Program::set_flow_callback(FlowCallback* callback, void* payload)
{
    if (callback == nullptr)
        return k_invalid_input;
    if (!real_has("nvrtcSetFlowCallback"))
        return k_internal;
    m_callback = callback;
    m_payload = payload;
    const RealLibrary* const real = m_real != nullptr ? become_real() : nullptr;
    return real != nullptr && real->set_flow_callback != nullptr ? real->set_flow_callback(m_real, callback, payload)
                                                                 : k_success;
}

}  // namespace hearth::proxy
