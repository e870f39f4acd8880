#include "hearth/explain.hpp"

#include "hearth/admin.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hearth {

namespace {

constexpr std::size_t k_shown = 200;

std::string domain_of(const std::vector<Field>& fields)
{
    return fields.empty() ? std::string{} : fields.front().value;
}

std::string shown(const Field& field)
{
    if (field.digested)
        return fmt::format("{} bytes, {}", field.size, field.display().substr(0, 16));
    std::string text = field.display();
    if (text.size() > k_shown)
        text = text.substr(0, k_shown) + "...";
    return text.empty() ? "(empty)" : text;
}

// For two lists, only the items that one has and the other lacks; if they hold the same in another order, all items.
struct Scored {
    Difference difference;
    std::size_t weight = 1;  // how many things are different in it
};

Scored difference_of_lists(const Field& here, const Field& there)
{
    const auto lacking = [](const std::vector<std::string>& from, std::vector<std::string> in) {
        std::vector<std::string> missing;
        for (const std::string& item : from) {
            const auto found = std::find(in.begin(), in.end(), item);
            if (found == in.end())
                missing.push_back(item);
            else
                in.erase(found);
        }
        return missing;
    };
    const std::vector<std::string> only_here = lacking(here.items, there.items);
    const std::vector<std::string> only_there = lacking(there.items, here.items);
    if (only_here.empty() && only_there.empty())
        return {{here.name + " (order)", shown(here), shown(there)}, 1};
    const auto text = [](const std::vector<std::string>& items) {
        return items.empty() ? std::string("(not there)") : fmt::format("{}", fmt::join(items, " "));
    };
    return {{here.name, text(only_here), text(only_there)}, only_here.size() + only_there.size()};
}

std::vector<Scored> compare_fields(const std::vector<Field>& here, const std::vector<Field>& there)
{
    std::vector<Scored> differences;
    const auto find = [](const std::vector<Field>& fields, const std::string& name) {
        return std::find_if(fields.begin(), fields.end(), [&](const Field& field) { return field.name == name; });
    };
    for (const Field& field : here) {
        const auto other = find(there, field.name);
        if (other == there.end())
            differences.push_back({{field.name, shown(field), {}}});
        else if (field == *other)
            continue;
        else if (field.kind == FieldKind::list && other->kind == FieldKind::list && !field.digested && !other->digested)
            differences.push_back(difference_of_lists(field, *other));
        else
            differences.push_back({{field.name, shown(field), shown(*other)}});
    }
    for (const Field& field : there)
        if (find(here, field.name) == here.end())
            differences.push_back({{field.name, {}, shown(field)}});
    return differences;
}

std::vector<Difference> without_weights(std::vector<Scored> scored)
{
    std::vector<Difference> differences;
    differences.reserve(scored.size());
    for (Scored& one : scored)
        differences.push_back(std::move(one.difference));
    return differences;
}

}  // namespace

std::vector<Difference> compare(const Request& here, const Request& there)
{
    return without_weights(compare_fields(here.fields(), there.fields()));
}

Explanation explain(Cache& cache, const Request& request, std::size_t limit)
{
    Explanation explanation;
    explanation.key = request.key();
    explanation.tiers = admin::where(cache, request.key());
    if (!explanation.tiers.empty())
        return explanation;
    std::vector<EntryRow> rows;
    admin::list(cache, [&](const EntryRow& row) {
        rows.push_back(row);
        return true;
    });
    // The most recently used come first: they count if there are too many entries, and if two are equally near.
    std::sort(rows.begin(), rows.end(), [](const EntryRow& a, const EntryRow& b) {
        return std::max(a.last_used, a.created) > std::max(b.last_used, b.created);
    });
    rows.resize(std::min(rows.size(), limit));
    const std::vector<Field> fields = request.fields();
    std::size_t least = 0;
    for (const EntryRow& row : rows) {
        const Lookup entry = cache.peek(row.key);
        if (!entry || entry->request.empty())
            continue;
        const std::vector<Field> others = Request(row.key, entry->request).fields();
        if (domain_of(others) != domain_of(fields))
            continue;
        std::vector<Scored> differences = compare_fields(fields, others);
        std::size_t weight = 0;
        for (const Scored& difference : differences)
            weight += difference.weight;
        if (explanation.nearest && weight >= least)
            continue;
        least = weight;
        explanation.nearest = row;
        explanation.differences = without_weights(std::move(differences));
    }
    return explanation;
}

}  // namespace hearth
