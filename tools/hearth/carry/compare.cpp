#include "carry/compare.hpp"

#include "carry/stage.hpp"

#include <algorithm>

namespace hearth::cli::carry {

namespace {

bool same_content(const Capture& a, const Item& in_a, const Capture& b, const Item& in_b)
{
    return in_a.target == in_b.target &&
           std::equal(in_a.pieces.begin(), in_a.pieces.end(), in_b.pieces.begin(), in_b.pieces.end(),
                      [&](std::uint32_t x, std::uint32_t y) { return a.pieces[x].content == b.pieces[y].content; });
}

std::vector<std::string> what_differs(const Capture& a, const Item& in_a, const Capture& b, const Item& in_b)
{
    if (in_a.kind != in_b.kind)
        return {"kind"};
    std::vector<std::string> what;
    if (in_a.kind == Kind::folder) {
        if (restored_mode(in_a) != restored_mode(in_b))
            what.emplace_back("mode");
        return what;
    }
    if (!same_content(a, in_a, b, in_b))
        what.emplace_back("content");
    if (in_a.kind == Kind::link)
        return what;
    if (in_a.modified != in_b.modified)
        what.emplace_back("time");
    if (in_a.mode != in_b.mode)
        what.emplace_back("mode");
    return what;
}

}  // namespace

Differences compare(const Capture& then, const Capture& now)
{
    Differences differences;
    auto before = then.items.begin();
    auto after = now.items.begin();
    while (before != then.items.end() || after != now.items.end()) {
        const bool only_before = after == now.items.end() || (before != then.items.end() && before->path < after->path);
        const bool only_after = before == then.items.end() || (after != now.items.end() && after->path < before->path);
        if (only_before) {
            differences.gone.push_back((before++)->path);
        } else if (only_after) {
            differences.added.push_back((after++)->path);
        } else {
            if (std::vector<std::string> what = what_differs(then, *before, now, *after); !what.empty())
                differences.changed.push_back({before->path, std::move(what)});
            ++before;
            ++after;
        }
    }
    return differences;
}

}  // namespace hearth::cli::carry
