#include "base/secrets.hpp"
#include "watch/condition.hpp"

// Variables whose values may be secrets. A condition on one holds a digest: whoever has the value can check it, on any
// machine, and whoever has the entry can only guess. The question's key and the name go into it, so that no table of
// digests serves for two entries, and nobody sees that two entries were told the same.

namespace hearth::watch {

base::Sha256 digest_of_value(const Key& question, std::string_view name, std::string_view value)
{
    return Key::of("hearth variable", ByteView(std::as_bytes(std::span(question.digest))), name, value).digest;
}

void hide_values(std::vector<Condition>& list, const Key& question)
{
    for (Condition& condition : list)
        if (condition.kind == Condition::Kind::variable && !base::is_harmless_variable(condition.name, condition.text))
            condition = {.kind = Condition::Kind::variable_digest,
                         .name = condition.name,
                         .digest = digest_of_value(question, condition.name, condition.text),
                         .same_file = condition.same_file};
}

}  // namespace hearth::watch
