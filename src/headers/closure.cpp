#include "headers/closure.hpp"

#include "base/digest.hpp"
#include "headers/callers.hpp"
#include "headers/macros.hpp"
#include "watch/source_file.hpp"

#include <algorithm>
#include <chrono>
#include <climits>
#include <deque>
#include <fmt/format.h>
#include <set>
#include <thread>
#include <unordered_map>
#include <unordered_set>

namespace hearth::headers {

namespace {

constexpr std::size_t k_most_files = 100'000;

std::string directory_of(std::string_view path)
{
    const std::size_t slash = path.find_last_of('/');
    return slash == std::string_view::npos ? std::string{} : std::string(path.substr(0, slash + 1));
}

// "I:cub/util.h" is in "I:cub/", "I:util.h" in "I:".
std::string label_directory(std::string_view label)
{
    const std::size_t slash = label.find_last_of('/');
    return std::string(label.substr(0, slash == std::string_view::npos ? label.find(':') + 1 : slash + 1));
}

std::string in_directory(std::string_view directory, std::string_view name)
{
    if (directory.empty())
        return std::string(name);
    return directory.back() == '/' ? fmt::format("{}{}", directory, name) : fmt::format("{}/{}", directory, name);
}

// A place where a header can be: its path as the compiler opens it, and a label that does not depend on where the tree
// is.
struct Place {
    std::string path;
    std::string label;
};

class Closure {
public:
    explicit Closure(const Sources& sources) : m_sources(sources) {}

    format::Manifest find()
    {
        for (const Macro& macro : m_sources.defines)
            m_macros.add(macro);
        add_text({m_sources.program_name, "P:"}, m_sources.program, k_program);
        for (const auto& [name, content] : m_sources.memory_headers)
            add_text({name, "H:" + directory_of(name)}, content, k_program);
        for (const std::string& name : m_sources.pre_includes)
            look_up_pre_include(name);
        // What a computed include expands to may depend on macros of files that are found later.
        std::size_t known = 0;
        do {
            known = m_manifest.files.size();
            follow();
            ask_again();
        } while (known != m_manifest.files.size());
        mark_paths();
        m_manifest.why_past_the_cache = why_past_the_cache();
        m_manifest.absent.assign(m_absent.begin(), m_absent.end());
        return std::move(m_manifest);
    }

private:
    static constexpr std::size_t k_program = ~std::size_t{0};

    struct Text {
        Place place;                   // of the text itself: headers it quotes are looked for beside it
        std::string text;              // with its lines joined
        std::size_t file = k_program;  // which of the manifest's
        Scan scan;
    };

    void add_text(Place place, std::string_view source, std::size_t file)
    {
        Text& added = m_texts.emplace_back();
        added.place = std::move(place);
        added.text = join_lines(source);
        added.file = file;
        added.scan = scan(added.text);
        for (const Macro& macro : added.scan.macros)
            m_macros.add(macro);
        m_embeds |= added.scan.embeds;
        m_varies |= added.scan.varies;
    }

    void follow()
    {
        // Texts are added at the end while this runs; a deque does not move the earlier ones.
        for (; m_followed < m_texts.size(); ++m_followed) {
            const Text& text = m_texts[m_followed];
            for (const Include& include : text.scan.includes) {
                if (include.form == Include::Form::computed)
                    m_computed.emplace_back(m_followed, include);
                else
                    look_up(text, include);
            }
        }
    }

    // Looks up computed includes, and questions asked through macros, with all macros that are known by now.
    void ask_again()
    {
        m_unclear.clear();
        for (const auto& [from, include] : m_computed) {
            const auto names = m_macros.expand(include.name);
            if (!names)
                m_unclear = include.name;
            for (const std::string& name : names.value_or(std::set<std::string>{}))
                look_up(m_texts[from], {name.front() == '"' ? Include::Form::quoted : Include::Form::angled,
                                        include.next, name.substr(1, name.size() - 2)});
        }
        for (const std::string& question : m_macros.questions()) {
            // A lookup adds texts at the end; a deque does not move the earlier ones.
            std::size_t asked = 0;
            while (asked != m_texts.size())
                ask_through(m_texts[asked++], question);
        }
    }

    void ask_through(const Text& text, const std::string& question)
    {
        for (std::size_t at = text.text.find(question); at != std::string::npos; at = text.text.find(question, at + 1))
            look_up_argument(text, std::string_view(text.text).substr(at + question.size()));
    }

    // `rest` follows the name of a macro that asks for its argument.
    void look_up_argument(const Text& text, std::string_view rest)
    {
        const auto skip = [&] {
            while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t'))
                rest.remove_prefix(1);
        };
        skip();
        if (rest.empty() || rest.front() != '(')
            return;
        rest.remove_prefix(1);
        skip();
        if (rest.empty() || (rest.front() != '<' && rest.front() != '"'))
            return;
        const bool quoted = rest.front() == '"';
        const std::size_t end = rest.find_first_of(quoted ? "\"\n" : ">\n", 1);
        if (end != std::string_view::npos && rest[end] != '\n')
            look_up(text, {quoted ? Include::Form::quoted : Include::Form::angled, false,
                           std::string(rest.substr(1, end - 1))});
    }

    void look_up(const Text& from, const Include& include)
    {
        const std::string beside = directory_of(from.place.path);
        const bool quoted = include.form == Include::Form::quoted;
        // The same question from the same directory has the same answer.
        if (!m_asked
                 .insert(fmt::format("{}\n{}\n{}", quoted ? beside : "", include.name,
                                     quoted         ? 'q'
                                     : include.next ? 'n'
                                                    : 'a'))
                 .second)
            return;
        for (const auto& [name, content] : m_sources.memory_headers)
            if (name == include.name)
                return;  // scanned already
        if (include.name.front() == '/') {
            take({include.name, "A:" + include.name});
            return;
        }
        const bool of_program = from.file == k_program && from.place.label == "P:";
        if (quoted && (!of_program || m_sources.search_beside_program) &&
            take({beside + include.name, label_directory(from.place.label) + include.name}))
            return;
        if (take_from_directories(include.name, include.next))
            return;
        // A standard header, which has no extension, may be there with this extension.
        if (include.name.find('.', include.name.find_last_of('/') + 1) == std::string::npos &&
            take_from_directories(include.name + ".stdh", include.next))
            return;
        // Some versions look here as well if they have found it nowhere else.
        if (quoted && m_sources.search_beside_program)
            static_cast<void>(take({directory_of(m_sources.program_name) + include.name, "P:" + include.name}) ||
                              take({include.name, "C:" + include.name}));
    }

    void look_up_pre_include(const std::string& name)
    {
        if (!name.empty() && !take({name, (name.front() == '/' ? "A:" : "C:") + name}))
            take_from_directories(name, false);
    }

    // Takes the first that exists, or every one.
    bool take_from_directories(const std::string& name, bool every)
    {
        bool found = false;
        for (const std::string& directory : m_sources.include_directories) {
            found |= take({in_directory(directory, name), "I:" + name});
            if (found && !every)
                break;
        }
        return found;
    }

    // Whether there is a file, which is then part of the closure.
    bool take(const Place& place)
    {
        if (place.path.size() >= PATH_MAX || m_manifest.files.size() >= k_most_files)
            return false;
        if (m_files.contains(place.path))
            return true;
        if (m_absent.contains(place.path))
            return false;
        std::optional<watch::SourceFile> file = watch::read_source(place.path);
        if (!file) {
            // It exists but cannot be read, or keeps changing while we read it: what the compiler will see is not
            // known.
            if (watch::identify(place.path))
                m_unreadable = place.path;
            m_absent.insert(place.path);
            return false;
        }
        const std::size_t index = m_manifest.files.size();
        m_files.emplace(place.path, index);
        m_manifest.files.push_back(
            {place.path, place.label, base::sha256(as_bytes(file->text)), file->identity, file->settled, false});
        add_text(place, file->text, index);
        return true;
    }

    void mark_paths()
    {
        // No statics: a process forked while another thread fills one would wait for ever.
        const Macros::Words own_names{"__FILE__", "__BASE_FILE__", "__FILE_NAME__", "assert"};
        // A directive puts nothing into the output: a macro that is only defined here concerns the files that use it.
        std::deque<std::unordered_set<std::string_view>> words;
        std::unordered_set<std::string_view> all_words;
        std::vector<Worded> worded;
        for (const Text& text : m_texts) {
            std::unordered_set<std::string_view>& own = words.emplace_back();
            for_each_code_line(text.text, [&](std::string_view line) {
                for_each_identifier(line, [&](std::string_view word) { own.insert(word); });
            });
            all_words.insert(own.begin(), own.end());
            worded.push_back({text.text, &own});
        }
        const Mentions mentions(m_macros);
        Macros::Words telling = mentions.of(own_names);
        telling.insert(own_names.begin(), own_names.end());
        const Pasting pasting(telling, all_words, mentions);
        if (const auto callers = words_that_tell_the_caller(worded, m_macros, mentions))
            telling.insert(callers->begin(), callers->end());
        else
            m_manifest.all_paths_matter = true;
        for (std::size_t i = 0; i < m_texts.size(); ++i) {
            const std::size_t file = m_texts[i].file;
            bool& matters = file == k_program ? m_manifest.program_path_matters : m_manifest.files[file].path_matters;
            matters |= std::any_of(telling.begin(), telling.end(),
                                   [&](const std::string& word) { return words[i].contains(word); }) ||
                       pasting.is_possible_with(words[i]);
        }
    }

    std::string why_past_the_cache() const
    {
        if (m_varies)
            return "the source mentions the time or date of its compile";
        if (m_embeds)
            return "the source embeds files";
        if (!m_unclear.empty())
            return fmt::format("which header \"#include {}\" means cannot be told without preprocessing", m_unclear);
        if (!m_unreadable.empty())
            return fmt::format("the header {} cannot be read, or is being written", m_unreadable);
        if (m_manifest.files.size() >= k_most_files)
            return fmt::format("more than {} headers", k_most_files);
        return {};
    }

    const Sources& m_sources;
    format::Manifest m_manifest;
    std::deque<Text> m_texts;
    std::size_t m_followed = 0;
    Macros m_macros;
    std::vector<std::pair<std::size_t, Include>> m_computed;
    std::unordered_map<std::string, std::size_t> m_files;
    std::set<std::string> m_absent;
    std::unordered_set<std::string> m_asked;
    std::string m_unclear;
    std::string m_unreadable;
    bool m_embeds = false;
    bool m_varies = false;
};

}  // namespace

format::Manifest find_headers(const Sources& sources)
{
    return Closure(sources).find();
}

bool asks_for_headers(const Sources& sources)
{
    const auto asks = [](std::string_view text) {
        // Even with joined lines, digraphs or macros, a text needs one of these to ask for a header.
        return text.find("inc") != std::string_view::npos || text.find("import") != std::string_view::npos ||
               text.find('\\') != std::string_view::npos;
    };
    if (!sources.pre_includes.empty() || asks(sources.program))
        return true;
    for (const auto& [name, content] : sources.memory_headers)
        if (asks(content))
            return true;
    return false;
}

bool is_plain(const Sources& sources)
{
    if (asks_for_headers(sources) || !sources.defines.empty() || !sources.memory_headers.empty())
        return false;
    for (const char* word : {"__FILE", "__BASE_FILE", "assert", "__builtin_", "__TIME", "__DATE", "embed", "##", "%:"})
        if (sources.program.find(word) != std::string_view::npos)
            return false;
    return true;
}

ManifestState check(format::Manifest& manifest)
{
    bool refreshed = false;
    watch::Identifier identity_of;
    for (format::ManifestFile& file : manifest.files) {
        const std::optional<format::FileIdentity> now = identity_of(file.path);
        if (!now)
            return ManifestState::changed;
        if (file.settled && *now == file.identity)
            continue;
        // Its time stamps say nothing, or say that it was written, perhaps with the same content. So it is read.
        const std::optional<watch::SourceFile> source = watch::read_source(file.path);
        if (!source || base::sha256(as_bytes(source->text)) != file.digest)
            return ManifestState::changed;
        refreshed |= source->settled;
        file.identity = source->identity;
        file.settled = source->settled;
    }
    for (const std::string& path : manifest.absent)
        if (identity_of(path))
            return ManifestState::changed;
    return refreshed ? ManifestState::refreshed : ManifestState::unchanged;
}

bool settle_for_compile(format::Manifest& manifest)
{
    // Time stamps are as coarse as the kernel's tick, at most 10 ms. Those of a network file system may be coarser:
    // then only another look at the bytes helps.
    constexpr std::int64_t k_tick_ns = 20'000'000;
    std::int64_t youngest = 0;
    for (const format::ManifestFile& file : manifest.files)
        youngest = std::max({youngest, file.identity.changed_ns, file.identity.modified_ns});
    const std::int64_t now =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    if (const std::int64_t age = now - youngest; age >= 0 && age < k_tick_ns)
        std::this_thread::sleep_for(std::chrono::nanoseconds(k_tick_ns - age));
    return check(manifest) != ManifestState::changed;
}

bool same_files(const format::Manifest& manifest)
{
    watch::Identifier identity_of;
    for (const format::ManifestFile& file : manifest.files)
        if (identity_of(file.path) != file.identity)
            return false;
    for (const std::string& path : manifest.absent)
        if (identity_of(path))
            return false;
    return true;
}

}  // namespace hearth::headers
