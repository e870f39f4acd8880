#pragma once

#include "hearth/api.hpp"
#include "hearth/artifact.hpp"
#include "hearth/compile_function.hpp"
#include "hearth/key.hpp"
#include "hearth/lookup.hpp"
#include "hearth/options.hpp"
#include "hearth/result.hpp"
#include "hearth/stats.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth {

class Vram;

enum class EntryKind : std::uint8_t {
    result,   // of a compile
    derived,  // only from what this machine has: not counted, not shared with servers, never forbidden to compile
};

struct InsertOptions {
    std::string tier{};  // only into this one; empty: the fastest that can hold it, and every persistent one
    EntryKind kind = EntryKind::result;
};

struct InsertReport {
    std::vector<std::string> tiers;    // that hold it now, in lookup order
    std::vector<std::string> refused;  // a sentence for each tier that could not take it
};

enum class Captures : std::uint8_t {
    borrowed,  // the compile function uses what belongs to its caller
    owned,     // it owns all it uses, and may still run when its caller has a result and is gone
};

struct GetOptions {
    std::chrono::milliseconds deadline{0};  // 0: wait as long as it takes. With one, captures must be owned
    Metadata metadata{};                    // for a compile function that returns plain bytes
    // What the compile is expected to take, for CacheOptions::race_under. 0: as long as others of this process, on
    // average.
    std::chrono::milliseconds expected{0};
    EntryKind kind = EntryKind::result;
    Captures captures = Captures::borrowed;  // only compiles that own theirs are raced against servers
};

// Where compiles are recorded, and who is told when that fails.
struct Recording {
    std::string path;  // absolute
    LogSink log;
};

// The cache: several tiers, fastest first, behind one lookup. (What operators do to one: hearth/admin.hpp.)
// Thread safety: every function, from any thread. Not copyable; movable while no other thread uses it.
// Failure: a broken tier costs hits, never the program. No exception leaves this class; what a compile function throws
// comes back as an Error.
// Cost: find() in memory takes no lock, allocates nothing and writes no cache line another thread reads.
class HEARTH_API Cache {
public:
    // With what the options say, then the environment, then the configuration file, then defaults.
    static Result<Cache> open(CacheOptions options = {});

    Cache(Cache&&) noexcept;
    Cache& operator=(Cache&&) noexcept;
    Cache(const Cache&) = delete;
    Cache& operator=(const Cache&) = delete;
    ~Cache();

    Lookup find(const Key& key);
    // The same, counted neither as a lookup nor as a use.
    Lookup peek(const Key& key);
    Result<InsertReport> insert(const Key& key, Artifact artifact, const InsertOptions& options = {});
    Result<InsertReport> insert(const Request& request, Artifact artifact, const InsertOptions& options = {});
    // From every tier. Whether it was in one.
    bool remove(const Key& key);

    // The entry, compiled at most once here and on this machine however many ask for it at the same time.
    template <Compiles F>
    Result<Lookup> get_or_compile(const Key& key, F&& compile, const GetOptions& options = {})
    {
        return get(key, {}, std::forward<F>(compile), options);
    }
    template <Compiles F>
    Result<Lookup> get_or_compile(const Request& request, F&& compile, const GetOptions& options = {})
    {
        return get(request.key(), request.encoding(), std::forward<F>(compile), options);
    }
    // The same without waiting. Compiles run on the cache's own workers, started when first needed, with signals
    // blocked.
    template <Compiles F>
    std::future<Result<Lookup>> get_or_compile_async(const Key& key, F&& compile, const GetOptions& options = {})
    {
        return compile_later(key, {}, detail::as_compile_function(std::forward<F>(compile)), options);
    }
    template <Compiles F>
    std::future<Result<Lookup>> get_or_compile_async(const Request& request, F&& compile,
                                                     const GetOptions& options = {})
    {
        return compile_later(request.key(), request.encoding(), detail::as_compile_function(std::forward<F>(compile)),
                             options);
    }
    // For what cannot be cached: looks nothing up and stores nothing. Counted as a miss, past the cache.
    template <Compiles F>
    Result<Lookup> compile_past_the_cache(F&& compile, const Metadata& metadata = {})
    {
        return compile_past(detail::as_compile_function(std::forward<F>(compile)), metadata);
    }

    // Runs `work` on one of the cache's workers; with an Error instead, when the cache closes before its turn comes.
    void run_later(std::function<void(const Status&)> work);

    // Its tier in device memory, the first or the one of that name; hearth/vram.hpp.
    Vram vram(std::string_view tier = {});

    // Everything that is still on its way is stored, and uses and statistics are written down.
    void flush();
    Stats stats(Scope scope = Scope::process);

    // Whether compiles may be raced against servers: then it is worth a copy to let one own its captures.
    bool races() const noexcept;
    // For compilers, which record what they are asked for; null: nowhere. docs/recipes.md.
    const Recording* recording() const noexcept;

    // For Hearth itself: what a cache is made of.
    struct Parts;
    explicit Cache(std::unique_ptr<Parts> parts);
    Parts& parts() noexcept { return *m_parts; }

private:
    // Not asked yet: servers are raced against the compile.
    enum class Servers : std::uint8_t { asked, not_asked };

    template <class F>
    Result<Lookup> get(const Key& key, const Bytes& request, F&& compile, const GetOptions& options)
    {
        Servers servers = Servers::asked;
        Lookup found = look(key, options, servers);
        if (found && !found->failed())
            return found;
        return compile_missing(key, request, detail::as_compile_function(std::forward<F>(compile)), options,
                               std::move(found), servers);
    }
    Lookup look(const Key& key, const GetOptions& options, Servers& servers);
    Result<Lookup> compile_missing(const Key& key, const Bytes& request, CompileFunction compile,
                                   const GetOptions& options, Lookup found, Servers servers);
    std::future<Result<Lookup>> compile_later(const Key& key, const Bytes& request, CompileFunction compile,
                                              const GetOptions& options);
    Result<Lookup> compile_past(const CompileFunction& compile, const Metadata& metadata);

    std::unique_ptr<Parts> m_parts;
};

}  // namespace hearth
