#pragma once

#include "base/files.hpp"
#include "base/fork.hpp"
#include "base/process_start.hpp"
#include "format/recipe.hpp"
#include "hearth/tier.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace hearth::nvrtc {

// Appends what this process compiles to one recipe file, which other processes append to as well.
// Thread safety: all of it. A forked child goes on with the same file; what its parent has written it does not repeat.
// Failure: the first one is told to the log, and from then on nothing is written any more. The program goes on.
// Cost: a recipe that is known costs one short write, and a look whether the file is still there. No lock is held over
// a write.
class Recorder {
public:
    // Opens nothing yet.
    Recorder(base::Files& files, std::string path) : m_files(files), m_path(std::move(path)) {}
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    // The one of this process for a path. It is never destroyed: threads may still compile while the program ends.
    static Recorder& of(const std::string& path);

    // Once before each recipe: where the file was replaced or removed since, everything is to be written anew.
    void look_for_the_file();

    // Whether the caller is to write this recipe, or this content: true once for each.
    bool claim(const Key& recipe);
    bool claim(const base::Sha256& content);
    // It could not be had after all: the next one who has it may try.
    void disclaim(const Key& recipe);
    void disclaim(const base::Sha256& content);

    bool stopped() const { return m_stopped.load(std::memory_order_relaxed); }

    // A whole record. Empty ones, of what is too large to be recorded, are left out.
    void append(std::string_view record, const LogSink& log);
    // Counts a use and, unless there have been very many, writes of it.
    void use(const Key& recipe, const LogSink& log);

private:
    // Uses of one recipe in this process.
    struct Uses {
        std::uint64_t counted = 0;
        std::uint64_t written = 0;
    };

    std::shared_ptr<const base::FileHandle> open(int& error);
    void fail(int error, const LogSink& log);
    void after_fork();

    base::Files& m_files;
    const std::string m_path;
    std::atomic<bool> m_stopped{false};  // relaxed: who has not seen it yet fails by itself

    base::ForkSafeMutex m_mutex{base::LockLevel::engine};
    std::shared_ptr<const base::FileHandle> m_open;  // closed behind the last who writes to it
    std::unordered_set<base::Sha256, format::DigestHash> m_contents;
    std::unordered_set<Key> m_recipes;
    std::unordered_map<Key, Uses> m_uses;
    base::ProcessStart m_start = base::ProcessStart::ask();
    std::chrono::nanoseconds m_last_use{-1};

    const base::ForkGuard m_fork_guard{[this] { after_fork(); }};
};

}  // namespace hearth::nvrtc
