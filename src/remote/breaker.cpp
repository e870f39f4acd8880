#include "remote/breaker.hpp"

#include "base/digest.hpp"
#include "base/wire.hpp"
#include "hearth/key.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>

namespace hearth::remotes {

namespace {

constexpr std::string_view k_magic = "HRTHBRK1";
constexpr std::size_t k_file_size = 32;
constexpr std::size_t k_sum_size = 8;
constexpr std::uint64_t k_ms = 1'000'000;
constexpr std::uint32_t k_first_pause_ms = 1000;
constexpr std::uint32_t k_longest_pause_ms = 30'000;
constexpr std::uint32_t k_failures_in_a_row = 3;
// How late, at most, this process learns what another has found out.
constexpr std::uint64_t k_look_every = 100 * k_ms;

base::Checksum sum_of(ByteView bytes)
{
    return base::checksum(base::ChecksumKind::sha256, bytes).value();
}

}  // namespace

Breaker::Breaker(std::string path, Clock now, Users users, base::Files& files)
    : m_path(std::move(path)), m_now(std::move(now)), m_users(users), m_files(files)
{
}

std::uint64_t Breaker::wall_ns()
{
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return static_cast<std::uint64_t>(std::max<std::int64_t>(now.tv_sec, 0)) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

bool Breaker::is_down() const
{
    return m_down_until.load(std::memory_order_relaxed) != 0;
}

bool Breaker::allows()
{
    const std::uint64_t now = m_now();
    const std::uint64_t down_until = m_down_until.load(std::memory_order_relaxed);
    // Also while the server is down: another process may have found it working again.
    if (now >= m_look_again.load(std::memory_order_relaxed) || (down_until != 0 && now >= down_until))
        return look_at_file(now);
    return down_until == 0;
}

void Breaker::look()
{
    const std::lock_guard lock(m_mutex);
    m_look_again.store(m_now() + k_look_every, std::memory_order_relaxed);
    if (file() >= 0)
        set(read_file());
}

bool Breaker::left_alone()
{
    const std::uint64_t now = m_now();
    if (now >= m_look_again.load(std::memory_order_relaxed))
        look();
    return now < m_down_until.load(std::memory_order_relaxed);
}

// Other processes may know better. When it is time to try again, one process does.
bool Breaker::look_at_file(std::uint64_t now)
{
    const std::lock_guard lock(m_mutex);
    m_look_again.store(now + k_look_every, std::memory_order_relaxed);
    State state{m_down_until.load(std::memory_order_relaxed), m_pause_ms.load(std::memory_order_relaxed)};
    const bool shared = file() >= 0;
    if (shared)
        state = read_file();
    state = believable(state, now);
    set(state);
    if (state.down_until == 0)
        return true;
    if (now < state.down_until)
        return false;
    if (shared && m_files.try_lock(file()) != 0)
        return false;  // another process is about to try
    // What was read before the lock may be old.
    const State again = shared ? read_file() : state;
    const bool mine = again.down_until == state.down_until;
    if (mine) {
        state.down_until = now + std::max(state.pause_ms, k_first_pause_ms) * k_ms;
        write_file(state);
    }
    if (shared) {
        // Closing the file releases the lock; it is opened again when it is next needed.
        m_file.close();
        m_file = {};
        m_tried_to_open = false;
    }
    set(mine ? state : again);
    return mine;
}

void Breaker::succeeded()
{
    m_failures.store(0, std::memory_order_relaxed);
    if (!is_down())
        return;
    const std::lock_guard lock(m_mutex);
    set({});
    write_file({});
}

void Breaker::failed(Failure failure)
{
    const std::uint32_t failures = m_failures.fetch_add(1, std::memory_order_relaxed) + 1;
    if (failure == Failure::request && failures < k_failures_in_a_row && !is_down())
        return;
    const std::uint64_t now = m_now();
    const std::lock_guard lock(m_mutex);
    std::uint32_t pause = m_pause_ms.load(std::memory_order_relaxed);
    pause = pause == 0 ? k_first_pause_ms : std::min(pause * 2, k_longest_pause_ms);
    if (failure == Failure::refusal)
        pause = k_longest_pause_ms;  // a refusal does not go away by itself
    // Machines that lost a server at the same moment must not come back at the same moment.
    const std::uint64_t jitter = (now / 1000) % (pause * k_ms / 5);
    const State state{now + pause * k_ms - jitter, pause};
    set(state);
    write_file(state);
}

// A time further ahead than the longest pause means that a clock was set back.
Breaker::State Breaker::believable(const State& state, std::uint64_t now)
{
    return state.down_until > now + std::uint64_t{2} * k_longest_pause_ms * k_ms ? State{} : state;
}

void Breaker::set(const State& state)
{
    m_down_until.store(state.down_until, std::memory_order_relaxed);
    m_pause_ms.store(state.pause_ms, std::memory_order_relaxed);
}

// The file is in a folder of the cache directory, which may be shared and may have to be made.
base::FileHandle Breaker::open_file()
{
    const std::size_t slash = m_path.rfind('/');
    const std::string folder = m_path.substr(0, slash);
    const std::string directory = folder.substr(0, folder.rfind('/'));
    const unsigned mode = m_users == Users::many ? base::mode_for_sharing(m_files, directory) : 0700;
    base::FileHandle at = base::open_folder(m_files, directory, folder);
    if (at.error() == ENOENT) {
        base::make_directories(m_files, directory, mode);
        base::make_folder(m_files, folder.c_str(), mode);
        at = base::open_folder(m_files, directory, folder);
    }
    // Whoever can write there could keep us from our servers. The disk tier refuses such a directory too.
    base::FileStat outer;
    base::FileStat inner;
    if (m_users == Users::one && at.open() &&
        (m_files.stat((directory + "/.").c_str(), outer) != 0 || !base::is_ours_alone(outer) ||
         m_files.stat(at.fd(), inner) != 0 || !base::is_ours_alone(inner)))
        return {};
    if (!at.open())
        return at;
    return {m_files, base::open_or_create(m_files, {at.fd(), m_path.substr(slash + 1)}, O_RDWR, mode & 0666U)};
}

// Called under the lock. If the file cannot be opened, each process uses only what it finds out itself.
int Breaker::file()
{
    if (m_path.empty())
        return -1;
    if (!m_tried_to_open) {
        m_tried_to_open = true;
        m_file = open_file();
    }
    return m_file.open() ? m_file.fd() : -1;
}

Breaker::State Breaker::read_file()
{
    std::array<std::byte, k_file_size> bytes{};
    if (file() < 0 || base::read_exactly(m_files, file(), bytes.data(), bytes.size(), 0) != 0)
        return {};
    const ByteView body = ByteView(bytes).first(k_file_size - k_sum_size);
    const base::Checksum sum = sum_of(body);
    if (as_text(body.first(k_magic.size())) != k_magic ||
        !std::equal(body.end(), ByteView(bytes).end(), std::as_bytes(std::span(sum)).begin()))
        return {};
    base::WireReader reader(body.subspan(k_magic.size()));
    State state;
    state.down_until = reader.number<std::uint64_t>();
    state.pause_ms = std::min(reader.number<std::uint32_t>(), k_longest_pause_ms);
    return believable(state, m_now());
}

void Breaker::write_file(const State& state)
{
    if (file() < 0)
        return;
    base::WireWriter out;
    out.raw(k_magic);
    out.number(state.down_until);
    out.number(state.pause_ms);
    out.number(std::uint32_t{0});
    const base::Checksum sum = sum_of(out.view());
    out.raw(std::as_bytes(std::span(sum)).first(k_sum_size));
    static_cast<void>(base::write_all(m_files, file(), out.view(), 0));
}

std::optional<Breaker::Failure> failure_of(const Error* error)
{
    if (error == nullptr)
        return std::nullopt;
    switch (error->code) {
    case Code::too_large:
    case Code::other_version:
    case Code::invalid_argument:  // it was not even asked
        return std::nullopt;
    case Code::timeout:
    case Code::unavailable:
        return Breaker::Failure::server;
    case Code::denied:
        return Breaker::Failure::refusal;
    default:
        return Breaker::Failure::request;
    }
}

// Hashed: the name of a server may be a stranger's.
std::string state_file_of(const std::string& of_the_remote, std::string_view server)
{
    if (of_the_remote.empty())
        return {};
    return fmt::format("{}-{}", of_the_remote, Key::of("server of a remote", server).hex().substr(0, 16));
}

}  // namespace hearth::remotes
