#include "recipes/recorder.hpp"

#include "base/of_process.hpp"
#include "base/secrets.hpp"
#include "recipes/recipe_data.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <optional>
#include <unistd.h>

namespace hearth::recipes {

namespace {

// Each of the first uses is written by itself, so that none is lost with the process. Later ones are written at every
// doubling of their count, so that a program which compiles in a loop does not fill the disk.
constexpr std::uint64_t k_written_singly = 256;

// How much of a file is looked at to learn what is there. What stands behind that is written again.
constexpr std::size_t k_block = 65536;
constexpr std::size_t k_most_blocks = 4096;

struct Recorders {
    base::ForkSafeMutex mutex{base::LockLevel::engine};
    std::map<std::string, std::unique_ptr<Recorder>> all;
};

}  // namespace

Recorder& Recorder::of(const std::string& path)
{
    auto& recorders = base::of_process<Recorders>();
    {
        const std::lock_guard lock(recorders.mutex);
        if (const auto found = recorders.all.find(path); found != recorders.all.end())
            return *found->second;
    }
    // Created, and destroyed if another thread was first, while no lock is held.
    auto fresh = std::make_unique<Recorder>(base::system_files(), path);
    const std::lock_guard lock(recorders.mutex);
    const auto [place, first] = recorders.all.try_emplace(path);
    if (first)
        place->second = std::move(fresh);
    return *place->second;
}

std::optional<Key> Recorder::recipe_of(const Key& result)
{
    const std::lock_guard lock(m_mutex);
    const auto found = m_recipe_of.find(result);
    return found == m_recipe_of.end() ? std::nullopt : std::optional(found->second);
}

void Recorder::remember(const Key& result, const Key& recipe)
{
    const std::lock_guard lock(m_mutex);
    m_recipe_of.insert_or_assign(result, recipe);
}

bool Recorder::claim(const Key& recipe)
{
    const std::lock_guard lock(m_mutex);
    return m_recipes.insert(recipe).second;
}

bool Recorder::claim(const base::Sha256& content)
{
    const std::lock_guard lock(m_mutex);
    return m_contents.insert(content).second;
}

void Recorder::disclaim(const Key& recipe)
{
    const std::lock_guard lock(m_mutex);
    m_recipes.erase(recipe);
}

void Recorder::disclaim(const base::Sha256& content)
{
    const std::lock_guard lock(m_mutex);
    m_contents.erase(content);
}

// Null: -errno in `error`.
std::shared_ptr<const base::FileHandle> Recorder::open(int& error)
{
    {
        const std::lock_guard lock(m_mutex);
        if (m_open)
            return m_open;
    }
    // Non-blocking, so that a FIFO put where the file should be cannot hang the program. Nobody else may read the file:
    // it holds sources.
    const std::optional<std::string> place = base::place_of(m_path);
    auto opened = std::make_shared<const base::FileHandle>(
        m_files, place ? m_files.open(place->c_str(), O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK, 0600) : -ELOOP);
    base::FileStat stat;
    error = opened->open() ? m_files.stat(opened->fd(), stat) : opened->fd();
    if (error == 0 &&
        (stat.type != base::FileType::file || (stat.size != 0 && holds_other_things(m_files, opened->fd()))))
        error = -EINVAL;
    if (error != 0)
        return nullptr;
    const std::lock_guard lock(m_mutex);
    if (!m_open)
        m_open = std::move(opened);
    return m_open;
}

void Recorder::learn_what_is_there()
{
    int error = 0;
    const std::shared_ptr<const base::FileHandle> there = open(error);
    base::FileStat stat;
    if (!there || m_files.stat(there->fd(), stat) != 0)
        return;
    static constexpr std::size_t k_begin = format::k_recipe_head_size + sizeof(base::Sha256);
    std::string block(k_block, '\0');
    std::optional<format::RecordName> last;
    std::uint64_t at = 0;
    for (std::size_t reads = 0; at < stat.size && reads < k_most_blocks; ++reads) {
        const ssize_t size = m_files.pread(there->fd(), block.data(), block.size(), static_cast<off_t>(at));
        std::string_view rest(block.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
        do {
            const std::optional<format::RecordName> record = format::name_of_record(rest);
            // A record that was cut short is followed by none. What comes later may be whole, and is written again.
            if (!record || at + record->size > stat.size)
                return;
            if (last)
                take_for_written(*last);
            last = record;
            at += record->size;
            rest.remove_prefix(std::min<std::size_t>(record->size, rest.size()));
        } while (rest.size() >= k_begin);
    }
    if (last && at == stat.size)
        take_for_written(*last);
}

void Recorder::take_for_written(const format::RecordName& record)
{
    const std::lock_guard lock(m_mutex);
    if (record.what == format::RecordName::What::content)
        m_contents.insert(record.digest);
    else if (record.what == format::RecordName::What::recipe)
        m_recipes.insert(Key{record.digest});
}

void Recorder::look_for_the_file()
{
    std::shared_ptr<const base::FileHandle> there;
    {
        const std::lock_guard lock(m_mutex);
        there = m_open;
    }
    base::FileStat stat;
    if (!there || m_files.stat(there->fd(), stat) != 0 || stat.links != 0)
        return;
    const std::lock_guard lock(m_mutex);
    if (m_open != there)
        return;  // another thread was first
    m_open.reset();
    m_contents.clear();
    m_recipe_of.clear();
    m_recipes.clear();
}

void Recorder::fail(int error, const LogSink& log)
{
    if (m_stopped.exchange(true, std::memory_order_relaxed) || !log)
        return;
    log(LogLevel::warning, fmt::format("{}. Compiles are not recorded any more, and the program goes on. Name "
                                       "another file, or one with more room, with HEARTH_RECORD.",
                                       base::describe("Cannot append to", m_path, error)));
}

void Recorder::append(std::string_view record, const LogSink& log)
{
    if (record.empty() || stopped())
        return;
    int error = 0;
    const std::shared_ptr<const base::FileHandle> target = open(error);
    if (!target)
        return fail(error, log);
    for (;;) {
        // One write, which the system appends as a whole even if others write too: Linux ignores the offset if a file
        // was opened to append.
        const ssize_t put = m_files.pwrite(target->fd(), record.data(), record.size(), 0);
        if (put == -EINTR)
            continue;
        // A part of it is as good as nothing: readers skip it.
        if (put < 0 || static_cast<std::size_t>(put) != record.size())
            fail(put < 0 ? static_cast<int>(put) : -ENOSPC, log);
        return;
    }
}

void Recorder::use(const Key& recipe, const LogSink& log)
{
    if (stopped())
        return;
    format::RecipeUse use;
    {
        const std::lock_guard lock(m_mutex);
        Uses& uses = m_uses[recipe];
        ++uses.counted;
        if (uses.counted > k_written_singly && !std::has_single_bit(uses.counted))
            return;
        use.count = uses.counted - uses.written;
        uses.written = uses.counted;
        // No two uses of a process have the same time: readers would take them for one.
        m_last_use = std::max(m_start.age(), m_last_use + std::chrono::nanoseconds(1));
        use.at = m_last_use;
        use.began = m_start.began();
    }
    use.key = recipe;
    use.pid = static_cast<std::uint32_t>(::getpid());
    append(format::encode_use(use), log);
}

bool may_record(const std::string& name, const std::vector<std::string>& words,
                const std::vector<std::string>& variables, const LogSink& log)
{
    std::string secret;
    const std::vector<std::string> shown = base::without_secrets(words);
    for (std::size_t i = 0; i < words.size() && secret.empty(); ++i)
        if (shown[i] != words[i])
            secret = i > 0 && words[i - 1].starts_with('-') ? shown[i - 1] + " " + shown[i] : shown[i];
    for (const std::string& variable : variables)
        if (std::string known = base::shown_variable(variable); known != variable)
            secret = std::move(known);
    if (!secret.empty() && log)
        log(LogLevel::warning,
            fmt::format("{} is not recorded: {} may be a secret, and a recipe file would show it.", name, secret));
    return secret.empty();
}

void Recorder::after_fork()
{
    m_start = base::ProcessStart::ask();
    m_last_use = std::chrono::nanoseconds(-1);
    m_uses.clear();
}

}  // namespace hearth::recipes
