#include "generator.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <initializer_list>
#include <iterator>
#include <random>
#include <set>
#include <string_view>
#include <vector>

namespace demo {

namespace {

constexpr std::uint32_t k_modules_a_layer = 20;
constexpr std::string_view k_salt = "    let salt = ";
constexpr std::uint32_t k_salts = 1'000'000;  // generated ones are below it, edited ones above
constexpr std::string_view k_takes_int = "export fn scale(x: int) -> float";
constexpr std::string_view k_takes_float = "export fn scale(x: float) -> float";
// Exported by every module, (int, float) -> int, and calling nothing of other modules: for their importers to use.
constexpr std::array<const char*, 3> k_services{"estimate", "blend", "settle"};

std::string module_name(std::uint32_t number)
{
    return fmt::format("part_{:03}", number);
}

// Not a distribution of the standard library: those differ from one library to the next.
class Dice {
public:
    explicit Dice(std::uint64_t seed) : m_engine(seed) {}
    std::uint32_t below(std::size_t limit) { return static_cast<std::uint32_t>(m_engine() % limit); }
    std::uint32_t between(std::uint32_t least, std::uint32_t most) { return least + below(most - least + 1); }
    template <class List>
    const auto& one_of(const List& list)
    {
        return *std::next(std::begin(list), below(std::size(list)));
    }

private:
    std::mt19937_64 m_engine;
};

// Writes one module: helpers, services on top of them, and what ties it to the modules it imports.
class ModuleWriter {
public:
    ModuleWriter(std::uint64_t seed, const std::set<std::string>& imports) : m_dice(seed), m_imports(imports) {}

    // `children` are those of the imports whose results go into this module's.
    std::string part(const std::vector<std::string>& children)
    {
        header();
        for (std::uint32_t i = m_dice.between(2, 4); i > 0; --i)
            helper();
        for (const char* const name : k_services)
            function("export ", name, false);
        std::vector<std::string> own;
        for (std::uint32_t i = m_dice.between(2, 3); i > 0; --i) {
            own.push_back(fmt::format("combine_{}", own.size()));
            function("", own.back(), true);
        }
        m_text += fmt::format("{} {{\n    return x / 3 * 100 + {}.25;\n}}\n\n", k_takes_int, m_dice.below(9));
        checksum(own, children);
        return std::move(m_text);
    }

    std::string main(const std::vector<std::string>& children)
    {
        header();
        m_text += "export fn main() -> int {\n    let total = 0;\n";
        for (const std::string& child : children)
            m_text += fmt::format("    total = total * 31 + {}.checksum({});\n", child, m_dice.between(2, 9));
        m_text += "    return total;\n}\n";
        return std::move(m_text);
    }

private:
    // The parts stand in braces at its callers, since only there every compiler throws the dice from left to right.
    static std::string in_order(std::initializer_list<std::string> parts)
    {
        std::string text;
        for (const std::string& part : parts)
            text += part;
        return text;
    }

    std::string number(std::uint32_t least, std::uint32_t most) { return std::to_string(m_dice.between(least, most)); }

    void header()
    {
        for (const std::string& import : m_imports)
            m_text += "import " + import + ";\n";
        m_text += '\n';
    }

    void helper()
    {
        const std::string name = fmt::format("helper_{}", m_helpers.size());
        m_text += in_order({"fn ", name, "(a: int, b: int) -> int {\n    if a % ", number(3, 17),
                            " < b {\n        return (a - b) * ", number(2, 9), " + ", number(0, 99),
                            ";\n    }\n    return a + b * ", number(2, 9), ";\n}\n\n"});
        m_helpers.push_back(name);
    }

    void function(std::string_view prefix, const std::string& name, bool may_import)
    {
        m_may_import = may_import && !m_imports.empty();
        m_ints = {"count"};
        m_floats = {"weight"};
        m_next = 0;
        m_text += fmt::format("{}fn {}(count: int, weight: float) -> int {{\n", prefix, name);
        for (std::uint32_t i = m_dice.between(4, 8); i > 0; --i)
            statement(1);
        m_text +=
            fmt::format("    return {} * 31 + {} + int({});\n}}\n\n", m_ints.back(), int_value(2), m_floats.back());
    }

    std::string indent(std::uint32_t depth) const { return std::string(depth * 4UL, ' '); }

    void statement(std::uint32_t depth)
    {
        // No loop stands in another: the running time stays in proportion to the length of the source.
        const std::uint32_t kind = m_dice.below(depth == 3 ? 5 : m_counters.empty() ? 9 : 7);
        if (kind < 2)
            let(m_ints, depth, int_value(3));
        else if (kind < 3)
            let(m_floats, depth, float_value(3));
        else if (kind < 5)
            assign(depth);
        else if (kind < 7)
            choose(depth);
        else
            loop(depth);
    }

    void let(std::vector<std::string>& names, std::uint32_t depth, const std::string& value)
    {
        static constexpr std::array<std::string_view, 8> k_words{"sum",  "left",  "step", "offset",
                                                                 "mass", "ratio", "edge", "level"};
        names.push_back(fmt::format("{}_{}", m_dice.one_of(k_words), m_next++));
        m_text += fmt::format("{}let {} = {};\n", indent(depth), names.back(), value);
    }

    void assign(std::uint32_t depth)
    {
        if (m_dice.below(3) == 0)
            m_text += in_order({indent(depth), m_dice.one_of(m_floats), " = ", float_value(2), ";\n"});
        else
            m_text += in_order({indent(depth), m_dice.one_of(m_ints), " = ", int_value(2), ";\n"});
    }

    // What is declared inside ends with it.
    void block(std::uint32_t depth, std::uint32_t statements)
    {
        const std::size_t ints = m_ints.size();
        const std::size_t floats = m_floats.size();
        for (; statements > 0; --statements)
            statement(depth);
        m_ints.resize(ints);
        m_floats.resize(floats);
    }

    void choose(std::uint32_t depth)
    {
        m_text += fmt::format("{}if {} {{\n", indent(depth), condition());
        block(depth + 1, m_dice.between(1, 3));
        if (m_dice.below(2) == 0) {
            m_text += indent(depth) + "} else {\n";
            block(depth + 1, m_dice.between(1, 3));
        }
        m_text += indent(depth) + "}\n";
    }

    // Its counter is nobody's to assign to: so every loop ends.
    void loop(std::uint32_t depth)
    {
        const std::string counter = fmt::format("i_{}", m_next++);
        m_text += fmt::format("{0}let {1} = 0;\n{0}while {1} < {2} {{\n", indent(depth), counter, m_dice.between(2, 4));
        m_counters.push_back(counter);
        block(depth + 1, m_dice.between(2, 4));
        m_counters.pop_back();
        m_text += fmt::format("{0}    {1} = {1} + 1;\n{0}}}\n", indent(depth), counter);
    }

    std::string condition()
    {
        static constexpr std::array<const char*, 4> k_compare{" < ", " <= ", " > ", " == "};
        std::string text = in_order({int_value(1), m_dice.one_of(k_compare), int_value(1)});
        if (m_dice.below(3) == 0)
            text += in_order({m_dice.below(2) == 0 ? " && " : " || ", float_value(1), " > ", float_value(0)});
        return text;
    }

    // Code mostly uses what was declared shortly before.
    const std::string& recent(const std::vector<std::string>& names)
    {
        return names[names.size() - 1 - m_dice.below(std::min<std::size_t>(names.size(), 4))];
    }

    // Two values that differ, if the dice give any: hardly anybody writes x - x.
    template <class Value>
    std::string joined(std::string_view op, Value&& value)
    {
        const std::string left = value();
        std::string right = value();
        for (int attempt = 0; right == left && attempt < 3; ++attempt)
            right = value();
        return fmt::format("({} {} {})", left, op, right);
    }

    std::string int_value(std::uint32_t depth)
    {
        static constexpr std::array<std::string_view, 6> k_operators{"+", "-", "*", "+", "/", "%"};
        if (depth == 0 || m_dice.below(5) == 0) {
            const std::uint32_t kind = m_dice.below(4);
            if (kind == 0)
                return std::to_string(m_dice.below(100));
            return kind == 1 && !m_counters.empty() ? m_counters.back() : recent(m_ints);
        }
        const std::uint32_t kind = m_dice.below(12);
        if (kind == 0)
            return in_order({m_dice.one_of(m_helpers), "(", int_value(depth - 1), ", ", int_value(1), ")"});
        if (kind == 1)
            return fmt::format("int({})", float_value(depth - 1));
        // Not inside loops: a service's own loops are enough.
        if (kind == 2 && m_may_import && m_counters.empty())
            return in_order({m_dice.one_of(m_imports), ".", m_dice.one_of(k_services), "(", int_value(1), ", ",
                             float_value(1), ")"});
        return joined(m_dice.one_of(k_operators), [&] { return int_value(depth - 1); });
    }

    std::string float_value(std::uint32_t depth)
    {
        static constexpr std::array<std::string_view, 4> k_operators{"+", "-", "*", "/"};
        if (depth == 0 || m_dice.below(5) == 0)
            return m_dice.below(3) == 0 ? in_order({number(0, 9), ".", number(0, 99)}) : recent(m_floats);
        if (m_dice.below(8) == 0)
            return m_may_import ? in_order({m_dice.one_of(m_imports), ".scale(", int_value(1), ")"})
                                : in_order({"float(", int_value(1), ")"});
        return joined(m_dice.one_of(k_operators), [&] { return float_value(depth - 1); });
    }

    void checksum(const std::vector<std::string>& own, const std::vector<std::string>& children)
    {
        m_text += fmt::format("export fn checksum(n: int) -> int {{\n{}{};\n    let total = salt + int(scale(n));\n",
                              k_salt, m_dice.below(k_salts));
        for (const std::string& name : own)
            m_text +=
                in_order({"    total = total * 31 + ", name, "(n + ", number(0, 9), ", ", number(0, 9), ".5);\n"});
        for (const std::string& import : m_imports)
            m_text += fmt::format("    total = total * 31 + int({}.scale(n + {}));\n", import, m_dice.below(10));
        for (const std::string& child : children)
            m_text += fmt::format("    total = total * 31 + {}.checksum(n + {});\n", child, m_dice.below(10));
        m_text += "    return total;\n}\n";
    }

    Dice m_dice;
    const std::set<std::string>& m_imports;
    std::string m_text;
    std::vector<std::string> m_helpers;
    // Of the function at hand.
    std::vector<std::string> m_ints;
    std::vector<std::string> m_floats;
    std::vector<std::string> m_counters;
    std::uint32_t m_next = 0;
    bool m_may_import = false;
};

}  // namespace

std::map<std::string, std::string> generate(const GeneratorOptions& options)
{
    // Each module is the child of one in the layer above, and of main.eph in the end: a tree, so that every checksum is
    // computed once and reaches the result.
    Dice dice(options.seed);
    const std::uint32_t parts = options.modules == 0 ? 0 : options.modules - 1;
    const auto layer_of = [](std::uint32_t part) { return part / k_modules_a_layer; };
    std::vector<std::vector<std::string>> children(parts);
    std::vector<std::string> topmost;
    for (std::uint32_t part = 0; part < parts; ++part) {
        const std::uint32_t above = (layer_of(part) + 1) * k_modules_a_layer;
        if (above >= parts)
            topmost.push_back(module_name(part));
        else
            children[dice.between(above, std::min(above + k_modules_a_layer, parts) - 1)].push_back(module_name(part));
    }

    std::map<std::string, std::string> files;
    for (std::uint32_t part = 0; part < parts; ++part) {
        std::set<std::string> imports(children[part].begin(), children[part].end());
        const std::uint32_t below = layer_of(part) * k_modules_a_layer;
        for (std::uint32_t more = dice.between(1, 3); below > 0 && more > 0; --more)
            imports.insert(module_name(dice.below(below)));
        const std::uint64_t seed = options.seed * 1'000'003 + part;
        files[module_name(part) + ".eph"] = ModuleWriter(seed, imports).part(children[part]);
    }
    const std::set<std::string> imports(topmost.begin(), topmost.end());
    files["main.eph"] = ModuleWriter(options.seed, imports).main(topmost);
    return files;
}

std::string with_edited_body(const std::string& source, std::uint32_t number)
{
    std::string edited = source;
    if (const std::size_t at = edited.find(k_salt); at != std::string::npos) {
        const std::size_t digits = at + k_salt.size();
        edited.replace(digits, edited.find(';', digits) - digits, std::to_string(k_salts + number));
    }
    return edited;
}

std::optional<std::string> with_edited_signature(const std::string& source)
{
    for (const auto& [from, to] : {std::pair(k_takes_int, k_takes_float), std::pair(k_takes_float, k_takes_int)})
        if (const std::size_t at = source.find(from); at != std::string::npos)
            return std::string(source).replace(at, from.size(), to);
    return std::nullopt;
}

}  // namespace demo
