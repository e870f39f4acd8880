#include "nvjitlink/link.hpp"

#include "base/error.hpp"
#include "hearth/libraries.hpp"
#include "process_cache.hpp"
#include "real.hpp"
#include "watch/source_file.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

namespace hearth::proxy {

using ptx::SteppedLink;
using Call = SteppedLink::Call;
using Kind = SteppedLink::Kind;

Link::Link() : m_link(real_path()) {}

Link* Link::of(void* handle)
{
    auto* const link = static_cast<Link*>(handle);
    return link != nullptr && link->m_alive == k_alive ? link : nullptr;
}

int Link::step(Call call)
{
    // What a link without one of its calls would give is not what the program asks for.
    if (!m_why_refused.empty())
        return refuse(m_why_refused);
    const auto start = std::chrono::steady_clock::now();
    const bool completes = call.kind == Kind::complete;
    m_link.add(std::move(call));
    const std::optional<Result<compilers::Answer>> answer = ask_the_cache();
    Event event;
    if (answer && answer->ok()) {
        const compilers::Answer& known = **answer;
        m_seen = known.lookup.share();
        event = event_of(known.lookup, known.key);
    } else if (answer && answer->error().code == Code::compile_forbidden) {
        return refuse(answer->error().message);
    } else if (making_is_forbidden()) {
        return refuse("Only nvJitLink itself can answer this, and compiling is forbidden. Allow it with "
                      "HEARTH_FORBID_COMPILE=0.");
    } else {
        // Whatever is wrong with the cache, the real library does it.
        m_seen = std::make_shared<const Artifact>(
            m_link.ask_the_library(answer ? answer->error().message : "there is no cache"));
    }
    if (!m_link.why_past_the_cache().empty()) {
        event.outcome = "past_the_cache";
        event.reason = m_link.why_past_the_cache();
        event.key = {};
    }
    event.spent_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    count(event);
    if (completes) {
        note(m_event);
        m_event = {};
    }
    return m_seen->status;
}

// None: it is past the cache, or there is no cache.
std::optional<Result<compilers::Answer>> Link::ask_the_cache()
try {
    Cache* const store = m_link.why_past_the_cache().empty() ? cache() : nullptr;
    if (store == nullptr)
        return std::nullopt;
    std::optional<Result<compilers::Answer>> answer = m_link.answer(*store);
    if (answer && *answer && (*answer)->lookup.compiled())
        flush_at_exit();
    return answer;
} catch (...) {
    return error(Code::unavailable, "The cache failed: {}", what_was_thrown());
}

void Link::count(const Event& event)
{
    // A link with one step that missed counts as a miss.
    static constexpr std::array<std::string_view, 4> k_outcomes{"hit", "waited", "miss", "past_the_cache"};
    const auto rank = [](const Event& one) {
        return std::find(k_outcomes.begin(), k_outcomes.end(), one.outcome) - k_outcomes.begin();
    };
    if (m_event.outcome.empty() || rank(event) >= rank(m_event)) {
        m_event.outcome = event.outcome;
        m_event.tier = event.tier;
        m_event.reason = event.reason;
    }
    m_event.what = "nvjitlink";
    for (const Call& call : m_link.calls())
        if (m_event.name.empty())
            m_event.name = call.name.value_or("");
    m_event.spent_ms += event.spent_ms;
    // The last step's entry has the whole link's result; each step has a cost and an entry of its own.
    m_event.key = event.key;
    m_event.bytes += event.bytes;
    m_event.cost_ms += event.cost_ms;
}

int Link::refuse(const std::string& why)
{
    m_seen = std::make_shared<const Artifact>(SteppedLink::failure(why));
    if (!m_why_refused.empty())
        return k_link_internal;
    m_why_refused = why;
    Event event;
    event.outcome = "forbidden";
    count(event);
    note(m_event);
    return k_link_internal;
}

int Link::create(std::vector<std::string> options)
{
    return step({.kind = Kind::create, .options = std::move(options)});
}

int Link::add_data(int type, const void* data, std::size_t size, const char* name)
{
    Call call{.kind = Kind::data, .type = type};
    if (data != nullptr)
        call.data.emplace(static_cast<const char*>(data), size);
    if (name != nullptr)
        call.name = name;
    return step(std::move(call));
}

int Link::add_file(int type, const char* path)
{
    Call call{.kind = Kind::file, .type = type};
    if (path != nullptr)
        call.name = path;
    // The question is about the file's content, not only its name.
    if (path != nullptr && m_link.why_past_the_cache().empty())
        if (std::optional<watch::SourceFile> file = watch::read_source(path))
            call.data = std::move(file->text);
    return step(std::move(call));
}

int Link::complete()
{
    return step({.kind = Kind::complete});
}

bool Link::is_there() const
{
    return m_seen != nullptr && SteppedLink::has_handle(*m_seen);
}

int Link::size_of(const char* section, std::size_t* size) const
{
    if (size == nullptr)
        return k_link_null_input;
    const int status = m_seen ? SteppedLink::status_of(*m_seen, section) : k_link_internal;
    if (status == k_link_success)
        *size = m_seen->bytes(section).size();
    return status;
}

int Link::get(const char* section, void* out) const
{
    if (out == nullptr)
        return k_link_null_input;
    const int status = m_seen ? SteppedLink::status_of(*m_seen, section) : k_link_internal;
    if (status == k_link_success) {
        const ByteView bytes = m_seen->bytes(section);
        std::memcpy(out, bytes.data(), bytes.size());
    }
    return status;
}

namespace {

int real_version(unsigned* major, unsigned* minor)
{
    auto* const version = reinterpret_cast<int (*)(unsigned*, unsigned*)>(real_function("nvJitLinkVersion"));
    return version != nullptr ? version(major, minor) : k_link_internal;
}

}  // namespace

int link_version(unsigned* major, unsigned* minor)
try {
    const auto ask = [&] { return real_version(major, minor); };
    Cache* const store = major != nullptr && minor != nullptr ? cache() : nullptr;
    const std::string build = store != nullptr ? build_of_file(*store, real_path()) : std::string{};
    if (build.empty())
        return ask();
    const Result<Lookup> known = store->get_or_compile(
        Key::of("nvjitlink version", build),
        [&]() -> Result<Artifact> {
            if (ask() != k_link_success)
                return error(Code::unavailable, "nvJitLink does not tell its version.");
            return Artifact{std::string_view(std::to_string(*major) + " " + std::to_string(*minor))};
        },
        {.kind = EntryKind::derived});
    if (!known || std::sscanf(std::string((*known)->text()).c_str(), "%u %u", major, minor) != 2)
        return ask();
    return k_link_success;
} catch (...) {
    return real_version(major, minor);
}

}  // namespace hearth::proxy
