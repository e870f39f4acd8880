#pragma once

#include "base/files.hpp"
#include "base/fork.hpp"
#include "base/process_start.hpp"
#include "format/recipe.hpp"
#include "hearth/tier.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace hearth::recipes {

// Appends what this process compiles to one recipe file, which other processes append to as well.
// Thread safety: all of it. A forked child goes on with the same file; it does not repeat what its parent has written.
// Failure: the first one is logged, and from then on nothing is written any more. The program goes on.
// Cost: a recipe that is known costs one short write, and a check that the file is still there. No lock is held during
// a write.
class Recorder {
public:
    // Opens nothing yet.
    Recorder(base::Files& files, std::string path) : m_files(files), m_path(std::move(path)) {}
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    // The one of this process for a path. It is never destroyed: threads may still compile while the program ends.
    static Recorder& of(const std::string& path);

    // Takes what other processes have written for written, so that short-lived ones do not write the same contents
    // again and again. Cost: a read for each 64 KiB of small records, and for each large one.
    void learn_what_is_there();

    // Call it once before each recipe. If the file was replaced or removed meanwhile, everything is written anew.
    void look_for_the_file();

    // The recipe of a result that was recorded before; none: it was not.
    std::optional<Key> recipe_of(const Key& result);
    void remember(const Key& result, const Key& recipe);

    // Whether the caller is to write this recipe, or this content: true once for each.
    bool claim(const Key& recipe);
    bool claim(const base::Sha256& content);
    // The caller could not write it after all: the next caller may try.
    void disclaim(const Key& recipe);
    void disclaim(const base::Sha256& content);

    bool stopped() const { return m_stopped.load(std::memory_order_relaxed); }

    // Appends a whole record. An empty one stands for what is too large to be recorded, and is left out.
    void append(std::string_view record, const LogSink& log);
    // Counts a use, and writes it unless there have been very many.
    void use(const Key& recipe, const LogSink& log);

private:
    // Uses of one recipe in this process.
    struct Uses {
        std::uint64_t counted = 0;
        std::uint64_t written = 0;
    };

    std::shared_ptr<const base::FileHandle> open(int& error);
    void fail(int error, const LogSink& log);
    void take_for_written(const format::RecordName& record);
    void after_fork();

    base::Files& m_files;
    const std::string m_path;
    std::atomic<bool> m_stopped{false};  // relaxed: a thread that has not seen it yet fails by itself

    base::ForkSafeMutex m_mutex{base::LockLevel::engine};
    std::shared_ptr<const base::FileHandle> m_open;  // closed after the last writer is done
    std::unordered_set<base::Sha256, format::DigestHash> m_contents;
    std::unordered_set<Key> m_recipes;
    std::unordered_map<Key, Key> m_recipe_of;  // by the results' keys
    std::unordered_map<Key, Uses> m_uses;
    base::ProcessStart m_start = base::ProcessStart::ask();
    std::chrono::nanoseconds m_last_use{-1};

    const base::ForkGuard m_fork_guard{[this] { after_fork(); }};
};

// Whether a recipe may hold these words, and variables as "NAME=value": it would need them as they are. If one may be a
// secret, says so of `name`.
bool may_record(const std::string& name, const std::vector<std::string>& words,
                const std::vector<std::string>& variables, const LogSink& log);

}  // namespace hearth::recipes
