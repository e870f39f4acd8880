#pragma once

#include "compilers/common/text_facts.hpp"
#include "hearth/cache.hpp"
#include "watch/condition.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// What is known of the texts of files. Every process that compiles reads mostly the same headers, so their facts are
// kept in the cache, those of a directory's files in one entry:
//
//   "hearth texts 1\n" (name:str16 device:u64 inode:u64 size:u64 modified:i64 changed:i64 digest:32 facts:str32)*
//
// They hold as long as the file's identity is the same, and are kept only of files that are settled.

namespace hearth::compilers {

class KnownTexts {
public:
    // `cache` null: nothing is read from one, or kept there. `working_directory`: where relative paths begin.
    KnownTexts(Cache* cache, std::string working_directory)
        : m_cache(cache), m_working_directory(std::move(working_directory))
    {
    }

    // Of the file with this identity, if its facts are known too.
    std::optional<base::Sha256> digest_of(const std::string& path, const watch::FileIdentity& file);

    // The text is needed only where digest_of() has not told its digest.
    std::shared_ptr<const TextFacts> facts_of(const watch::ReadText& text);

    // For the next process.
    void learn(const watch::ReadText& text, const TextFacts& facts);
    // Best effort: of two processes that learn at the same moment, one has to learn again.
    void keep();

private:
    struct File {
        watch::FileIdentity identity;
        base::Sha256 digest{};
        std::string_view facts;  // encoded
        bool is_used = false;    // by this compile
    };
    struct Directory {
        Lookup kept;  // owns the facts that were read
        std::map<std::string, File, std::less<>> files;
        std::size_t bytes = 0;
        std::size_t new_bytes = 0;
    };
    struct Place {
        Directory* directory;
        std::string name;
    };

    std::optional<Place> place_of(const std::string& path);
    static void read(Directory& directory);
    void write(const std::string& path, const Directory& directory);

    Cache* const m_cache;
    const std::string m_working_directory;
    std::map<std::string, Directory, std::less<>> m_directories;
    std::map<base::Sha256, std::shared_ptr<const TextFacts>> m_found;
    std::deque<std::string> m_learnt;  // owns the facts that were not read
};

}  // namespace hearth::compilers
