#include "tiers/disk/cache_directory.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/fork.hpp"
#include "base/hex.hpp"
#include "format/entry.hpp"
#include "format/entry_file.hpp"
#include "tiers/disk/directory_lock.hpp"
#include "tiers/disk/note_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <random>
#include <unistd.h>

namespace hearth::tiers {

namespace {

constexpr std::chrono::milliseconds k_note_patience{200};
constexpr int k_names_tried = 16;
constexpr std::chrono::seconds k_abandoned_after{60};
constexpr std::string_view k_cachedir_tag = "Signature: 8a477f597d28d172789f06886806bc55\n"
                                            "# Hearth keeps compiled GPU kernels here. They can be made again.\n";

BootId this_boot()
{
    BootId boot{};
    int error = 0;
    std::string id;
    const base::FileHandle file(base::system_files(),
                                base::system_files().open("/proc/sys/kernel/random/boot_id", O_RDONLY, 0));
    char text[36];
    if (file.open())
        error = base::read_exactly(base::system_files(), file.fd(), text, sizeof text, 0);
    if (!file.open() || error != 0)
        return boot;
    for (const char c : text)
        if (c != '-')
            id += c;
    base::from_hex(id, boot);
    return boot;
}

class LockedFlight final : public Flight {
public:
    LockedFlight(base::Files& files, std::string path, base::FileHandle file)
        : m_files(files), m_path(std::move(path)), m_file(std::move(file))
    {
    }
    // Unlinked before the lock is dropped: a waiter that gets the lock of an unlinked file notices that and opens anew.
    ~LockedFlight() override
    {
        if (m_file.open())
            m_files.unlink(m_path.c_str());
    }

private:
    base::Files& m_files;
    std::string m_path;
    base::FileHandle m_file;
    // A child forked meanwhile (the compile function may start a compiler) would hold the lock as long as it lives.
    const base::ForkGuard m_fork_guard{[this] { m_file.close(); }};
};

}  // namespace

DiskEnvironment DiskEnvironment::system()
{
    DiskEnvironment environment;
    environment.boot = this_boot();
    environment.seed = (std::uint64_t{std::random_device{}()} << 32U) | std::random_device{}();
    return environment;
}

CacheDirectory::CacheDirectory(std::string directory, bool shared, const DiskEnvironment& environment)
    : m_files(*environment.files), m_layout(std::move(directory)), m_shared(shared), m_seed(environment.seed)
{
}

Status CacheDirectory::check() const
{
    const auto refuse = [](Code code, std::string message) -> Status { return error(code, "{}", std::move(message)); };
    // The directory itself may be a link the user made; what lies below it may not.
    for (const std::string& path : {m_layout.directory() + "/.", m_layout.root()}) {
        base::FileStat stat;
        const int error = m_files.stat(path.c_str(), stat);
        if (error == -ENOENT)
            return {};
        if (error == -ENOTDIR || (error == 0 && stat.type != base::FileType::directory))
            return refuse(Code::io, fmt::format("{} is in the way: the cache needs a directory there. Remove it or "
                                                "choose another directory with HEARTH_DIR.",
                                                path == m_layout.root() ? path : m_layout.directory()));
        if (error != 0)
            return refuse(Code::io, base::describe("Cannot use the cache directory:", m_layout.directory(), error) +
                                        ". Choose another with HEARTH_DIR.");
        if (!m_shared && stat.owner != ::geteuid())
            return refuse(Code::unavailable,
                          fmt::format("Cache directory {} belongs to user {}, not to you ({}). Choose another with "
                                      "HEARTH_DIR, or set HEARTH_SHARED=1 if you trust everyone who can write there.",
                                      m_layout.directory(), stat.owner, ::geteuid()));
    }
    return {};
}

int CacheDirectory::prepare() const
{
    const unsigned mode = m_shared ? 0777U : 0700U;
    if (const int made = base::make_directories(m_files, m_layout.directory(), mode); made != 0)
        return made;
    for (const std::string& path :
         {m_layout.root(), m_layout.entries(), m_layout.temporaries(), m_layout.flights(), m_layout.notes()})
        if (const int made = m_files.mkdir(path.c_str(), mode); made != 0 && made != -EEXIST)
            return made;
    const base::FileHandle tag(m_files, m_files.open(m_layout.tag().c_str(), O_WRONLY | O_CREAT | O_EXCL, file_mode()));
    if (tag.open())
        base::write_all(m_files, tag.fd(), as_bytes(k_cachedir_tag), 0);  // optional: a failure does no harm
    return 0;
}

Bytes CacheDirectory::read_entry(const Key& key, int& error) const
{
    return base::read_file(m_files, m_layout.entry(key).c_str(), format::k_max_entry_bytes, error);
}

Bytes CacheDirectory::read_entry_head(const Key& key, std::uint64_t& size, int& error) const
{
    const base::FileHandle file(m_files, m_files.open(m_layout.entry(key).c_str(), O_RDONLY | O_NONBLOCK, 0));
    base::FileStat stat;
    error = file.open() ? m_files.stat(file.fd(), stat) : file.fd();
    if (error == 0 && stat.type != base::FileType::file)
        error = -EINVAL;
    if (error != 0)
        return {};
    size = stat.size;
    return format::read_entry_head(m_files, file.fd(), 0, size, error);
}

std::int64_t CacheDirectory::stat_entry(const Key& key, WallTime* modified) const
{
    base::FileStat stat;
    if (const int error = m_files.stat(m_layout.entry(key).c_str(), stat); error != 0)
        return error == -ENOTDIR ? -ENOENT : error;
    if (stat.type != base::FileType::file)
        return -ENOENT;
    if (modified)
        *modified = stat.modified;
    return static_cast<std::int64_t>(stat.size);
}

int CacheDirectory::unlink_entry(const Key& key) const
{
    const int error = m_files.unlink(m_layout.entry(key).c_str());
    return error == -ENOENT || error == -ENOTDIR || error == -EISDIR ? 0 : error;
}

CacheDirectory::Temporary::~Temporary()
{
    if (!m_path.empty())
        m_directory.m_files.unlink(m_path.c_str());
}

int CacheDirectory::Temporary::publish(const Key& key)
{
    base::Files& files = m_directory.m_files;
    const std::string target = m_directory.m_layout.entry(key);
    // Closed before it is renamed: a network file system makes the bytes visible to others, and reports a failed write,
    // only at the close.
    if (const int closed = m_file.close(); closed != 0)
        return closed;
    int error = files.rename(m_path.c_str(), target.c_str());
    if (error == -ENOENT) {
        // The shard does not exist yet, or somebody removed the directory meanwhile.
        m_directory.prepare();
        files.mkdir(m_directory.m_layout.shard(key).c_str(), m_directory.m_shared ? 0777U : 0700U);
        error = files.rename(m_path.c_str(), target.c_str());
    }
    if (error == -EISDIR)
        error = -EEXIST;  // a directory where an entry should be: not ours to remove
    if (error == 0)
        m_path.clear();
    return error;
}

std::string CacheDirectory::unique_name() const
{
    // After a fork several processes have the same seed: the process id tells them apart. The random seed tells apart
    // machines that share a directory.
    return fmt::format("{:016x}-{}-{}", m_seed, ::getpid(), m_counter.fetch_add(1, std::memory_order_relaxed));
}

int CacheDirectory::create_temporary(std::string& path) const
{
    for (int attempt = 0;; ++attempt) {
        path = m_layout.temporaries() + "/" + unique_name();
        const int fd = m_files.open(path.c_str(), O_RDWR | O_CREAT | O_EXCL, file_mode());
        if (fd == -EEXIST && attempt < k_names_tried)
            continue;  // left behind by an earlier process with the same id
        if (fd != -ENOENT || attempt > 0)
            return fd;
        if (const int made = prepare(); made != 0)
            return made;
    }
}

std::unique_ptr<CacheDirectory::Temporary> CacheDirectory::write_temporary(ByteView bytes, int& error)
{
    std::string path;
    const int fd = create_temporary(path);
    if (fd < 0) {
        error = fd;
        return nullptr;
    }
    auto temporary = std::make_unique<Temporary>(*this, std::move(path));
    temporary->m_file = base::FileHandle(m_files, fd);
    m_files.try_lock(fd);  // without locks a slow writer's file may be swept, which only loses a store
    error = base::write_all(m_files, fd, bytes, 0);
    if (error != 0)
        return nullptr;
    return temporary;
}

int CacheDirectory::for_each_entry(const std::function<bool(const Key&)>& visit, std::uint64_t* strays) const
{
    std::uint64_t uncounted = 0;
    std::uint64_t& others = strays ? *strays : uncounted;
    std::vector<std::string> folders;
    if (const int listed = m_files.list(m_layout.entries().c_str(), folders); listed != 0)
        return listed == -ENOENT ? 0 : listed;
    std::vector<std::string> names;
    for (const std::string& folder : folders) {
        const std::optional<unsigned> shard = Layout::shard_of(folder);
        const int listed = shard ? m_files.list(m_layout.shard(*shard).c_str(), names) : -ENOTDIR;
        if (listed == -ENOTDIR)
            ++others;
        if (listed == -ENOENT || listed == -ENOTDIR)
            continue;
        if (listed != 0)
            return listed;
        for (const std::string& name : names) {
            const std::optional<Key> key = Layout::key_of(*shard, name);
            if (!key)
                ++others;
            else if (!visit(*key))
                return 0;
        }
    }
    return 0;
}

std::uint64_t CacheDirectory::sweep_abandoned(const std::string& folder, WallTime now) const
{
    std::vector<std::string> names;
    if (m_files.list(folder.c_str(), names) != 0)
        return 0;
    std::uint64_t swept = 0;
    for (const std::string& name : names) {
        const std::string path = folder + "/" + name;
        const base::FileHandle file(m_files, m_files.open(path.c_str(), O_RDWR | O_NONBLOCK, 0));
        base::FileStat stat;
        // A young file may belong to a process that has created it and not yet locked it.
        if (!file.open() || m_files.stat(file.fd(), stat) != 0 ||
            stat.modified > base::time_before(now, k_abandoned_after))
            continue;
        if (m_files.try_lock(file.fd()) == 0 && m_files.unlink(path.c_str()) == 0)
            ++swept;
    }
    return swept;
}

FlightAttempt CacheDirectory::try_flight(const Key& key) const
{
    const std::string path = m_layout.flight(key);
    for (int attempt = 0; attempt < 3; ++attempt) {
        base::FileHandle file(m_files, m_files.open(path.c_str(), O_RDWR | O_CREAT, file_mode()));
        if (file.error() == ENOENT && prepare() == 0)
            continue;
        if (!file.open())
            return {};
        const int locked = m_files.try_lock(file.fd());
        if (locked == -EWOULDBLOCK)
            return {FlightAttempt::Outcome::busy, nullptr};
        if (locked != 0)
            return {};
        base::FileStat ours;
        base::FileStat there;
        const bool linked = m_files.stat(file.fd(), ours) == 0 && m_files.stat(path.c_str(), there) == 0 &&
                            ours.inode == there.inode && ours.device == there.device;
        if (linked)
            return {FlightAttempt::Outcome::held, std::make_unique<LockedFlight>(m_files, path, std::move(file))};
    }
    return {FlightAttempt::Outcome::busy, nullptr};
}

Bytes CacheDirectory::read_note(std::string_view name) const
{
    return read_note_file(m_files, m_layout.note(name));
}

bool CacheDirectory::update_note(std::string_view name, const std::function<Bytes(ByteView)>& edit) const
{
    if (base::FileStat stat; m_files.stat(m_layout.notes().c_str(), stat) != 0 && prepare() != 0)
        return false;
    const DirectoryLock lock(m_files, m_layout.notes() + "/" + std::string(name) + ".lock", file_mode(),
                             k_note_patience);
    return lock.held() && update_note_file(m_files, m_layout.note(name), file_mode(), edit);
}

}  // namespace hearth::tiers
