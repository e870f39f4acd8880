#include "checksum.hpp"
#include "encoding.hpp"

#include <cstring>
#include <string_view>
#include <utility>

namespace eph {

namespace {

struct BadBytes {
    std::string_view what;
};

class Decoder {
public:
    explicit Decoder(hearth::ByteView bytes) : m_rest(bytes) {}

    Module run()
    {
        if (m_rest.size() < 4 || hearth::as_text(m_rest.first(4)) != "EPHI")
            throw BadBytes{"they do not start with \"EPHI\""};
        m_rest = m_rest.subspan(4);
        require(byte() == k_ir_version, "they are of another version");
        Module module;
        module.callees.resize(count());
        for (Callee& callee : module.callees) {
            callee.module = text();
            callee.name = text();
            callee.signature = signature();
        }
        module.functions.resize(count());
        for (Function& made : module.functions)
            function(module, made);
        require(m_rest.empty(), "something follows their end");
        return module;
    }

private:
    static void require(bool fulfilled, std::string_view what)
    {
        if (!fulfilled)
            throw BadBytes{what};
    }

    std::uint8_t byte()
    {
        require(!m_rest.empty(), "they end too early");
        const auto value = static_cast<std::uint8_t>(m_rest.front());
        m_rest = m_rest.subspan(1);
        return value;
    }

    std::uint64_t fixed()
    {
        std::uint64_t value = 0;
        require(m_rest.size() >= sizeof value, "they end too early");
        std::memcpy(&value, m_rest.data(), sizeof value);
        m_rest = m_rest.subspan(sizeof value);
        return value;
    }

    std::uint64_t varint()
    {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const std::uint64_t part = byte();
            value |= (part & 0x7fU) << shift;
            if (part < 0x80) {
                require(shift < 63 || part < 2, "a number is too large");
                return value;
            }
        }
        throw BadBytes{"a number is too long"};
    }

    // Of things that take a byte each, at least: so nobody can ask for memory out of proportion to what he hands in.
    std::uint32_t count()
    {
        const std::uint64_t value = varint();
        require(value <= m_rest.size(), "a count is larger than what follows");
        return static_cast<std::uint32_t>(value);
    }

    std::string_view text()
    {
        const std::uint32_t length = count();
        const std::string_view value = hearth::as_text(m_rest.first(length));
        m_rest = m_rest.subspan(length);
        return value;
    }

    Type type()
    {
        const std::uint8_t value = byte();
        require(value < k_types, "a type is unknown");
        return static_cast<Type>(value);
    }

    Signature signature()
    {
        Signature made;
        made.parameters.resize(count());
        for (Type& parameter : made.parameters)
            parameter = type();
        made.result = type();
        return made;
    }

    void function(const Module& module, Function& made)
    {
        made.name = text();
        const std::uint8_t exported = byte();
        require(exported < 2, "a flag is neither 0 nor 1");
        made.exported = exported == 1;
        made.signature = signature();
        const std::uint32_t values = count();
        made.values.reserve(values);
        made.blocks.resize(count());
        require(!made.blocks.empty(), "a function has no block");
        for (Block& part : made.blocks)
            block(module, made, part);
        require(made.values.size() == values, "a function has another number of values than it says");
        // Only now are all targets known.
        require(agree(made, made.blocks[0].parameters, made.signature.parameters),
                "a function's first block does not fit its signature");
        for (const Block& part : made.blocks)
            part.for_each_jump([&](const Jump& jump) { check_jump(made, jump); });
    }

    void block(const Module& module, Function& made, Block& part)
    {
        part.parameters.resize(count());
        for (Value& value : part.parameters)
            value = made.add({.op = Op::parameter, .type = type()});
        part.body.resize(count());
        for (Value& value : part.body)
            value = made.add(instruction(module, made));
        const std::uint8_t end = byte();
        require(end <= static_cast<std::uint8_t>(Block::End::branch), "the end of a block is unknown");
        part.end = static_cast<Block::End>(end);
        if (part.end != Block::End::jump)
            part.value = use(made, part.end == Block::End::branch ? Type::boolean : made.signature.result);
        part.for_each_jump([&](Jump& jump) {
            jump.target = count_below(made.blocks.size());
            jump.arguments.resize(count());
            for (Value& argument : jump.arguments)
                argument = use(made);
        });
    }

    Instruction instruction(const Module& module, Function& made)
    {
        const std::uint8_t op = byte();
        require(op != static_cast<std::uint8_t>(Op::parameter) && op < k_ops, "an operation is unknown");
        Instruction part{.op = static_cast<Op>(op), .type = type()};
        if (part.op == Op::constant)
            part.bits = constant(part.type);
        else if (part.op == Op::call)
            call(module, made, part);
        else
            operation(made, part);
        return part;
    }

    std::uint64_t constant(Type type)
    {
        if (type == Type::real)
            return fixed();
        const std::uint64_t value = type == Type::boolean ? byte() : varint();
        require(type != Type::boolean || value < 2, "a bool is neither 0 nor 1");
        return type == Type::boolean ? value : (value >> 1U) ^ (0 - (value & 1U));
    }

    void call(const Module& module, Function& made, Instruction& part)
    {
        part.a = count_below(module.callees.size());
        part.count = count();
        part.b = static_cast<Value>(made.arguments.size());
        const Signature& wanted = module.callees[part.a].signature;
        require(part.count == wanted.parameters.size() && part.type == wanted.result, "a call does not fit its callee");
        for (const Type parameter : wanted.parameters)
            made.arguments.push_back(use(made, parameter));
    }

    void operation(const Function& made, Instruction& part)
    {
        part.a = use(made);
        const Type operands = made.values[part.a].type;
        if (operands_of(part.op) == 2)
            part.b = use(made, operands);
        const bool numbers = operands != Type::boolean;
        bool fits = false;
        if (part.op == Op::to_real)
            fits = operands == Type::integer && part.type == Type::real;
        else if (part.op == Op::to_integer)
            fits = operands == Type::real && part.type == Type::integer;
        else if (part.op == Op::invert)
            fits = !numbers && part.type == Type::boolean;
        else if (part.op == Op::equal || part.op == Op::not_equal)
            fits = part.type == Type::boolean;
        else if (is_comparison(part.op))
            fits = numbers && part.type == Type::boolean;
        else if (part.op == Op::remainder)
            fits = operands == Type::integer && part.type == Type::integer;
        else
            fits = numbers && part.type == operands;
        require(fits, "an operation does not fit its operands");
    }

    Value use(const Function& made)
    {
        const std::uint64_t ago = varint();
        require(ago > 0 && ago <= made.values.size(), "a value is used before it is made");
        return static_cast<Value>(made.values.size() - ago);
    }
    Value use(const Function& made, Type wanted)
    {
        const Value value = use(made);
        require(made.values[value].type == wanted, "a value is of another type than is wanted");
        return value;
    }

    std::uint32_t count_below(std::size_t limit)
    {
        const std::uint64_t value = varint();
        require(value < limit, "a number is out of range");
        return static_cast<std::uint32_t>(value);
    }

    static bool agree(const Function& made, const std::vector<Value>& values, const std::vector<Type>& types)
    {
        bool agreed = values.size() == types.size();
        for (std::size_t i = 0; agreed && i < values.size(); ++i)
            agreed = made.values[values[i]].type == types[i];
        return agreed;
    }

    static void check_jump(const Function& made, const Jump& jump)
    {
        const std::vector<Value>& parameters = made.blocks[jump.target].parameters;
        bool fits = parameters.size() == jump.arguments.size();
        for (std::size_t i = 0; fits && i < parameters.size(); ++i)
            fits = made.values[parameters[i]].type == made.values[jump.arguments[i]].type;
        require(fits, "a jump does not fit its target");
    }

    hearth::ByteView m_rest;
};

}  // namespace

hearth::Result<Module> decode(hearth::ByteView bytes)
{
    const auto refused = [&](std::string_view why) {
        return hearth::Error{
            hearth::Code::corrupt, std::to_string(bytes.size()) + " bytes are no IR: " + std::string(why) + ".", {}};
    };
    std::uint64_t expected = 0;
    if (bytes.size() < sizeof expected)
        return refused("they end too early");
    const hearth::ByteView content = bytes.first(bytes.size() - sizeof expected);
    std::memcpy(&expected, bytes.data() + content.size(), sizeof expected);
    if (checksum(content) != expected)
        return refused("their checksum is wrong");
    try {
        return Decoder(content).run();
    } catch (const BadBytes& bad) {
        return refused(bad.what);
    }
}

}  // namespace eph
