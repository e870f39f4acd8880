#include "base/hex.hpp"
#include "compilers/common/answer.hpp"

#include <cstring>
#include <fmt/format.h>

namespace hearth {

namespace {

using watch::Condition;
using watch::Spot;
using Kind = Condition::Kind;

Dependency shown(const Condition& condition)
{
    const auto where = [&]() -> std::string {
        const std::string& rest = condition.spot.rest;
        switch (condition.spot.from) {
        case Spot::From::root:
        case Spot::From::working_directory:
            return rest.empty() ? "the working directory" : rest;
        case Spot::From::program_directory:
            return rest.empty() ? "the program's directory" : rest + " beside the program";
        case Spot::From::directory:
            return fmt::format("{}include directory {}", rest.empty() ? "" : rest + " in ", condition.spot.index + 1);
        }
        return rest;
    };
    const auto digest = [&] { return "sha256 " + base::to_hex(std::as_bytes(std::span(condition.digest))); };
    switch (condition.kind) {
    case Kind::content:
        return {"file", where(), digest()};
    case Kind::present:
        return {"present", where(), {}};
    case Kind::a_directory:
        return {"directory", where(), {}};
    case Kind::names:
        return {"names", where(), digest()};
    case Kind::absent:
        return {"absent", where(), {}};
    case Kind::refused:
        return {"refused", where(), std::strerror(condition.error)};
    case Kind::leads_to:
        return {"link", where(), condition.text};
    case Kind::really:
        return {"real path", where(), condition.text};
    case Kind::variable:
        return {"variable", condition.name, condition.text};
    case Kind::variable_digest:
        return {"variable", condition.name, "not shown"};
    case Kind::variable_unset:
        return {"not set", condition.name, {}};
    case Kind::found:
        return {"on the path", condition.name, condition.text};
    case Kind::environment:
        return {"variables", "all", digest()};
    case Kind::place:
        return {"place", where(), condition.text};
    }
    return {};
}

}  // namespace

std::vector<Dependency> dependencies(const Artifact& artifact)
{
    std::vector<Dependency> all;
    const auto conditions = compilers::conditions_of(artifact);
    if (conditions)
        for (const Condition& condition : *conditions)
            all.push_back(shown(condition));
    return all;
}

}  // namespace hearth
