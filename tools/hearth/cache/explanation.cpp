#include "cache/explanation.hpp"

#include "cache/variant_records.hpp"
#include "hearth/admin.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/text.hpp"
#include "terminal/times.hpp"

#include <fmt/format.h>

namespace hearth::cli {

namespace {

std::string side(const std::string& value, std::string_view otherwise)
{
    return value.empty() ? std::string(otherwise) : printable(value);
}

// What a compile would get.
enum class Answer : unsigned char { hit, miss, past_the_cache, error };

Answer answer_of(Cache& cache, const Explanation& why)
{
    if (!why.why_past_the_cache.empty())
        return Answer::past_the_cache;
    if (why.tiers.empty())
        return Answer::miss;
    const std::optional<EntryRow> entry = admin::info(cache, why.key);
    return entry && entry->status != 0 ? Answer::error : Answer::hit;
}

int exit_code_of(Answer answer)
{
    return answer == Answer::hit ? k_done : answer == Answer::error ? k_compile_error : k_nothing;
}

void tell(const Explanation& why, Answer answer)
{
    const std::string key = why.key.hex();
    if (answer == Answer::past_the_cache) {
        print_out("past the cache: {}\n", printable(why.why_past_the_cache));
        return;
    }
    if (answer == Answer::error) {
        print_out("error  {}  in {}: the compile failed before, and is remembered; 'hearth get {}' prints its log\n",
                  key.substr(0, 12), fmt::join(why.tiers, ", "), key.substr(0, 12));
        return;
    }
    if (answer == Answer::hit) {
        print_out("hit  {}  in {}\n", key.substr(0, 12), fmt::join(why.tiers, ", "));
        return;
    }
    if (!why.nearest) {
        print_out("miss  {}  there is no entry like it: nothing of this kind was compiled yet\n", key.substr(0, 12));
        return;
    }
    print_out("miss  {}  the nearest entry is {} ({}, {}); the differences:\n", key.substr(0, 12),
              why.nearest->key.hex().substr(0, 12), printable(why.nearest->metadata.label),
              show_age(why.nearest->created, now()));
    for (const Difference& difference : why.differences)
        if (difference.here.empty() && difference.there.empty())  // the sentence says it all
            print_out("  {}\n", printable(difference.field));
        else
            print_out("  {}\n    here   {}\n    there  {}\n", printable(difference.field),
                      side(difference.here, "(none)"), side(difference.there, "(none)"));
}

}  // namespace

int tell_why(Cache& cache, const Explanation& why)
{
    const Answer answer = answer_of(cache, why);
    tell(why, answer);
    if (answer == Answer::hit)
        print_winners(variant_records_of(cache, why.key));
    return exit_code_of(answer);
}

int tell_why_as_json(Cache& cache, const Explanation& why, Json asked)
{
    const Answer answer = answer_of(cache, why);
    Json differences = Json::array();
    for (const Difference& difference : why.differences)
        differences.add({{"field", difference.field}, {"here", difference.here}, {"there", difference.there}});
    asked.add("key", why.key.hex());
    asked.add("outcome", answer == Answer::hit     ? "hit"
                         : answer == Answer::miss  ? "miss"
                         : answer == Answer::error ? "error"
                                                   : "past_the_cache");
    asked.add("reason", why.why_past_the_cache);
    asked.add("tiers", why.tiers);
    asked.add("nearest", why.nearest ? Json(why.nearest->key.hex()) : nullptr);
    asked.add("differences", differences);
    asked.add("variants",
              Json::array_of(answer == Answer::hit ? variant_records_of(cache, why.key) : std::vector<FoundRecord>{},
                             as_json));
    print_json(asked);
    return exit_code_of(answer);
}

}  // namespace hearth::cli
