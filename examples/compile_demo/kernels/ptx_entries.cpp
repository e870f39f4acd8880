// Reads PTX text: which kernels it has, what each takes, and how many registers of each kind it declares.
#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

struct Parameter {
    std::string type;
    std::string name;
    std::size_t count = 1;
};

struct Kernel {
    std::string name;
    std::vector<Parameter> parameters;
    std::map<std::string, std::size_t> registers;
    std::optional<std::string> target;
};

std::vector<Kernel> kernels_of(const std::string& ptx)
{
    static const std::regex target(R"(\.target\s+([a-z0-9_]+))");
    static const std::regex entry(R"(\.entry\s+([A-Za-z_$][\w$]*)\s*\(([^)]*)\))");
    static const std::regex parameter(R"(\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+([\w$]+)(?:\[(\d+)\])?)");
    static const std::regex registers(R"(\.reg\s+\.(\w+)\s+%\w+<(\d+)>)");

    std::optional<std::string> where;
    std::smatch match;
    if (std::regex_search(ptx, match, target))
        where = match[1];

    std::vector<Kernel> kernels;
    for (std::sregex_iterator it(ptx.begin(), ptx.end(), entry), end; it != end; ++it) {
        Kernel kernel{.name = (*it)[1], .parameters = {}, .registers = {}, .target = where};
        const std::string list = (*it)[2];
        for (std::sregex_iterator p(list.begin(), list.end(), parameter); p != end; ++p)
            kernel.parameters.push_back({(*p)[1], (*p)[2], (*p)[3].matched ? std::stoul((*p)[3]) : 1});

        // A kernel's registers are declared between its own entry and the next.
        const auto body = (*it)[0].second;
        const auto next = std::next(it) == end ? ptx.end() : (*std::next(it))[0].first;
        for (std::sregex_iterator r(body, next, registers); r != end; ++r)
            kernel.registers[(*r)[1]] += std::stoul((*r)[2]) - 1;
        kernels.push_back(std::move(kernel));
    }
    std::sort(kernels.begin(), kernels.end(), [](const Kernel& a, const Kernel& b) { return a.name < b.name; });
    return kernels;
}

std::string describe(const std::vector<Kernel>& kernels)
{
    std::ostringstream text;
    for (const Kernel& kernel : kernels) {
        text << kernel.name << '(';
        for (const Parameter& parameter : kernel.parameters)
            text << (&parameter == kernel.parameters.data() ? "" : ", ") << parameter.type << ' ' << parameter.name;
        text << ") for " << kernel.target.value_or("any target");
        for (const auto& [type, count] : kernel.registers)
            text << ", " << count << " x " << type;
        text << '\n';
    }
    return text.str();
}
