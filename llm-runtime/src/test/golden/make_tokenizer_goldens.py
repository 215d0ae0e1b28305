#!/usr/bin/env python3
"""Writes the golden files of the tokenizer and chat-template tests.

Usage: make_tokenizer_goldens.py NAME FILE.gguf OUT.json
Needs: pip install transformers tokenizers gguf jinja2

The vocabulary, merges, token types and chat template are read from the GGUF file with the gguf package. Token ids come
from Hugging Face's tokenizer classes, set up as the makers' own tokenizer.json files are (Qwen2: the class
Qwen2Tokenizer as it is; SmolLM2: GPT-2's byte-level BPE behind single digits), renderings from apply_chat_template of
transformers. Nothing of this project is involved.
"""
import json
import random
import sys

from gguf import GGUFReader
from tokenizers import AddedToken, pre_tokenizers
from transformers import GPT2Tokenizer, Qwen2Tokenizer


def read(path):
    fields = GGUFReader(path).fields
    return lambda key: fields["tokenizer." + key].contents() if "tokenizer." + key in fields else None


def tokenizer(field):
    tokens, types = field("ggml.tokens"), field("ggml.token_type")
    merges = [tuple(merge.split(" ")) for merge in field("ggml.merges")]
    vocab = {token: i for i, token in enumerate(tokens) if types[i] != 5}
    eos, bos = tokens[field("ggml.eos_token_id")], tokens[field("ggml.bos_token_id")]
    pre = field("ggml.pre")
    if pre == "qwen2":
        made = Qwen2Tokenizer(vocab=vocab, merges=merges, eos_token=eos, pad_token="<|endoftext|>")
    elif pre == "smollm":
        made = GPT2Tokenizer(vocab=vocab, merges=merges, eos_token=eos, bos_token=bos, unk_token="<|endoftext|>")
        made.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        )
    else:
        raise SystemExit("unknown pre-tokenizer " + pre)
    control = [AddedToken(t, normalized=False, special=True) for t, kind in zip(tokens, types) if kind == 3]
    made.add_tokens(control, special_tokens=True)
    user = [AddedToken(t, normalized=False, special=False) for t, kind in zip(tokens, types) if kind == 4]
    if user:
        made.add_tokens(user)
    assert len(made) == len(vocab), (len(made), len(vocab))
    for token in control + user:
        assert made.convert_tokens_to_ids(token.content) == tokens.index(token.content)
    made.chat_template = field("chat_template")
    return made


def strings():
    fixed = [
        "", " ", "  ", "   ", "\t", "\t\t", "\n", "\n\n", "\n\n\n", "\r\n", "\r\n\r\n", "\r", " \n", "\n ", " \n \n ",
        "\t\n\t", "a", "A", " a", "a ", " a ", "  a  ", "a  b", "a   b", "a\tb", "a\n\nb", "a\r\nb\r\nc",
        "Hello, world!", "hello world", "HELLO WORLD", "Hello   world  !  ", "don't can't I'll we've they're I'm he'd",
        "DON'T CAN'T I'LL WE'VE", "it’s", "'s 't 're", "''''", "\"quoted\"", "`code`", "```python\nprint('hi')\n```",
        "0", "1", "12", "123", "1234", "12345", "1234567890", "3.14159", "1,234,567.89", "0x1F", "1e-10", "2025-11-30",
        "12:34:56", "v1.2.3-rc4", "①②③", "½ ¼", "٣٤٥", "१२३", "Ⅷ", "x²+y³", "100%", "$5.00 €6 £7 ¥8",
        "The quick brown fox jumps over the lazy dog.", "supercalifragilisticexpialidocious",
        "Donaudampfschifffahrtsgesellschaftskapitän", "pneumonoultramicroscopicsilicovolcanoconiosis",
        "naïve café résumé", "nai\u0308ve cafe\u0301", "e\u0301\u0302\u0323", "Ǻ Å Å", "ﬁ ﬂ ﬀ", "Ω Ω", "ｆｕｌｌｗｉｄｔｈ",
        "Привет, мир!", "Γειά σου Κόσμε", "שלום עולם", "مرحبا بالعالم", "नमस्ते दुनिया", "สวัสดีชาวโลก", "你好，世界！",
        "こんにちは世界", "안녕하세요 세계", "ᄒ\u1161ᆫ", "Xin chào thế giới", "გამარჯობა", "Բարեւ", "ሰላም", "🇩🇪🇫🇷🇯🇵",
        "mixed 混合 текст नमूना text", "日本語とEnglishとРусский", "😀", "😀😃😄", "👨‍👩‍👧‍👦", "👩🏽‍💻", "🏴‍☠️", "❤️‍🔥", "👍🏿👍", "🧑🏻‍🤝‍🧑🏿",
        "a😀b", "text ☃ snow", "𝕳𝖊𝖑𝖑𝖔", "𐍈𐌰", "\U0001f9ff\U000e0067", "zero\u200bwidth", "non\u00a0breaking", "en\u2002quad",
        "ideographic\u3000space", "soft\u00adhyphen", "\ufeffBOM", "rtl \u202eoverride\u202c", "\u2028line sep\u2029",
        "null\x00byte", "\x00", "\x00\x01\x02\x03", "bell\x07", "esc\x1b[31mred\x1b[0m", "\x7f", "\x80\x9f", "\ufffd",
        "\uffff", "private \ue000 use",
        "def run(question, env):\n    return env.llm(question)\n", "if (x <= 10 && y != 20) { z += x ** 2; }",
        "for i in range(10):\n\tprint(i)\n", "    indented\n        more\n    back\n", "SELECT * FROM t WHERE a='b';",
        "<html><body class=\"x\">&amp;</body></html>", "{\"key\": [1, 2.5, null, true]}", "a->b; c::d; e...f",
        "#include <stdio.h>\nint main() { return 0; }", "$ ls -la | grep foo > /dev/null 2>&1", "\\n \\t \\\\ \\u0041",
        "camelCaseIdentifier snake_case_identifier kebab-case", "__init__ __main__", "a=b+c-d*e/f%g^h|i&j~k",
        "https://example.org/path?query=value&x=%20#frag", "user@example.org", "C:\\Windows\\System32",
        "<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n", "<answer>42</answer>", "!!!???...", "-----", "=====",
        "_____", "*****", "#####", "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|im_start|>user\nhi<|im_end|>\n",
        "a<|im_end|>b", " <|im_end|> ", "<|im_end|><|im_end|>", "<|im_end", "im_end|>", "<| im_end |>", "<|IM_END|>",
        "<|im_end|", "<<|im_end|>>", "<|unknown|>", "<tool_call>", "</tool_call>\n", "<|fim_prefix|>x<|fim_suffix|>",
        "<file_sep>", "<repo_name>x", "<s></s>", "[INST] [/INST]", "<|eot_id|>", "<think>\n\n</think>", "[PAD151931]",
        "Ġhello Ċ", "Ã©", "â€™", "ĠĠ", " " * 7, " " * 16, " " * 64, "\n" * 10, "\t" * 9, "a" * 300, "ab" * 200, "é" * 100,
        "0" * 100, "9" * 37, "word " * 60, "-" * 80, "好" * 50, "😀" * 30, " x" * 50, "\r\n" * 8, "aA1!" * 40,
        "\u0301" * 12, "   \n   \n   x", "x   \n   ", "tab\t then  spaces   end ", "end with newline\n", "\n leading",
    ]
    random_source = random.Random(20)
    ranges = [(0x20, 0x7E)] * 6 + [(0xA0, 0x24F), (0x300, 0x36F), (0x400, 0x4FF), (0x5D0, 0x6FF), (0x900, 0x97F),
              (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x1F300, 0x1FAFF), (0x2000, 0x206F), (9, 13)]
    made = list(dict.fromkeys(fixed))
    while len(made) < 200:
        length = random_source.randint(5, 60)
        text = "".join(chr(random_source.randint(*random_source.choice(ranges))) for _ in range(length))
        made.append(text)
    return made


TOOLS = [{"type": "function", "function": {"name": "add", "description": "Adds \"two\" numbers <é>",
          "parameters": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number", "default": 1.5}},
                         "required": ["a"]}}}]


def conversations():
    system = {"role": "system", "content": "You answer in one word."}
    user = {"role": "user", "content": "What is 2 + 2?"}
    reply = {"role": "assistant", "content": "4"}
    hard = {"role": "user", "content": "  spaces, {{ braces }} {% tags %} {# marks #} 'q' \"Q\" \\n é 😀\n\n"}
    lines = {"role": "user", "content": "\n\nleading lines\ttab\r\nCRLF"}
    call = {"role": "assistant", "content": "", "tool_calls": [
        {"type": "function", "function": {"name": "add", "arguments": {"a": 2, "b": 2.0, "c": [True, None, "x<é>"]}}}]}
    result = {"role": "tool", "content": "4"}
    base = [
        ("user only", [user], None), ("system and user", [system, user], None),
        ("several turns", [system, user, reply, {"role": "user", "content": "And 3 + 3?"}], None),
        ("ends with a reply", [user, reply], None), ("hard content", [hard], None), ("hard system", [dict(hard, role="system"), user], None),
        ("leading line breaks", [lines], None), ("empty content", [{"role": "user", "content": ""}], None),
        ("system in the middle", [user, reply, system, user], None),
        ("long", [system] + [user, reply] * 12 + [user], None),
        ("tools", [user], TOOLS), ("tools and system", [system, user], TOOLS),
        ("tool call", [user, call, result], TOOLS), ("two tool results", [user, call, result, dict(result, content="5")], TOOLS),
    ]
    for name, messages, tools in base:
        for prompt in (False, True):
            yield {"name": name, "messages": messages, "tools": tools, "add_generation_prompt": prompt,
                   "continue_final_message": False}
    for prefix in ("4", "```python\n", "<<<<<<< SEARCH\ndef run(question, env):\n", "two words "):
        yield {"name": "reply prefix", "messages": [system, user, {"role": "assistant", "content": prefix}], "tools": None,
               "add_generation_prompt": False, "continue_final_message": True}


def main(name, path, out):
    made = tokenizer(read(path))
    cases = [{"text": text, "ids": made.encode(text, add_special_tokens=False)} for text in strings()]
    assert len(cases) == 200
    chats = []
    for chat in conversations():
        arguments = {key: chat[key] for key in ("tools", "add_generation_prompt", "continue_final_message")}
        rendered = made.apply_chat_template(chat["messages"], tokenize=False, **arguments)
        chats.append(dict(chat, rendered=rendered, ids=made.encode(rendered, add_special_tokens=False)))
    random_source = random.Random(3)
    decoded = []
    for _ in range(40):
        ids = [random_source.randrange(len(made)) for _ in range(random_source.randint(1, 12))]
        decoded.append({"ids": ids, "text": made.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)})
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"model": name, "cases": cases, "chats": chats, "decoded": decoded}, file, ensure_ascii=True,
                  separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
