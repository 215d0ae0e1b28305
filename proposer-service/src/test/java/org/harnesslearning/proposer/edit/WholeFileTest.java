package org.harnesslearning.proposer.edit;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class WholeFileTest {
    private static final String SEED = "def run(question, env):\n    return env.llm(question)\n";

    private static EditResult apply(String source, String reply) {
        return WholeFile.apply(source, reply, FinishReason.STOP, EditOptions.DEFAULT);
    }

    @Test
    void theFencedFileReplacesTheSource() {
        EditResult result =
                apply(SEED, "Here it is.\n\n```python\ndef run(question, env):\n    return \"1\"\n```\nDone.");
        assertThat(result.code()).isEqualTo(EditCode.OK);
        assertThat(result.result()).isEqualTo("def run(question, env):\n    return \"1\"\n");
        assertThat(result.blocks()).isOne();
    }

    @Test
    void theLastPythonBlockIsTheFileWhateverFollowsIt() {
        String reply = "```python\nold()\n```\n```python\nnew()\n```\nRun it:\n```bash\npython a.py\n```\n";
        assertThat(apply(SEED, reply).result()).isEqualTo("new()\n");
        assertThat(apply(SEED, "```\none()\n```\n~~~\ntwo()\n~~~\n").result()).isEqualTo("two()\n");
    }

    @Test
    void aTaggedFenceInsideTheFileIsContent() {
        String file = "PROMPT = '''\n```python\nprint(1)\n```\n'''\n\ndef run(question, env):\n    return PROMPT\n";
        assertThat(apply(SEED, "```python\n" + file + "```\n").result()).isEqualTo(file);
        assertThat(apply(SEED, WholeFile.render(file)).result()).isEqualTo(file);
    }

    @Test
    void lineEndingsMarkAndFinalNewlineFollowTheSource() {
        assertThat(apply("\uFEFFa\r\nb", "```\nc\r\nd\n```").result()).isEqualTo("\uFEFFc\r\nd");
        assertThat(apply("", "```\nc\n```").result()).isEqualTo("c\n");
        assertThat(apply("a\n", "1. So:\n   ```python\n   if x:\n       y()\n   ```\n")
                        .result())
                .isEqualTo("if x:\n    y()\n");
    }

    @Test
    void failuresHaveTheirCodes() {
        assertThat(apply(SEED, "No file.").code()).isEqualTo(EditCode.NO_BLOCK);
        assertThat(apply(SEED, "```python\n\n```").code()).isEqualTo(EditCode.NO_BLOCK);
        assertThat(apply(SEED, "```python\n" + SEED).code()).isEqualTo(EditCode.UNCLOSED_BLOCK);
        assertThat(apply(SEED, "```python\n" + SEED + "```").code()).isEqualTo(EditCode.NO_CHANGE);
        assertThat(apply(SEED, "<think>\n```\nx\n```\n</think>\n").code()).isEqualTo(EditCode.NO_BLOCK);
        assertThat(apply(SEED, "```\nx\n```\n</think>\n").code()).isEqualTo(EditCode.NO_BLOCK);
        assertThat(WholeFile.apply(SEED, "```\nx\n```", FinishReason.LENGTH, EditOptions.DEFAULT)
                        .code())
                .isEqualTo(EditCode.TRUNCATED_REPLY);
        assertThat(WholeFile.apply(SEED, "```\nx\n```", FinishReason.STOP, EditOptions.DEFAULT.withMaxReplyBytes(8))
                        .code())
                .isEqualTo(EditCode.TOO_LARGE);
    }

    @Test
    void thePrefixIsPartOfTheReply() {
        EditOptions options = EditOptions.DEFAULT.withReplyPrefix("```python\n");
        assertThat(WholeFile.apply(SEED, "x()\n```", FinishReason.STOP, options).result())
                .isEqualTo("x()\n");
    }
}
