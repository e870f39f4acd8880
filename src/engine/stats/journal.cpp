#include "engine/stats/journal.hpp"

#include "engine/options.hpp"

#include "base/wire.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <mutex>
#include <unordered_set>

namespace hearth::engine {

namespace {

constexpr std::string_view k_journal_note = "journal";
constexpr std::string_view k_journal_magic = "HRTHJRN1";
constexpr std::size_t k_most_bytes = 15'000;  // of a note, with room to spare
constexpr std::size_t k_most_slow = 24;
constexpr std::size_t k_most_new = 48;  // of compiles, and of faults
constexpr std::size_t k_most_pending = 256;
constexpr std::size_t k_most_text = 200;

enum Flag : std::uint8_t { k_failed = 1, k_after_ready = 2 };

// What is longer is cut where a character begins.
std::string_view short_text(std::string_view text)
{
    std::size_t end = std::min(text.size(), k_most_text);
    while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
        --end;
    return text.substr(0, end);
}

void encode(const Event& event, base::WireWriter& out)
{
    out.number(static_cast<std::uint8_t>(event.kind));
    out.number(static_cast<std::uint8_t>((event.failed ? k_failed : 0) | (event.after_ready ? k_after_ready : 0)));
    out.number(static_cast<std::uint8_t>(event.why));
    out.number(event.when.time_since_epoch().count());
    out.number(event.took.count());
    out.raw(std::as_bytes(std::span(event.key.digest)));
    for (const std::string& text : {event.label, event.compiler, event.target, event.text})
        out.prefixed<std::uint8_t>(short_text(text));
}

std::vector<Event> decode(ByteView note)
{
    if (!as_text(note).starts_with(k_journal_magic))
        return {};
    std::vector<Event> events;
    base::WireReader in(note.subspan(k_journal_magic.size()));
    while (!in.at_end()) {
        Event event;
        event.kind = in.number<std::uint8_t>() == 0 ? Event::Kind::compile : Event::Kind::fault;
        const auto flags = in.number<std::uint8_t>();
        event.failed = (flags & k_failed) != 0;
        event.after_ready = (flags & k_after_ready) != 0;
        event.why = static_cast<Miss>(std::min<std::uint8_t>(in.number<std::uint8_t>(), k_miss_reasons - 1));
        event.when = WallTime(std::chrono::nanoseconds(in.number<std::int64_t>()));
        event.took = std::chrono::nanoseconds(in.number<std::int64_t>());
        const ByteView key = in.raw(event.key.digest.size());
        std::memcpy(event.key.digest.data(), key.data(), key.size());
        for (std::string* text : {&event.label, &event.compiler, &event.target, &event.text})
            *text = in.prefixed<std::uint8_t>();
        if (in.failed())
            break;
        events.push_back(std::move(event));
    }
    return events;
}

// Of those that are told the slowest compiles, and the compiles and faults that were told last, in the order in which
// they were told: a clock that once was wrong keeps nothing out.
std::vector<Event> bounded(std::vector<Event> events)
{
    std::vector<std::size_t> slow;
    for (std::size_t i = 0; i < events.size(); ++i)
        if (events[i].kind == Event::Kind::compile)
            slow.push_back(i);
    std::stable_sort(slow.begin(), slow.end(),
                     [&](std::size_t a, std::size_t b) { return events[a].took > events[b].took; });
    slow.resize(std::min(slow.size(), k_most_slow));
    const std::unordered_set<std::size_t> is_slow(slow.begin(), slow.end());
    std::size_t compiles = 0;
    std::size_t faults = 0;
    std::vector<Event> kept;
    for (std::size_t i = events.size(); i-- > 0;) {
        std::size_t& count = events[i].kind == Event::Kind::compile ? compiles : faults;
        if (count++ < k_most_new || is_slow.contains(i))
            kept.push_back(std::move(events[i]));
    }
    std::reverse(kept.begin(), kept.end());
    return kept;
}

// The oldest are left out if the texts of the others are long.
Bytes encode_journal(const std::vector<Event>& events)
{
    std::vector<std::string> encoded;
    std::size_t size = k_journal_magic.size();
    for (std::size_t i = events.size(); i-- > 0;) {
        base::WireWriter one;
        encode(events[i], one);
        size += one.size();
        if (size > k_most_bytes)
            break;
        encoded.push_back(std::move(one.out()));
    }
    std::string note(k_journal_magic);
    for (std::size_t i = encoded.size(); i-- > 0;)
        note += encoded[i];
    return Bytes::copy_of(note);
}

std::vector<Event> joined(std::vector<Event> older, const std::vector<Event>& newer)
{
    older.insert(older.end(), newer.begin(), newer.end());
    return bounded(std::move(older));
}

}  // namespace

EngineOptions with_faults_noted(EngineOptions options, std::shared_ptr<Journal> journal)
{
    options.log = [log = std::move(options.log), journal = std::move(journal),
                   clock = options.clock](LogLevel level, std::string_view text) {
        if (level == LogLevel::warning)
            journal->note({.kind = Event::Kind::fault, .when = clock->now(), .text = std::string(text)});
        if (log)
            log(level, text);
    };
    return options;
}

void Journal::note(Event event)
{
    const std::lock_guard lock(m_mutex);
    if (m_pending.size() >= k_most_pending)
        m_pending = bounded(std::move(m_pending));
    m_pending.push_back(std::move(event));
}

void Journal::write(Tier& keeper)
{
    std::vector<Event> fresh;
    {
        const std::lock_guard lock(m_mutex);
        fresh.swap(m_pending);
    }
    // What cannot be written is lost: it is not worth holding on to.
    if (!fresh.empty())
        keeper.update_note(k_journal_note, [&](ByteView old) { return encode_journal(joined(decode(old), fresh)); });
}

std::vector<Event> Journal::read(Tier* keeper) const
{
    std::vector<Event> written = keeper != nullptr ? decode(keeper->read_note(k_journal_note)) : std::vector<Event>{};
    const std::lock_guard lock(m_mutex);
    return joined(std::move(written), m_pending);
}

}  // namespace hearth::engine
