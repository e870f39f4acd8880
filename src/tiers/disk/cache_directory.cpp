#include "tiers/disk/cache_directory.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/fork.hpp"
#include "base/hex.hpp"
#include "base/open_file.hpp"
#include "format/entry_file.hpp"
#include "tiers/disk/directory_lock.hpp"
#include "tiers/disk/note_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

namespace hearth::tiers {

namespace {

constexpr std::chrono::milliseconds k_note_patience{200};
constexpr int k_names_tried = 16;
constexpr unsigned k_written_by_others = 0022;
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
    LockedFlight(base::Files& files, Layout layout, const Key& key, base::FileHandle file)
        : m_files(files), m_layout(std::move(layout)), m_key(key), m_file(std::move(file))
    {
    }
    // Unlinked before the lock is dropped: a waiter that gets the lock of an unlinked file notices that and opens anew.
    ~LockedFlight() override
    {
        if (!m_file.open())
            return;
        // Opened only now: the program may close descriptors while it compiles.
        const base::FileHandle folder = base::open_folder(m_files, m_layout.directory(), m_layout.flights());
        if (folder.open())
            m_files.unlink({folder.fd(), m_key.hex()});
    }

private:
    base::Files& m_files;
    const Layout m_layout;
    const Key m_key;
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
    : m_files(*environment.files), m_layout(std::move(directory)), m_shared(shared), m_user(::geteuid()),
      m_seed(environment.seed)
{
}

unsigned CacheDirectory::folder_mode() const
{
    return m_shared ? base::mode_for_sharing(m_files, m_layout.directory()) : 0700;
}

Status CacheDirectory::check() const
{
    const auto refuse = [](Code code, std::string message) -> Status { return error(code, "{}", std::move(message)); };
    // The directory itself may be a link the user made; what lies below it may not.
    if (!m_shared && base::is_link_of_another(m_layout.directory()))
        return refuse(
            Code::unavailable,
            fmt::format("Cache directory {} is a link of another user. Choose another with HEARTH_DIR, or set "
                        "HEARTH_SHARED=1 if you trust everyone who can write there.",
                        m_layout.directory()));
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
        if (!m_shared && (stat.mode & S_IWOTH) != 0)
            return refuse(Code::unavailable,
                          fmt::format("Everybody can write to cache directory {0} (mode {1:04o}). Take that away with "
                                      "'chmod o-w {0}', or set HEARTH_SHARED=1 if you trust everyone on this machine.",
                                      path == m_layout.root() ? path : m_layout.directory(), stat.mode));
    }
    return {};
}

int CacheDirectory::prepare() const
{
    if (const int made = base::make_directories(m_files, m_layout.directory(), folder_mode()); made != 0)
        return made;
    for (const std::string& path :
         {m_layout.root(), m_layout.entries(), m_layout.temporaries(), m_layout.flights(), m_layout.notes()})
        if (const int made = make_folder(path); made != 0)
            return made;
    const base::FileHandle root = open_folder(m_layout.root());
    if (!root.open())
        return root.fd();
    const base::FileHandle tag(m_files, base::create_file(m_files, {root.fd(), Layout::k_tag}, O_WRONLY, file_mode()));
    if (tag.open())
        base::write_all(m_files, tag.fd(), as_bytes(k_cachedir_tag), 0);  // optional: a failure does no harm
    return 0;
}

base::FileHandle CacheDirectory::open_folder(const std::string& path) const
{
    return base::open_folder(m_files, m_layout.directory(), path);
}

base::FileHandle CacheDirectory::make_and_open(const std::string& path) const
{
    base::FileHandle folder = open_folder(path);
    if (folder.error() == ENOENT && prepare() == 0)
        folder = open_folder(path);
    return folder;
}

int CacheDirectory::make_folder(const std::string& path) const
{
    const std::size_t slash = path.rfind('/');
    const base::FileHandle parent = open_folder(path.substr(0, slash));
    const int made =
        parent.open() ? base::make_folder(m_files, {parent.fd(), path.substr(slash + 1)}, folder_mode()) : parent.fd();
    return made == -EEXIST ? 0 : made;
}

// Who owns the directory is the user who opened it; check() saw to that. The program may have become another since.
bool CacheDirectory::is_user_or_root(std::uint32_t owner) const
{
    return owner == m_user || owner == 0 || owner == ::geteuid();
}

template <class Use>
int CacheDirectory::at_entry(const Key& key, Use&& use) const
{
    if (!m_shared)
        return use(base::At(m_layout.entry(key).c_str()));
    const base::FileHandle shard = open_folder(m_layout.shard(key));
    return shard.open() ? use(base::At(shard.fd(), Layout::name_in_shard(key))) : shard.fd();
}

base::FileHandle CacheDirectory::open_entry(const Key& key, base::FileStat& stat) const
{
    return {m_files, at_entry(key, [&](base::At at) { return base::open_file(m_files, at, O_RDONLY, stat); })};
}

Bytes CacheDirectory::read_entry(const Key& key, int& error, std::uint64_t most, bool* is_neighbours) const
{
    base::FileStat stat;
    const base::FileHandle file = open_entry(key, stat);
    const bool of_another = file.open() && !is_user_or_root(stat.owner);
    if (is_neighbours)
        *is_neighbours = of_another || (m_shared && ((stat.mode & k_written_by_others) != 0 || stat.links != 1));
    error = of_another && !m_shared ? -EPERM : -file.error();
    return error == 0 ? format::read_entry(m_files, file.fd(), stat.size, most, error) : Bytes{};
}

Bytes CacheDirectory::read_entry_head(const Key& key, std::uint64_t& size, int& error) const
{
    base::FileStat stat;
    const base::FileHandle file = open_entry(key, stat);
    error = -file.error();
    if (error != 0)
        return {};
    size = stat.size;
    return format::read_entry_head(m_files, file.fd(), 0, size, error);
}

std::int64_t CacheDirectory::stat_entry(const Key& key, WallTime* modified) const
{
    base::FileStat stat;
    if (const int error = at_entry(key, [&](base::At at) { return m_files.stat(at, stat); }); error != 0)
        return error == -ENOTDIR ? -ENOENT : error;
    if (stat.type != base::FileType::file)
        return -ENOENT;
    if (modified)
        *modified = stat.modified;
    return static_cast<std::int64_t>(stat.size);
}

int CacheDirectory::unlink_entry(const Key& key) const
{
    const base::FileHandle shard = open_folder(m_layout.shard(key));
    const int error = shard.open() ? m_files.unlink({shard.fd(), Layout::name_in_shard(key)}) : shard.fd();
    return error == -ENOENT || error == -ENOTDIR || error == -EISDIR ? 0 : error;
}

CacheDirectory::Temporary::~Temporary()
{
    if (!m_name.empty())
        m_directory.m_files.unlink({m_folder.fd(), m_name});
}

int CacheDirectory::Temporary::move_to(const Key& key)
{
    const base::FileHandle shard = m_directory.open_folder(m_directory.m_layout.shard(key));
    return shard.open() ? m_directory.m_files.rename({m_folder.fd(), m_name}, {shard.fd(), Layout::name_in_shard(key)})
                        : shard.fd();
}

int CacheDirectory::Temporary::publish(const Key& key)
{
    // Closed before it is renamed: a network file system makes the bytes visible to others, and reports a failed write,
    // only at the close.
    if (const int closed = m_file.close(); closed != 0)
        return closed;
    int error = move_to(key);
    if (error == -ENOENT) {
        // The shard does not exist yet, or somebody removed the directory meanwhile.
        m_directory.prepare();
        m_directory.make_folder(m_directory.m_layout.shard(key));
        m_directory.m_synced[key.digest[0]].store(false, std::memory_order_relaxed);
        error = move_to(key);
    }
    if (error == -EISDIR)
        error = -EEXIST;  // a directory where an entry should be: not ours to remove
    if (error == 0)
        m_name.clear();
    return error;
}

int CacheDirectory::sync_folder(const std::string& path) const
{
    const base::FileHandle named = open_folder(path);
    if (!named.open())
        return named.fd();
    // Opened again, because what is good for naming things only cannot be synced.
    const base::FileHandle folder(m_files, m_files.open({named.fd(), "."}, O_RDONLY | O_DIRECTORY, 0));
    const int error = folder.open() ? m_files.sync(folder.fd()) : folder.fd();
    return error == -EINVAL ? 0 : error;  // this file system has no such thing as syncing a folder
}

int CacheDirectory::sync_name(const Key& key) const
{
    if (const int error = sync_folder(m_layout.shard(key)); error != 0)
        return error;
    // Whoever made the shard, and the folders above it, may not have synced their names.
    std::atomic<bool>& synced = m_synced[key.digest[0]];
    if (synced.load(std::memory_order_relaxed))
        return 0;
    for (const std::string& path : {m_layout.entries(), m_layout.root(), m_layout.directory()})
        if (const int error = sync_folder(path); error != 0)
            return error;
    // The folder that the directory lies in is not ours, and we may not be allowed to read it.
    const base::FileHandle above(m_files,
                                 m_files.open((m_layout.directory() + "/..").c_str(), O_RDONLY | O_DIRECTORY, 0));
    if (above.open())
        m_files.sync(above.fd());
    synced.store(true, std::memory_order_relaxed);
    return 0;
}

std::string CacheDirectory::unique_name() const
{
    // After a fork several processes have the same seed: the process id tells them apart. The random seed tells apart
    // machines that share a directory.
    return fmt::format("{:016x}-{}-{}", m_seed, ::getpid(), m_counter.fetch_add(1, std::memory_order_relaxed));
}

std::unique_ptr<CacheDirectory::Temporary> CacheDirectory::create_temporary(int& error) const
{
    base::FileHandle folder = make_and_open(m_layout.temporaries());
    error = folder.open() ? -EEXIST : folder.fd();
    // A name that is taken was left behind by an earlier process with the same id.
    for (int attempt = 0; error == -EEXIST && attempt < k_names_tried; ++attempt) {
        std::string name = unique_name();
        // Who shares the directory may read an entry, and put another one in its place, which is then his.
        const int fd = base::create_file(m_files, {folder.fd(), name}, O_RDWR, file_mode() & ~k_written_by_others);
        if (fd >= 0)
            return std::make_unique<Temporary>(*this, std::move(folder), std::move(name),
                                               base::FileHandle(m_files, fd));
        error = fd;
    }
    return nullptr;
}

std::unique_ptr<CacheDirectory::Temporary> CacheDirectory::write_temporary(ByteView bytes, int& error)
{
    std::unique_ptr<Temporary> temporary = create_temporary(error);
    if (!temporary)
        return nullptr;
    const int fd = temporary->m_file.fd();
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
    const base::FileHandle entries = open_folder(m_layout.entries());
    if (const int listed = entries.open() ? m_files.list({entries.fd(), "."}, folders) : entries.fd(); listed != 0)
        return listed == -ENOENT ? 0 : listed;
    std::vector<std::string> names;
    for (const std::string& folder : folders) {
        const std::optional<unsigned> shard = Layout::shard_of(folder);
        const int listed = shard ? m_files.list({entries.fd(), folder}, names) : -ENOTDIR;
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

std::uint64_t CacheDirectory::sweep_temporaries(WallTime now) const
{
    return sweep_abandoned(m_layout.temporaries(), Layout::names_temporary, now);
}

std::uint64_t CacheDirectory::sweep_flights(WallTime now) const
{
    return sweep_abandoned(m_layout.flights(), Layout::names_key, now);
}

std::uint64_t CacheDirectory::sweep_abandoned(const std::string& path, bool (*is_ours)(std::string_view),
                                              WallTime now) const
{
    std::vector<std::string> names;
    const base::FileHandle folder = open_folder(path);
    if (!folder.open() || m_files.list({folder.fd(), "."}, names) != 0)
        return 0;
    std::uint64_t swept = 0;
    for (const std::string& name : names) {
        if (!is_ours(name))
            continue;
        base::FileStat stat;
        base::FileHandle file(m_files, base::open_file(m_files, {folder.fd(), name}, O_RDWR, stat));
        if (file.error() == EACCES)  // of another user who shares the directory
            file = base::FileHandle(m_files, base::open_file(m_files, {folder.fd(), name}, O_RDONLY, stat));
        // A young file may belong to a process that has created it and not yet locked it.
        if (!file.open() || stat.modified > base::time_before(now, k_abandoned_after))
            continue;
        if (m_files.try_lock(file.fd()) == 0 && m_files.unlink({folder.fd(), name}) == 0)
            ++swept;
    }
    return swept;
}

FlightAttempt CacheDirectory::try_flight(const Key& key) const
{
    const std::string name = key.hex();
    const base::FileHandle folder = make_and_open(m_layout.flights());
    if (!folder.open())
        return {};
    for (int attempt = 0; attempt < 3; ++attempt) {
        base::FileHandle file(m_files, base::open_or_create(m_files, {folder.fd(), name}, O_RDWR, file_mode()));
        if (!file.open())
            return {};
        const int locked = m_files.try_lock(file.fd());
        if (locked == -EWOULDBLOCK)
            return {FlightAttempt::Outcome::busy, nullptr};
        if (locked != 0)
            return {};
        base::FileStat ours;
        base::FileStat there;
        const bool linked = m_files.stat(file.fd(), ours) == 0 && m_files.stat({folder.fd(), name}, there) == 0 &&
                            ours.inode == there.inode && ours.device == there.device;
        if (linked)
            return {FlightAttempt::Outcome::held,
                    std::make_unique<LockedFlight>(m_files, m_layout, key, std::move(file))};
    }
    return {FlightAttempt::Outcome::busy, nullptr};
}

Bytes CacheDirectory::read_note(std::string_view name) const
{
    const base::FileHandle notes = open_folder(m_layout.notes());
    return notes.open() ? read_note_file(m_files, {notes.fd(), Layout::note_name(name)}) : Bytes{};
}

bool CacheDirectory::update_note(std::string_view name, const std::function<Bytes(ByteView)>& edit) const
{
    const base::FileHandle notes = make_and_open(m_layout.notes());
    if (!notes.open())
        return false;
    const DirectoryLock lock(m_files, {notes.fd(), std::string(name) + ".lock"}, file_mode(), k_note_patience);
    return lock.held() && update_note_file(m_files, {notes.fd(), Layout::note_name(name)}, file_mode(), edit);
}

}  // namespace hearth::tiers
