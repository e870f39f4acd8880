#pragma once

#include "base/files.hpp"
#include "base/fork.hpp"
#include "hearth/tier.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

// A server that fails is left alone for a while by every process of the machine. So a dead server costs the machine one
// deadline, and not one per lookup or per process.
//
//   working -> down     a connection or a deadline failed, or three requests in a row did; for a second
//   down -> down        the time is over, one process tries it, and it fails: for twice as long, half a minute at most
//   down -> working     ...and it answers
//
// The processes of a machine share the state in a small file:
//
//   file := magic:u8[8] down_until:u64 pause_ms:u32 zero:u32 sum:u8[8]
//
// Times are wall-clock nanoseconds. sum is the beginning of the checksum over all before it. A torn or foreign file is
// ignored, and the server is tried. A process that tries it first moves down_until ahead, under the file's lock, so
// that no other does. If that process dies, another one tries after that time.

namespace hearth::remotes {

class Breaker {
public:
    using Clock = std::function<std::uint64_t()>;  // wall-clock nanoseconds
    // Exact to a few milliseconds, which is enough here. Lookups read it while a server is down.
    static std::uint64_t wall_ns();

    // Without a path the state is this process's alone. `users`: of the directory in which its folder is.
    explicit Breaker(std::string path, Clock now, Users users = Users::one, base::Files& files = base::system_files());

    // Whether allows() would return false after a look at the clock alone.
    bool rests() const
    {
        const std::uint64_t down_until = m_down_until.load(std::memory_order_relaxed);
        if (down_until == 0)
            return false;
        const std::uint64_t now = m_now();
        return now < down_until && now < m_look_again.load(std::memory_order_relaxed);
    }
    // Whether the server may be asked now. If it returns true while the server is down, the caller is the one that
    // tries.
    bool allows();
    enum class Failure : std::uint8_t {
        request,  // it answered, but not what was asked for
        server,   // it could not be reached, or did not answer in time
        refusal,  // it rejects us: password, certificate
    };
    void succeeded();
    void failed(Failure failure);

    bool is_down() const;
    // Reads what other processes have found out, without trying the server.
    void look();
    // Whether the server is down, and it is not time to try it: as allows(), but the caller does not become the one
    // that tries.
    bool left_alone();

private:
    struct State {
        std::uint64_t down_until = 0;  // 0: working
        std::uint32_t pause_ms = 0;
    };
    bool look_at_file(std::uint64_t now);
    static State believable(const State& state, std::uint64_t now);
    State read_file();
    void write_file(const State& state);
    int file();
    base::FileHandle open_file();
    void set(const State& state);

    const std::string m_path;
    const Clock m_now;
    const Users m_users;
    base::Files& m_files;
    std::atomic<std::uint64_t> m_down_until{0};
    std::atomic<std::uint64_t> m_look_again{0};  // when to read next what others have found out
    std::atomic<std::uint32_t> m_pause_ms{0};
    std::atomic<std::uint32_t> m_failures{0};                // in a row
    base::ForkSafeMutex m_mutex{base::LockLevel::counters};  // guards the file's descriptor
    base::FileHandle m_file;
    bool m_tried_to_open = false;
};

// What the result of a request says about the server; null is success. None: it answered, as far as it was asked.
std::optional<Breaker::Failure> failure_of(const Error* error);

// For a remote of several servers, each with a breaker: the file of one of them beside that of the remote. Empty if
// that is.
std::string state_file_of(const std::string& of_the_remote, std::string_view server);

// Whether some of them are left alone and others are not.
template <class Servers>
bool are_partly_down(const Servers& servers)
{
    const auto down = [](const auto& server) { return server->breaker().is_down(); };
    return std::any_of(servers.begin(), servers.end(), down) && !std::all_of(servers.begin(), servers.end(), down);
}

}  // namespace hearth::remotes
