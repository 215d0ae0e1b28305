package org.harnesslearning.llm.vnni;

import java.util.Arrays;

/**
 * Writes machine code for x86-64: the few instructions that the kernels need. Vectors are 512 bits wide. Encodings are
 * those of the Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2 (EVEX: section 2.7).
 */
final class Assembler {

    private static final int MOST_SHORT = 127;
    private static final int STACK_POINTER = 4;
    private static final int BASE_POINTER = 5;

    private byte[] code = new byte[1024];
    private int length;

    /** A general register of 64 bits that a function may change without restoring it. */
    enum Register {
        RAX(0),
        RCX(1),
        RDX(2),
        RSI(6),
        RDI(7),
        R8(8),
        R9(9),
        R10(10),
        R11(11);

        final int number;

        Register(int number) {
            this.number = number;
        }
    }

    /**
     * A vector instruction.
     *
     * @param prefix the two bits that stand for a prefix: 0 none, 1 for 66, 2 for F3, 3 for F2
     * @param map the table of opcodes: 1 for 0F, 2 for 0F 38, 3 for 0F 3A
     * @param wide the bit W
     * @param opcode the opcode
     * @param unit bytes of its operand in memory, in whose multiples short displacements count
     */
    record Instruction(int prefix, int map, boolean wide, int opcode, int unit) {

        private static Instruction of(int prefix, int map, int opcode) {
            return new Instruction(prefix, map, false, opcode, 64);
        }

        static final Instruction LOAD = of(0, 1, 0x10); // vmovups zmm, m512
        static final Instruction STORE = of(0, 1, 0x11); // vmovups m512, zmm
        static final Instruction MOVE = of(0, 1, 0x28); // vmovaps zmm, zmm
        static final Instruction STORE_FIRST = new Instruction(2, 1, false, 0x11, 4); // vmovss m32, xmm
        static final Instruction STORE_BYTES = new Instruction(2, 2, false, 0x21, 16); // vpmovsdb m128, zmm
        static final Instruction AND = of(1, 1, 0xDB); // vpandd
        static final Instruction XOR = of(1, 1, 0xEF); // vpxord
        static final Instruction ADD_INTEGERS = of(1, 1, 0xFE); // vpaddd
        static final Instruction LARGER_UNSIGNED = of(1, 2, 0x3F); // vpmaxud
        static final Instruction SHUFFLE_QUARTERS = new Instruction(1, 3, true, 0x43, 64); // vshufi64x2 …, imm8
        static final Instruction SHUFFLE_WITHIN_QUARTERS = of(1, 1, 0x70); // vpshufd …, imm8
        static final Instruction DOT_BYTES = of(1, 2, 0x50); // vpdpbusd: unsigned × signed, summed in fours
        static final Instruction TO_FLOATS = of(0, 1, 0x5B); // vcvtdq2ps
        static final Instruction TO_INTEGERS = of(1, 1, 0x5B); // vcvtps2dq
        static final Instruction MULTIPLY = of(0, 1, 0x59); // vmulps
        static final Instruction DIVIDE = of(0, 1, 0x5E); // vdivps
        static final Instruction ADD_PRODUCT = of(1, 2, 0xB8); // vfmadd231ps
        static final Instruction SUBTRACT_PRODUCT = of(1, 2, 0xBC); // vfnmadd231ps
        static final Instruction SHIFT_SHORTS = of(1, 1, 0x71); // vpsrlw / 2, imm8
        static final Instruction SPREAD_GENERAL = of(1, 2, 0x7C); // vpbroadcastd zmm, r32
    }

    /** What has been written. */
    byte[] code() {
        return Arrays.copyOf(code, length);
    }

    /** Where the next instruction will stand. */
    int position() {
        return length;
    }

    /** {@code target = first ∘ second}, all vector registers; instructions with two operands have 0 for {@code first}. */
    void vector(Instruction instruction, int target, int first, int second) {
        prefix(instruction, target, first, second >> 3 & 1, second >> 4 & 1, false);
        emit(0xC0 | (target & 7) << 3 | second & 7);
    }

    /** The same with a constant. */
    void vector(Instruction instruction, int target, int first, int second, int constant) {
        vector(instruction, target, first, second);
        emit(constant);
    }

    /** {@code target = first ∘ memory}; what stores has its source for {@code target}. */
    void vector(Instruction instruction, int target, int first, Register base, int displacement) {
        prefix(instruction, target, first, base.number >> 3, 0, false);
        memory(target, base, displacement, instruction.unit);
    }

    /** {@code target = first ∘ memory} with a word of 32 bits in memory for every element. */
    void spread(Instruction instruction, int target, int first, Register base, int displacement) {
        prefix(instruction, target, first, base.number >> 3, 0, true);
        memory(target, base, displacement, Integer.BYTES);
    }

    /** Shifts each 16 bits to the right. */
    void shiftShorts(int target, int source, int bits) {
        vector(Instruction.SHIFT_SHORTS, 2, target, source, bits); // the opcode's extension stands for the register
    }

    /** Fills a vector register with a constant; changes {@code rax}. */
    void constant(int target, int value) {
        emit(0xB8); // mov eax, imm32
        word(value);
        vector(Instruction.SPREAD_GENERAL, target, 0, Register.RAX.number);
    }

    void move(Register target, Register source) {
        general(0x89, source.number, target.number);
    }

    void add(Register target, Register source) {
        general(0x01, source.number, target.number);
    }

    void add(Register target, int value) {
        general(0x81, 0, target.number);
        word(value);
    }

    void decrement(Register target) {
        general(0xFF, 1, target.number);
    }

    /** Goes back to a position unless the last decrement gave zero. */
    void repeat(int position) {
        emit(0x0F, 0x85); // jnz rel32
        word(position - (length + Integer.BYTES));
    }

    /** Has a line of memory brought near; an address that nobody may read does no harm. */
    void prefetch(Register base, int displacement) {
        if (base.number >= 8) {
            emit(0x41);
        }
        emit(0x0F, 0x18);
        memory(1, base, displacement, 1); // prefetcht0
    }

    void finish() {
        emit(0xC5, 0xF8, 0x77); // vzeroupper
        emit(0xC3); // ret
    }

    private void general(int opcode, int register, int target) {
        emit(0x48 | register >> 3 << 2 | target >> 3, opcode, 0xC0 | (register & 7) << 3 | target & 7);
    }

    /** The four bytes of EVEX and the opcode. {@code b} and {@code x} extend the register or base that follows. */
    private void prefix(Instruction instruction, int register, int first, int b, int x, boolean spread) {
        emit(0x62);
        emit((~register >> 3 & 1) << 7 | (~x & 1) << 6 | (~b & 1) << 5 | (~register >> 4 & 1) << 4 | instruction.map);
        emit((instruction.wide ? 0x80 : 0) | (~first & 15) << 3 | 4 | instruction.prefix);
        emit(0x40 | (spread ? 0x10 : 0) | (~first >> 4 & 1) << 3);
        emit(instruction.opcode);
    }

    private void memory(int register, Register base, int displacement, int unit) {
        int low = base.number & 7;
        if (low == STACK_POINTER || low == BASE_POINTER) {
            throw new IllegalArgumentException(base + " is addressed in another way");
        }
        int fields = (register & 7) << 3 | low;
        if (displacement == 0) {
            emit(fields);
        } else if (displacement % unit == 0 && Math.abs(displacement / unit) <= MOST_SHORT) {
            emit(0x40 | fields, displacement / unit);
        } else {
            emit(0x80 | fields);
            word(displacement);
        }
    }

    private void word(int value) {
        emit(value, value >> 8, value >> 16, value >> 24);
    }

    private void emit(int... bytes) {
        for (int value : bytes) {
            if (length == code.length) {
                code = Arrays.copyOf(code, 2 * length);
            }
            code[length++] = (byte) value;
        }
    }
}
