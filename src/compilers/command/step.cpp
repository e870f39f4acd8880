#include "compilers/command/step.hpp"

#include "base/error.hpp"
#include "compilers/common/depends_on.hpp"
#include "watch/manifest.hpp"
#include "watch/source_file.hpp"
#include "watch/tree_record.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <span>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_set>

namespace hearth::command {

namespace {

namespace fs = std::filesystem;
using watch::Condition;
using watch::Spot;

// log ":" inode ":" inode ":" directory
std::string_view part_of(std::string_view tree, int number)
{
    for (; number > 0; --number)
        tree.remove_prefix(std::min(tree.size(), tree.find(':') + 1));
    return tree;
}

// In one piece: other processes append to the log too. Where that fails, the tree misses a program that it has seen
// being started, and its result is not kept.
void append(const std::string& step_of, std::string_view records)
{
    const std::string log(step_of, 0, step_of.find(':'));
    std::error_code ignored;
    if (!fs::read_symlink(log, ignored).string().starts_with(watch::k_tree_log_link))
        return;
    const int file = ::open(log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file < 0)
        return;
    static_cast<void>(::write(file, records.data(), records.size()));
    ::close(file);
}

class Records {
public:
    void add(watch::Did did, std::string_view name, std::string_view answer = {}, unsigned mode = 0)
    {
        watch::TreeRecord head;
        head.size = static_cast<std::uint32_t>(sizeof head + name.size() + answer.size());
        head.did = did;
        head.name_size = static_cast<std::uint16_t>(name.size());
        head.answer_size = static_cast<std::uint32_t>(answer.size());
        head.mode = mode;
        head.process = static_cast<std::uint32_t>(::getpid());
        m_bytes.append(reinterpret_cast<const char*>(&head), sizeof head).append(name).append(answer);
    }
    const std::string& bytes() const { return m_bytes; }

private:
    std::string m_bytes;
};

// Whatever a condition says, but for which others are about the same file.
std::string text_of(const Condition& condition)
{
    const std::string_view digest = as_text(std::as_bytes(std::span(condition.digest)));
    std::string text = fmt::format("{} {} {} {} ", static_cast<int>(condition.kind),
                                   static_cast<int>(condition.spot.from), condition.spot.index, condition.error);
    for (const std::string_view part : {std::string_view(condition.spot.rest), std::string_view(condition.name),
                                        std::string_view(condition.text), digest})
        text.append(part).push_back('\0');
    return text;
}

bool is_of_file(const Condition& condition)
{
    return condition.kind == Condition::Kind::content || condition.kind == Condition::Kind::present ||
           condition.kind == Condition::Kind::a_directory;
}

}  // namespace

bool can_tell(const std::string& step_of)
{
    std::error_code ignored;
    return part_of(step_of, 3) == fs::current_path(ignored).string();
}

void tell_what_ran(const std::string& step_of, const Ended& ended)
{
    // In the tree, the program has this process's number: who started us meant to start it.
    std::string records(ended.log.text());
    watch::TreeRecord head;
    for (std::size_t at = 0; records.size() - at >= sizeof head; at += head.size) {
        std::memcpy(&head, records.data() + at, sizeof head);
        if (head.size < sizeof head || head.size > records.size() - at)
            break;
        if (head.process != static_cast<std::uint32_t>(ended.process))
            continue;
        head.process = static_cast<std::uint32_t>(::getpid());
        std::memcpy(records.data() + at, &head, sizeof head);
    }
    append(step_of, records);
}

void tell_what_was_answered(const Plan& plan, std::vector<Condition> conditions)
{
    // The tree knows nothing of this call's places.
    for (Condition& condition : conditions)
        if (condition.spot.from != Spot::From::root && condition.kind != Condition::Kind::place) {
            if (condition.kind == Condition::Kind::really && condition.text.empty())
                condition.text = watch::real_path_of(condition.spot, plan.question.places);
            const std::string path = condition.spot.shown(plan.question.places);
            condition.spot = {path.starts_with('/') ? Spot::From::root : Spot::From::working_directory, 0, path};
        }
    std::string words;
    for (const std::string& word : plan.command.words)
        words.append(word).push_back('\0');
    // As a recorder in it would have told it.
    std::error_code ignored;
    const std::string program = fs::canonical(plan.command.words.front(), ignored).string();
    Records records;
    records.add(watch::Did::entered, program, words);
    records.add(watch::Did::answered, program, watch::encode_conditions(conditions).text());
    for (const std::string& output : plan.call.outputs)
        records.add(watch::Did::wrote, output, {}, S_IFREG);
    append(plan.options.step_of, records.bytes());
}

Result<std::vector<Condition>> conditions_of_steps(const std::vector<std::string>& answered)
{
    std::vector<Condition> all;
    for (const std::string& encoded : answered) {
        std::optional<std::vector<Condition>> told = watch::decode_conditions(as_bytes(encoded));
        if (!told)
            return error(Code::corrupt, "a step of it has not told what it depends on");
        for (Condition& condition : *told) {
            if (condition.kind == Condition::Kind::found)
                return error(Code::unavailable, "a step of it looks for {} along PATH", condition.name);
            // As the tree was started with it: what its programs made of it since is decided by that.
            if (condition.kind == Condition::Kind::variable || condition.kind == Condition::Kind::variable_unset ||
                condition.kind == Condition::Kind::variable_digest)
                condition = compilers::variable_now(condition.name);
            if (condition.kind == Condition::Kind::environment)
                condition.digest = watch::digest_of_environment();
            all.push_back(std::move(condition));
        }
    }
    return all;
}

void add_conditions_of_steps(std::vector<Condition> steps, const watch::Places& places, watch::Conditions& conditions)
{
    watch::StatMany status_of;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> first;  // condition about each file
    const auto number = [&](std::uint32_t index) {
        Condition& condition = conditions.list[index];
        struct stat status {};
        if (is_of_file(condition) && status_of(condition.spot.path(places), status) == 0)
            condition.same_file = first.try_emplace({status.st_dev, status.st_ino}, index).first->second;
    };
    std::unordered_set<std::string> known;
    for (std::uint32_t i = 0; !steps.empty() && i < conditions.list.size(); ++i) {
        number(i);
        known.insert(text_of(conditions.list[i]));
    }
    for (Condition& condition : steps) {
        // Paths that matter are held by the tree as a whole.
        if (condition.kind == Condition::Kind::place || !known.insert(text_of(condition)).second)
            continue;
        compilers::add_condition(std::move(condition), conditions);
        number(static_cast<std::uint32_t>(conditions.list.size() - 1));
    }
}

}  // namespace hearth::command
