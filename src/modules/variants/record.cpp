#include "modules/variants/record.hpp"

#include "json/json.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace hearth::cuda {

namespace {

constexpr std::string_view k_compiler = "variants";
constexpr std::string_view k_section = "record";
constexpr std::array<std::string_view, 4> k_states{"waiting", "measured", "winner", "dropped"};

Json as_json(const MeasuredVariant& variant)
{
    return {{"name", variant.name},         {"state", to_string(variant.state)},
            {"launches", variant.launches}, {"median_ns", variant.median.count()},
            {"ratio", variant.ratio},       {"lowest", variant.lowest},
            {"highest", variant.highest},   {"why", variant.why},
            {"entry", variant.entry.hex()}};
}

// Numbers of a file that anybody may have written: only those that are numbers of their type.
template <class Number>
Number number_in(const JsonValue& object, std::string_view name)
{
    const double value = object.number_of(name);
    constexpr double k_most = 0x1p53;  // the last that is exact
    return value >= 0 && value <= std::min(k_most, static_cast<double>(std::numeric_limits<Number>::max()))
               ? static_cast<Number>(value)
               : Number{};
}

MeasuredVariant variant_of(const JsonValue& object)
{
    MeasuredVariant variant;
    variant.name = object.text_of("name");
    const auto state = std::find(k_states.begin(), k_states.end(), object.text_of("state"));
    variant.state = state == k_states.end() ? VariantState::dropped
                                            : static_cast<VariantState>(std::distance(k_states.begin(), state));
    variant.launches = number_in<std::uint32_t>(object, "launches");
    variant.median = std::chrono::nanoseconds(number_in<std::int64_t>(object, "median_ns"));
    variant.ratio = object.number_of("ratio");
    variant.lowest = object.number_of("lowest");
    variant.highest = object.number_of("highest");
    variant.why = object.text_of("why");
    variant.entry = Key::parse(object.text_of("entry")).value_or(Key{});
    return variant;
}

}  // namespace

std::string_view to_string(VariantState state)
{
    return k_states[static_cast<std::size_t>(state)];
}

bool is_variant_record(const Metadata& metadata)
{
    return metadata.compiler == k_compiler;
}

std::optional<VariantRecord> variant_record(const Artifact& artifact)
{
    if (!is_variant_record(artifact.metadata))
        return std::nullopt;
    const JsonValue object = JsonValue::parse(artifact.text(k_section));
    const std::optional<Key> entry = Key::parse(object.text_of("entry"));
    if (!object.is_object() || !entry)
        return std::nullopt;
    VariantRecord record{.kernel = object.text_of("kernel"),
                         .entry = *entry,
                         .shape = object.text_of("shape"),
                         .device = object.text_of("device"),
                         .driver = object.text_of("driver"),
                         .winner = object.text_of("winner"),
                         .launches = number_in<std::uint64_t>(object, "launches")};
    if (const JsonValue* variants = object.find("variants"))
        for (const JsonValue& variant : variants->elements)
            record.variants.push_back(variant_of(variant));
    return record;
}

Request question_of(const VariantRecord& record, const Variants& variants)
{
    KeyBuilder question("kernel variants");
    question.text("kernel", record.kernel)
        .text("entry", record.entry.hex())
        .text("device", record.device)
        .text("driver", record.driver)
        .text("shape", record.shape)
        .text("least gain", fmt::format("{:a}", variants.least_gain));
    for (const Variant& variant : variants.others) {
        question.text("variant", variant.name).list("options", variant.options);
        for (const Constant& constant : variant.constants)
            question.text("constant", constant.macro)
                .number("argument", constant.argument)
                .number("type", static_cast<std::uint64_t>(constant.type));
    }
    return question.build();
}

bool answers(const VariantRecord& found, const VariantRecord& asked)
{
    const auto same_name = [](const MeasuredVariant& a, const MeasuredVariant& b) { return a.name == b.name; };
    const auto winner = std::ranges::find(asked.variants, found.winner, &MeasuredVariant::name);
    return found.kernel == asked.kernel && found.entry == asked.entry && found.shape == asked.shape &&
           found.device == asked.device && found.driver == asked.driver &&
           std::ranges::equal(found.variants, asked.variants, same_name) && winner != asked.variants.end() &&
           winner->state != VariantState::dropped;
}

Artifact to_artifact(const VariantRecord& record, std::chrono::nanoseconds cost)
{
    const Json object{{"kernel", record.kernel},     {"entry", record.entry.hex()},
                      {"shape", record.shape},       {"device", record.device},
                      {"driver", record.driver},     {"winner", record.winner},
                      {"launches", record.launches}, {"variants", Json::array_of(record.variants, as_json)}};
    Artifact artifact;
    artifact.sections.push_back({std::string(k_section), Bytes::copy_of(object.text())});
    artifact.metadata.label = fmt::format("variants of {}", record.kernel);
    artifact.metadata.compiler = k_compiler;
    artifact.metadata.target = record.device;
    artifact.cost = cost;
    return artifact;
}

}  // namespace hearth::cuda
