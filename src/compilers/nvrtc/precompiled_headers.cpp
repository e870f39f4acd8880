#include "compilers/nvrtc/precompiled_headers.hpp"

#include "base/error.hpp"
#include "base/fork.hpp"
#include "base/of_process.hpp"
#include "base/text.hpp"

#include <map>
#include <mutex>
#include <string_view>

namespace hearth::nvrtc {

namespace {

// A precompiled header of this process.
struct Made {
    std::shared_ptr<const watch::EventLog> asked;
    std::string working_directory;
    bool had_messages = false;  // those about its headers are not told again
};

struct AllMade {
    base::ForkSafeMutex mutex{base::LockLevel::engine};
    std::map<std::string, Made> by_file;
};

struct Told {
    std::string used;
    std::string created;
};

// Takes out that precompiled headers were looked at that do not fit, where the log says nothing else. NVRTC tells that
// of those that other compiles of this process have made.
void take_misfits(std::string& log)
{
    static constexpr std::string_view k_begin =
        "Warning #629-D: the command line options do not match those used when precompiled header file \"";
    static constexpr std::string_view k_end = "\" was created";
    static constexpr std::string_view k_remark =
        "Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"";
    for (std::string_view lines = log; !lines.empty();) {
        const std::string_view line = base::take_until('\n', lines);
        if (!line.empty() && line != k_remark && !(line.starts_with(k_begin) && line.ends_with(k_end)))
            return;
    }
    log.clear();
}

// "k.cu": using precompiled header file "/tmp/__nvrtc_auto_pch_6531_0/k_0.pch"
Told take_messages(std::string& log)
{
    static constexpr std::string_view k_using = "\": using precompiled header file \"";
    static constexpr std::string_view k_creating = "\": creating precompiled header file \"";
    Told told;
    std::string rest;
    for (std::string_view lines = log; !lines.empty();) {
        const std::size_t end = std::min(lines.find('\n'), lines.size() - 1) + 1;
        const std::string_view line = lines.substr(0, end);
        lines.remove_prefix(end);
        const auto file_behind = [&](std::string_view words) -> std::string {
            const std::size_t at = line.starts_with('"') ? line.find(words) : std::string_view::npos;
            if (at == std::string_view::npos)
                return {};
            const std::string_view file = line.substr(at + words.size());
            return std::string(file.substr(0, file.find('"')));
        };
        if (std::string used = file_behind(k_using); !used.empty())
            told.used = std::move(used);
        else if (std::string created = file_behind(k_creating); !created.empty())
            told.created = std::move(created);
        else
            rest += line;
    }
    log = std::move(rest);
    take_misfits(log);
    return told;
}

// "edg0_6531": the beginning, then numbers with underscores between them.
bool is_named(std::string_view component, std::string_view beginning)
{
    if (!component.starts_with(beginning) || component.size() == beginning.size())
        return false;
    component.remove_prefix(beginning.size());
    return component.find_first_not_of("0123456789_") == std::string_view::npos;
}

// What NVRTC does with the files of its precompiled headers concerns nobody else.
bool is_about_precompiled(const watch::Event& event)
{
    if (event.asked == watch::Asked::variable)
        return event.name == "TMPDIR";  // where they are
    if (event.asked == watch::Asked::unanswered && (event.name == "mkdir" || event.name == "unlink"))
        return true;
    for (std::string_view rest = event.name; !rest.empty();)
        if (const std::string_view component = base::take_until('/', rest);
            is_named(component, "__nvrtc_auto_pch_") || (rest.empty() && is_named(component, "edg0_")))
            return true;
    return false;
}

void copy(const watch::EventLog& from, watch::EventLog& to)
{
    if (!from.is_complete())
        to.mark_incomplete();
    from.for_each([&](const watch::Event& event) {
        if (!is_about_precompiled(event))
            to.add(event);
    });
}

}  // namespace

Result<std::shared_ptr<const watch::EventLog>> with_precompiled(const watch::EventLog& asked, std::string& log,
                                                                const std::string& working_directory)
{
    const Told told = take_messages(log);
    if (log.find("precompiled header") != std::string::npos)
        return error(Code::unavailable, "what NVRTC tells about its precompiled headers is not understood");
    const auto all = std::make_shared<watch::EventLog>();
    bool had_messages = !log.empty();
    auto& all_made = base::of_process<AllMade>();
    const std::lock_guard lock(all_made.mutex);
    if (!told.used.empty()) {
        const auto found = all_made.by_file.find(told.used);
        if (found == all_made.by_file.end())
            return error(Code::unavailable, "it uses a precompiled header of a compile that went past the cache");
        const Made& made = found->second;
        if (made.had_messages)
            return error(Code::unavailable, "messages about its headers were told when they were precompiled");
        if (made.working_directory != working_directory)
            return error(Code::unavailable, "its headers were precompiled in another working directory");
        copy(*made.asked, *all);
    }
    copy(asked, *all);
    if (!told.created.empty())
        all_made.by_file.insert_or_assign(told.created, Made{all, working_directory, had_messages});
    return std::shared_ptr<const watch::EventLog>(all);
}

}  // namespace hearth::nvrtc
