import re


def run(question, env):
    prompt = question + (
        "\n\nWrite a Python program that computes the answer and prints only the answer, "
        "in the form that the question asks for. Reply with one ```python block."
    )
    messages = [{"role": "user", "content": prompt}]
    for attempt in range(2):
        reply = env.llm(messages)
        blocks = re.findall(r"```(?:python)?\s*\n(.*?)```", reply, re.DOTALL)
        result = env.python(blocks[-1] if blocks else reply)
        answer = result.stdout.strip()
        if answer and result.error is None:
            return answer
        fault = result.error or "The program printed nothing."
        messages += [
            {"role": "assistant", "content": reply},
            {"role": "user", "content": fault + "\nReply with the corrected program."},
        ]
    reply = env.llm(
        question + "\n\nThink step by step. Then write the final answer, exactly in the form that the "
        "question asks for, between <answer> and </answer>."
    )
    found = re.findall(r"<answer>(.*?)</answer>", reply, re.DOTALL)
    return found[-1].strip() if found else reply.strip()
