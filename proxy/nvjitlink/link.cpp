#include "nvjitlink/link.hpp"

#include "base/error.hpp"
#include "hearth/libraries.hpp"
#include "process_cache.hpp"
#include "real.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

namespace hearth::proxy {

namespace {

constexpr std::uint64_t k_request_version = 2;
constexpr int k_thread_pool = 7;

using Size = int(void*, std::size_t*);
using Get = int(void*, void*);

template <class F>
F* find(const char* name)
{
    return reinterpret_cast<F*>(real_function(name));
}

// Everything that a program can ask for after a step.
struct Output {
    const char* section;
    const char* size;
    const char* get;
};
constexpr std::string_view k_error_log = "error log";
constexpr std::array k_outputs{
    Output{"cubin", "nvJitLinkGetLinkedCubinSize", "nvJitLinkGetLinkedCubin"},
    Output{"ptx", "nvJitLinkGetLinkedPtxSize", "nvJitLinkGetLinkedPtx"},
    Output{"ltoir", "nvJitLinkGetLinkedLTOIRSize", "nvJitLinkGetLinkedLTOIR"},
    Output{k_error_log.data(), "nvJitLinkGetErrorLogSize", "nvJitLinkGetErrorLog"},
    Output{"info log", "nvJitLinkGetInfoLogSize", "nvJitLinkGetInfoLog"},
};
constexpr std::string_view k_no_handle = "no handle";

std::string status_section(const char* section)
{
    return std::string(section) + " status";
}

// Options such as -time, whose output no cache can know.
bool tells_times(const std::vector<std::string>& options)
{
    for (const std::string& option : options)
        if (option == "-time" || option.starts_with("-time="))
            return true;
    return false;
}

std::optional<std::string> content_of(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    if (!file)
        return std::nullopt;
    return std::string{std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

Link* Link::of(void* handle)
{
    auto* const link = static_cast<Link*>(handle);
    return link != nullptr && link->m_alive == k_alive ? link : nullptr;
}

Link::~Link()
{
    m_alive = 0;
    if (m_real != nullptr)
        if (auto* const destroy = find<int(void**)>("nvJitLinkDestroy"))
            destroy(&m_real);
}

void Link::Call::hold(ByteView bytes)
{
    size = bytes.size();
    data = Bytes::make(size + 1, [&](std::span<std::byte> target) {
        std::copy(bytes.begin(), bytes.end(), target.begin());
        target.back() = std::byte{0};
    });
}

int Link::apply(const Call& call)
{
    switch (call.kind) {
    case Kind::create: {
        std::vector<const char*> options;
        for (const std::string& option : call.options)
            options.push_back(option.c_str());
        auto* const create = find<int(void**, std::uint32_t, const char* const*)>("nvJitLinkCreate");
        return create != nullptr ? create(&m_real, static_cast<std::uint32_t>(options.size()), options.data())
                                 : k_link_internal;
    }
    case Kind::data: {
        auto* const add = find<int(void*, int, const void*, std::size_t, const char*)>("nvJitLinkAddData");
        return add != nullptr ? add(m_real, call.type, call.has_data ? call.data.data() : nullptr, call.size,
                                    call.has_name ? call.name.c_str() : nullptr)
                              : k_link_internal;
    }
    case Kind::file: {
        auto* const add = find<int(void*, int, const char*)>("nvJitLinkAddFile");
        return add != nullptr ? add(m_real, call.type, call.has_name ? call.name.c_str() : nullptr) : k_link_internal;
    }
    case Kind::complete: {
        auto* const complete = find<int(void*)>("nvJitLinkComplete");
        return complete != nullptr ? complete(m_real) : k_link_internal;
    }
    }
    return k_link_internal;
}

Artifact Link::seen(int status) const
{
    Artifact artifact;
    artifact.status = status;
    if (m_real == nullptr) {
        artifact.sections.push_back({std::string(k_no_handle), Bytes::copy_of(std::string_view("1"))});
        return artifact;
    }
    for (const Output& output : k_outputs) {
        auto* const size_of = find<Size>(output.size);
        auto* const get = find<Get>(output.get);
        std::size_t size = 0;
        const int sized = size_of != nullptr && get != nullptr ? size_of(m_real, &size) : k_link_internal;
        Bytes bytes;
        if (sized == k_link_success && size != 0)
            // A little more than it says: versions differ in whether a log's size counts its terminating zero.
            bytes =
                Bytes::make(size + 8, [&](std::span<std::byte> target) { get(m_real, target.data()); }).slice(0, size);
        artifact.sections.push_back(
            {status_section(output.section), Bytes::copy_of(std::string_view(std::to_string(sized)))});
        if (!bytes.empty())
            artifact.sections.push_back({output.section, std::move(bytes)});
    }
    return artifact;
}

int Link::catch_up()
{
    while (m_applied < m_calls.size())
        m_real_status = apply(m_calls[m_applied++]);
    return m_real_status;
}

Result<Artifact> Link::make_step()
{
    const int status = catch_up();
    Artifact artifact = seen(status);
    if (status == k_link_internal || status == k_thread_pool)
        return error(Code::io, "nvJitLink failed by itself.");
    artifact.metadata.compiler = "nvjitlink";
    return artifact;
}

Request Link::request_of(const Call& call, const std::string& build) const
{
    KeyBuilder key("nvjitlink step");
    key.number("request version", k_request_version)
        .text("linker build", build)
        .text("after", m_calls.size() == 1 ? "" : m_key.hex())
        .number("call", static_cast<std::uint64_t>(call.kind))
        .list("options", call.options)
        .number("type", static_cast<std::uint64_t>(call.type))
        .flag("has data", call.has_data)
        .bytes("data", call.data.view().first(call.size))
        .flag("has name", call.has_name)
        .text("name", call.name);
    return key.build();
}

int Link::step(Call call)
{
    const auto start = std::chrono::steady_clock::now();
    const bool completes = call.kind == Kind::complete;
    m_calls.push_back(std::move(call));
    Cache* const store = m_past_cache ? nullptr : cache();
    const std::string build = store != nullptr ? build_of_file(*store, real_path()) : std::string{};
    std::optional<Result<Lookup>> found;
    if (store != nullptr && !build.empty()) {
        const Request request = request_of(m_calls.back(), build);
        m_key = request.key();
        found = store->get_or_compile(request, [this] { return make_step(); });
    }
    Event event;
    if (found && found->ok()) {
        m_seen = (*found)->share();
        event = event_of(**found);
    } else if (found && found->error().code == Code::compile_forbidden) {
        return refuse(found->error().message);
    } else if (making_is_forbidden()) {
        return refuse("Only nvJitLink itself can answer this, and compiling is forbidden. Allow it with "
                      "HEARTH_FORBID_COMPILE=0.");
    } else {
        // From here on the real library does everything, whatever is wrong with the cache.
        m_past_cache = true;
        event.outcome = "past_the_cache";
        m_seen = std::make_shared<const Artifact>(seen(catch_up()));
    }
    event.spent_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    count(event);
    if (completes) {
        note(m_event);
        m_event = {};
    }
    return m_seen->status;
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
    for (const Call& call : m_calls)
        if (m_event.name.empty())
            m_event.name = call.name;
    m_event.spent_ms += event.spent_ms;
    m_event.saved_ms += event.saved_ms;
}

int Link::refuse(const std::string& why)
{
    Artifact artifact;
    artifact.status = k_link_internal;
    for (const Output& output : k_outputs) {
        const bool is_log = std::string_view(output.section).ends_with("log");
        artifact.sections.push_back({status_section(output.section),
                                     Bytes::copy_of(std::to_string(is_log ? k_link_success : k_link_internal))});
        if (output.section == k_error_log)
            artifact.sections.push_back(
                {std::string(k_error_log), Bytes::copy_of("hearth: " + why + std::string("\n\0", 2))});
    }
    m_seen = std::make_shared<const Artifact>(std::move(artifact));
    Event event;
    event.outcome = "forbidden";
    count(event);
    if (!std::exchange(m_is_refused, true))
        note(m_event);
    return k_link_internal;
}

int Link::create(std::vector<std::string> options)
{
    m_past_cache = tells_times(options);
    Call call;
    call.kind = Kind::create;
    call.options = std::move(options);
    return step(std::move(call));
}

int Link::add_data(int type, const void* data, std::size_t size, const char* name)
{
    Call call;
    call.kind = Kind::data;
    call.type = type;
    call.has_data = data != nullptr;
    if (data != nullptr)
        call.hold(ByteView(static_cast<const std::byte*>(data), size));
    call.has_name = name != nullptr;
    call.name = name != nullptr ? name : "";
    return step(std::move(call));
}

int Link::add_file(int type, const char* path)
{
    Call call;
    call.kind = Kind::file;
    call.type = type;
    call.has_name = path != nullptr;
    call.name = path != nullptr ? path : "";
    // The key needs the file's content, not only its name. To nvJitLink a directory is like a missing file. Anything
    // else that is not a file, such as a pipe, may give each reader other bytes.
    std::error_code error;
    const std::filesystem::file_type there = std::filesystem::status(call.name, error).type();
    std::optional<std::string> content;
    if (there == std::filesystem::file_type::regular)
        content = content_of(call.name);
    else if (std::filesystem::exists(std::filesystem::file_status(there)) &&
             there != std::filesystem::file_type::directory)
        m_past_cache = true;
    call.has_data = content.has_value();
    if (content)
        call.hold(as_bytes(*content));
    return step(std::move(call));
}

int Link::complete()
{
    Call call;
    call.kind = Kind::complete;
    return step(std::move(call));
}

bool Link::is_there() const
{
    return m_seen != nullptr && m_seen->find(k_no_handle) == nullptr;
}

int Link::size_of(const char* section, std::size_t* size) const
{
    if (size == nullptr)
        return k_link_null_input;
    const int status = m_seen ? std::atoi(std::string(m_seen->text(status_section(section))).c_str()) : k_link_internal;
    if (status == k_link_success)
        *size = m_seen->bytes(section).size();
    return status;
}

int Link::get(const char* section, void* out) const
{
    if (out == nullptr)
        return k_link_null_input;
    const int status = m_seen ? std::atoi(std::string(m_seen->text(status_section(section))).c_str()) : k_link_internal;
    if (status == k_link_success) {
        const ByteView bytes = m_seen->bytes(section);
        std::memcpy(out, bytes.data(), bytes.size());
    }
    return status;
}

int link_version(unsigned* major, unsigned* minor)
{
    const auto ask = [&] {
        auto* const version = find<int(unsigned*, unsigned*)>("nvJitLinkVersion");
        return version != nullptr ? version(major, minor) : static_cast<int>(k_link_internal);
    };
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
}

}  // namespace hearth::proxy
