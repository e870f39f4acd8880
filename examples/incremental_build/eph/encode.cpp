#include "checksum.hpp"
#include "encoding.hpp"

#include <cstring>
#include <string_view>
#include <utility>

namespace eph {

namespace {

class Encoder {
public:
    hearth::Bytes run(const Module& module)
    {
        for (const char c : std::string_view("EPHI"))
            byte(static_cast<std::uint8_t>(c));
        byte(k_ir_version);
        varint(module.callees.size());
        for (const Callee& callee : module.callees) {
            text(callee.module);
            text(callee.name);
            signature(callee.signature);
        }
        varint(module.functions.size());
        for (const Function& made : module.functions)
            function(made);
        fixed(checksum(m_bytes));
        return hearth::Bytes::adopt(std::move(m_bytes));
    }

private:
    void byte(std::uint8_t value) { m_bytes.push_back(static_cast<std::byte>(value)); }

    void fixed(std::uint64_t value)
    {
        const std::size_t at = m_bytes.size();
        m_bytes.resize(at + sizeof value);
        std::memcpy(m_bytes.data() + at, &value, sizeof value);
    }

    void varint(std::uint64_t value)
    {
        for (; value >= 0x80; value >>= 7U)
            byte(static_cast<std::uint8_t>(value | 0x80U));
        byte(static_cast<std::uint8_t>(value));
    }

    void text(std::string_view value)
    {
        varint(value.size());
        const hearth::ByteView bytes = hearth::as_bytes(value);
        m_bytes.insert(m_bytes.end(), bytes.begin(), bytes.end());
    }

    void type(Type value) { byte(static_cast<std::uint8_t>(value)); }

    void signature(const Signature& made)
    {
        varint(made.parameters.size());
        for (const Type parameter : made.parameters)
            type(parameter);
        type(made.result);
    }

    void function(const Function& made)
    {
        m_numbers.assign(made.values.size(), 0);
        m_next = 0;
        text(made.name);
        byte(made.exported ? 1 : 0);
        signature(made.signature);
        std::size_t values = 0;
        for (const Block& part : made.blocks)
            values += part.parameters.size() + part.body.size();
        varint(values);
        varint(made.blocks.size());
        for (const Block& part : made.blocks)
            block(made, part);
    }

    void block(const Function& made, const Block& part)
    {
        varint(part.parameters.size());
        for (const Value value : part.parameters) {
            type(made.values[value].type);
            m_numbers[value] = m_next++;
        }
        varint(part.body.size());
        for (const Value value : part.body) {
            instruction(made, made.values[value]);
            m_numbers[value] = m_next++;
        }
        byte(static_cast<std::uint8_t>(part.end));
        if (part.end != Block::End::jump)
            use(part.value);
        part.for_each_jump([&](const Jump& jump) {
            varint(jump.target);
            varint(jump.arguments.size());
            for (const Value argument : jump.arguments)
                use(argument);
        });
    }

    void instruction(const Function& made, const Instruction& part)
    {
        byte(static_cast<std::uint8_t>(part.op));
        type(part.type);
        if (part.op == Op::constant) {
            constant(part);
        } else if (part.op == Op::call) {
            varint(part.a);
            varint(part.count);
            for (std::uint32_t i = 0; i < part.count; ++i)
                use(made.arguments[part.b + i]);
        } else {
            use(part.a);
            if (operands_of(part.op) == 2)
                use(part.b);
        }
    }

    void constant(const Instruction& part)
    {
        if (part.type == Type::real)
            fixed(part.bits);
        else if (part.type == Type::boolean)
            byte(static_cast<std::uint8_t>(part.bits));
        else  // the sign goes to the lowest bit, so that small negative numbers are short too
            varint((part.bits << 1U) ^ (0 - (part.bits >> 63U)));
    }

    void use(Value value) { varint(m_next - m_numbers[value]); }

    std::vector<std::byte> m_bytes;
    // Of the function at hand: the numbers its values get, which leave out what has been removed.
    std::vector<Value> m_numbers;
    Value m_next = 0;
};

}  // namespace

hearth::Bytes encode(const Module& module)
{
    return Encoder().run(module);
}

}  // namespace eph
