import re


def run(question, env):
    prompt = question + (
        "\n\nThink step by step. Then write the final answer, exactly in the form that the "
        "question asks for, between <answer> and </answer>."
    )
    reply = env.llm(prompt)
    found = re.findall(r"<answer>(.*?)</answer>", reply, re.DOTALL)
    if found:
        return found[-1].strip()
    return env.llm(question + "\n\nReply with the answer only.", max_tokens=64).strip()
