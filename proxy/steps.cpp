#include "steps.hpp"

#include "base/error.hpp"
#include "hearth/libraries.hpp"
#include "real.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace hearth::proxy {

Steps::Steps(std::unique_ptr<compilers::SteppedCalls> calls, std::shared_ptr<const Artifact> seen)
    : m_calls(std::move(calls)), m_seen(std::move(seen))
{
}

Steps::~Steps()
try {
    m_alive = 0;
    if (!m_event.outcome.empty())
        note_all();
} catch (...) {
    return;  // there is no memory to tell it
}

Steps* Steps::of(void* handle)
{
    auto* const steps = static_cast<Steps*>(handle);
    return steps != nullptr && steps->m_alive == k_alive ? steps : nullptr;
}

int Steps::step(Call call)
{
    // What a library without one of its calls would give is not what the program asks for.
    if (!m_why_refused.empty())
        return refuse(m_why_refused);
    const auto start = std::chrono::steady_clock::now();
    const bool completes = call.kind == Kind::complete;
    m_calls->add(std::move(call));
    const std::optional<Result<compilers::Answer>> answer = ask_the_cache();
    Event event;
    if (answer && answer->ok()) {
        const compilers::Answer& known = **answer;
        m_seen = known.lookup.share();
        event = event_of(known.lookup, known.key);
    } else if (answer && answer->error().code == Code::compile_forbidden) {
        return refuse(answer->error().message);
    } else if (making_is_forbidden()) {
        return refuse(fmt::format("Only {} itself can answer this, and compiling is forbidden. Allow it with "
                                  "HEARTH_FORBID_COMPILE=0.",
                                  m_calls->known().name));
    } else {
        // Whatever is wrong with the cache, the real library does it.
        m_seen = std::make_shared<const Artifact>(
            m_calls->ask_the_library(answer ? answer->error().message : "there is no cache"));
    }
    if (!why_past_the_cache().empty()) {
        event.outcome = "past_the_cache";
        event.reason = why_past_the_cache();
        event.key = {};
    }
    event.spent_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    count(event);
    if (completes)
        note_all();
    return m_seen->status;
}

int Steps::assume(Call call, int status)
{
    m_calls->add(std::move(call));
    m_calls->assume(status);
    return status;
}

// None: it is past the cache, or there is no cache.
std::optional<Result<compilers::Answer>> Steps::ask_the_cache()
try {
    Cache* const store = why_past_the_cache().empty() ? cache() : nullptr;
    if (store == nullptr)
        return std::nullopt;
    std::optional<Result<compilers::Answer>> answer = m_calls->answer(*store);
    if (answer && *answer && (*answer)->lookup.compiled())
        flush_at_exit();
    return answer;
} catch (...) {
    return error(Code::unavailable, "The cache failed: {}", what_was_thrown());
}

void Steps::count(const Event& event)
{
    // Steps of which one missed count as a miss.
    static constexpr std::array<std::string_view, 4> k_outcomes{"hit", "waited", "miss", "past_the_cache"};
    const auto rank = [](const Event& one) {
        return std::find(k_outcomes.begin(), k_outcomes.end(), one.outcome) - k_outcomes.begin();
    };
    if (m_event.outcome.empty() || rank(event) >= rank(m_event)) {
        m_event.outcome = event.outcome;
        m_event.tier = event.tier;
        m_event.reason = event.reason;
    }
    m_event.what = m_calls->known().word;
    m_event.name = m_calls->name();
    m_event.spent_ms += event.spent_ms;
    // The last step's entry has the whole result; each step has a cost and an entry of its own.
    m_event.key = event.key;
    m_event.bytes += event.bytes;
    m_event.cost_ms += event.cost_ms;
}

void Steps::note_all()
{
    note(m_event);
    m_event = {};
}

int Steps::refuse(const std::string& why)
{
    m_seen = std::make_shared<const Artifact>(m_calls->failure(why));
    if (m_why_refused.empty()) {
        m_why_refused = why;
        Event event;
        event.outcome = "forbidden";
        count(event);
        note_all();
    }
    return m_seen->status;
}

bool Steps::is_there() const
{
    return m_seen != nullptr && compilers::SteppedCalls::has_handle(*m_seen);
}

int Steps::status_of(const char* section) const
{
    return m_seen ? m_calls->status_of(*m_seen, section) : m_calls->known().failure;
}

int Steps::size_of(const char* section, std::size_t* size) const
{
    if (size == nullptr)
        return m_calls->known().null_input;
    const int status = status_of(section);
    if (status == 0)
        *size = m_seen->bytes(section).size();
    return status;
}

int Steps::get(const char* section, void* out) const
{
    if (out == nullptr)
        return m_calls->known().null_input;
    const int status = status_of(section);
    if (status == 0) {
        const ByteView bytes = m_seen->bytes(section);
        std::memcpy(out, bytes.data(), bytes.size());
    }
    return status;
}

int remembered(std::string_view what, std::initializer_list<int*> places, const std::function<int()>& ask)
try {
    Cache* const store = std::ranges::find(places, nullptr) == places.end() ? cache() : nullptr;
    const std::string build = store != nullptr ? build_of_file(*store, real_path()) : std::string{};
    if (build.empty())
        return ask();
    int status = 0;
    const Result<Lookup> known = store->get_or_compile(Key::of(what, build),
                                                       [&]() -> Result<Artifact> {
                                                           status = ask();
                                                           if (status != 0)
                                                               return error(Code::unavailable, "{} is not told.", what);
                                                           std::string numbers;
                                                           for (const int* place : places)
                                                               numbers += std::to_string(*place) + " ";
                                                           return Artifact{std::string_view(numbers)};
                                                       },
                                                       {.kind = EntryKind::derived});
    if (!known)
        return status != 0 ? status : ask();
    const std::string text((*known)->text());
    const char* at = text.c_str();
    for (int* place : places) {
        char* end = nullptr;
        *place = static_cast<int>(std::strtol(at, &end, 10));
        if (end == at)
            return ask();
        at = end;
    }
    return 0;
} catch (...) {
    return ask();
}

}  // namespace hearth::proxy
