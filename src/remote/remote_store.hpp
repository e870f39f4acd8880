#pragma once

#include "base/text.hpp"
#include "hearth/bytes.hpp"
#include "hearth/result.hpp"
#include "remote/url.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// What a remote tier needs from a server: bytes under names. There is one implementation per protocol, in a library of
// its own that is loaded only if a remote of that kind is configured (remote/store_library.hpp).

namespace hearth {
enum class Users : std::uint8_t;  // hearth/tier.hpp
}

namespace hearth::remotes {

using SteadyTime = std::chrono::steady_clock::time_point;

struct StoreOptions {
    Url url;
    std::chrono::milliseconds connect_timeout{100};
    std::uint64_t max_object_bytes = 0;  // a larger one is refused before memory is allocated for it
    std::size_t max_connections = 8;     // kept open, and used at once by one process
    // Where the processes of this machine tell each other which of its servers rest; empty: nowhere.
    std::string state_file{};
    Users state_users{};
    // Called with what is wrong with one of its servers when others may answer in its place. From any thread.
    std::function<void(const std::string& problem)> tell{};
};

struct Object {
    std::string name;
    ByteView bytes;
};

// A request for a part of a list. Whoever lists can be told to stop only between two of them.
inline constexpr std::chrono::milliseconds k_list_part{10000};

// 1 to 128 letters, digits, '-', '_' and '.', but no '.' at the beginning: other names could lead out of their folder.
inline bool is_name(std::string_view name)
{
    return !name.empty() && name.size() <= 128 && name.front() != '.' &&
           std::all_of(name.begin(), name.end(),
                       [](char c) { return base::is_letter_or_digit(c) || c == '-' || c == '_' || c == '.'; });
}

// A client of one server, or of several that are one remote.
// Names are as is_name() has them; the store adds its own prefix or path.
// Thread safety: every function, from any thread at any time. No connection before the first call.
// Failure: nothing throws, nothing blocks beyond its deadline (give or take a few milliseconds). The code says what
// kind:
//   unavailable  the server could not be reached, broke off, or said that it cannot serve
//   timeout      the deadline passed
//   denied       it refused us: password, signature, certificate, permission
//   corrupt      its answer does not follow the protocol
//   too_large    the object is larger than StoreOptions::max_object_bytes
//   other_version  it does not know how to do this
// Messages are sentences with the server's address, and never with a secret.
// The contract in full is tests/remote/store_conformance.hpp.
class RemoteStore {
public:
    virtual ~RemoteStore() = default;

    // The bytes under each name, or none. Every function that takes many gives one answer for each, in the same order,
    // in one round trip or several at once.
    virtual std::vector<Result<std::optional<Bytes>>> get_many(std::span<const std::string> names,
                                                               SteadyTime deadline) = 0;
    Result<std::optional<Bytes>> get(std::string_view name, SteadyTime deadline)
    {
        const std::string one(name);
        return std::move(get_many({&one, 1}, deadline).front());
    }
    virtual std::vector<Result<bool>> has_many(std::span<const std::string> names, SteadyTime deadline) = 0;
    // Replaces what was there, atomically for readers.
    virtual std::vector<Status> put_many(std::span<const Object> objects, SteadyTime deadline) = 0;
    Status put(std::string_view name, ByteView bytes, SteadyTime deadline)
    {
        const Object one{std::string(name), bytes};
        return put_many({&one, 1}, deadline).front();
    }
    // Returns whether it was there.
    virtual Result<bool> remove(std::string_view name, SteadyTime deadline) = 0;
    // Visits every name, in no order, until the visitor returns false. The size is 0 if it would cost another request.
    // Between the parts of a list, which may name nothing, an empty name is visited, so that one that never ends can be
    // left. No part takes longer than k_list_part.
    virtual Status list(const std::function<bool(std::string_view name, std::uint64_t bytes)>& visit,
                        SteadyTime deadline) = 0;

    // For leases. True: nothing was there, and now these bytes are, for `lifetime` if the server supports expiry.
    virtual Result<bool> put_if_absent(std::string_view name, ByteView bytes, std::chrono::milliseconds lifetime,
                                       SteadyTime deadline) = 0;
    // Prolongs the object by `lifetime` from now, if it holds exactly `bytes`. False: it is gone, or another's.
    virtual Result<bool> renew(std::string_view name, ByteView bytes, std::chrono::milliseconds lifetime,
                               SteadyTime deadline) = 0;
    // Removes the object if it holds exactly `bytes`. False: it is gone, or another's.
    virtual Result<bool> remove_if(std::string_view name, ByteView bytes, SteadyTime deadline) = 0;

    // Whether some of its servers are left alone for now, and others answer: an error says nothing about the whole.
    virtual bool is_partly_down() { return false; }
    // Whether the one of its servers that has this name is left alone for now.
    virtual bool rests(std::string_view) { return false; }
    // In a forked child, connections belong to the parent. They are closed here without a message to the server.
    virtual void after_fork() noexcept = 0;
    // "redis 7.0.15 at 127.0.0.1:6379", or less if it cannot be reached. May ask the server.
    virtual std::string description() = 0;
};

using OpenStore = Result<std::unique_ptr<RemoteStore>>(const StoreOptions& options);

}  // namespace hearth::remotes
